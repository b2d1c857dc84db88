// The log of a job's output: `log` in its spool, renamed to `log.1` when it is full (an older `log.1` is lost), so that
// the disk holds at most two segments and always the end of the output. A copy goes to the file that the owner asked
// for; if the owner asked for a file of standard error, that file gets only that part. Output that cannot be written is
// dropped and counted, because a full disk must not block the job. A line "[smartmig: N bytes dropped]" marks each gap.
// Built into the supervisor: no C++ library, no allocation. Thread rule: one thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace smartmig {

class LogCapture {
 public:
  // `directory` stays the caller's. segment_bytes at least 4096; copy_bytes: most of the copy, 0: no limit.
  void open(int directory, std::uint64_t segment_bytes, std::uint64_t copy_bytes);
  void copy_to(int fd) { copy_.fd = fd; }               // takes it over
  void copy_errors_to(int fd) { error_copy_.fd = fd; }  // the same for standard error
  void write(const char* data, std::size_t size) { write(data, size, copy_); }
  void write_error(const char* data, std::size_t size) { write(data, size, error_copy_); }
  void finish();  // last notes, descriptors closed
  std::uint64_t dropped() const { return log_.dropped; }

 private:
  struct Sink {
    int fd = -1;
    std::uint64_t size = 0, dropped = 0, unsaid = 0;  // unsaid: dropped without a line about it yet
    bool at_line_start = true;
  };
  void write(const char* data, std::size_t size, Sink& copy);
  static std::size_t put(Sink& sink, const char* data, std::size_t size);
  static bool say_losses(Sink& sink);
  void rotate();
  void note_lost_beginning();

  int directory_ = -1;
  std::uint64_t segment_ = 0, copy_limit_ = 0;
  std::uint64_t old_size_ = 0, old_note_ = 0;  // of log.1, and of the line at its beginning
  Sink log_, copy_, error_copy_;
};

}  // namespace smartmig
