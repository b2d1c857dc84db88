// Attempts on disk: ROOT/JOB/ATTEMPT/{origin,launch,lock,record,granted-at,grant,exit,log,log.1}, owned by the daemon,
// mode 0700. Exactly once: the supervisor takes the lock, then makes the record, both through the directory's
// descriptor, before anything of the job runs. Whoever wants to say "this attempt never ran" must hold the same lock, puts a void record
// in the way and removes the directory: a supervisor that comes late finds the record taken or the directory gone, and
// a new start works in a new directory. Thread rule: one thread for each attempt.
#pragma once
#include <optional>

#include "live/jobs/attempt_record.h"

namespace smartmig {

class Spool {
 public:
  static Result<Spool> open(const std::string& root);  // makes it; refuses one that belongs to another user

  std::string directory(AttemptId id) const;
  // A new, empty directory; the supervisor makes it durable with its record. kBusy: the attempt has a record, or is
  // being started.
  Result<Ok> make(AttemptId id) const;

  enum State {
    kNeverRan,   // and never will: removed
    kRunning,    // its supervisor lives
    kEnded,      // with a record of its exit
    kAbandoned,  // a record, no exit, no supervisor
  };
  struct Look {
    State state = kNeverRan;
    AttemptRecord record;             // of all but kNeverRan
    std::optional<AttemptExit> exit;  // of kEnded
  };
  // Waits while a supervisor is between its lock and its record, at most `patience`.
  Result<Look> look(AttemptId id, Time patience = Time(10'000'000)) const;
  Result<std::optional<AttemptExit>> read_exit(AttemptId id) const;
  Result<AttemptRecord> read_record(AttemptId id) const;
  Result<Ok> write_exit(const AttemptExit& exit) const;
  std::vector<std::uint64_t> jobs() const;                   // that have a directory, in no order
  std::vector<AttemptId> attempts(std::uint64_t job) const;  // that have a directory
  void remove(AttemptId id) const;

 private:
  explicit Spool(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

}  // namespace smartmig
