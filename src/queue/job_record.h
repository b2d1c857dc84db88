// One job of the daemon's queue: its request, its state and its costs. Only the owner thread changes it; each change is
// stored together with the event that caused it.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "live/energy/energy_meter.h"
#include "live/jobs/runner.h"
#include "model/job.h"
#include "queue/job_slice.h"

namespace smartmig {

// The number of a job in the queue, from 1; never given twice. A row of the belief's job table is a JobId; outside the
// daemon (store, runner, meters, API) a job is its plain number.
enum class QueueId : std::uint64_t {};
inline constexpr QueueId kNoId{0};
constexpr std::uint64_t number(QueueId id) { return std::uint64_t(id); }

// Numbers from here on do not belong to jobs but to slices that dead processes hold (dead_memory.h).
inline constexpr std::uint64_t kPhantoms = std::uint64_t(1) << 62;
constexpr bool is_phantom(QueueId id) { return number(id) >= kPhantoms; }

enum class JobStatus : std::uint8_t {
  kHeld,      // waits for other jobs, for its begin, or to be released
  kQueued,    // may start
  kStarting,  // decided and stored; its attempt may have a record or not
  kRunning,
  kStopping,  // asked to stop; its exit decides what becomes of it
  kDone,      // final from here on
  kFailed,
  kCancelled,
  kTimedOut
};
inline constexpr int kJobStatuses = 9;
const char* name_of(JobStatus status);  // "held", "queued", ... "timed_out"
inline bool is_final(JobStatus status) { return status >= JobStatus::kDone; }
inline bool is_waiting(JobStatus status) { return status == JobStatus::kHeld || status == JobStatus::kQueued; }

// The status of a record. Processes decide what it may become: a job whose attempt may be under way (starting, running,
// stopping) waits again or ends by attempt_over() alone. A step that would leave an attempt behind is a bug, and ends
// the program before anything runs twice.
class CheckedStatus {
 public:
  explicit CheckedStatus(JobStatus as = JobStatus::kQueued) : status_(as) {}
  CheckedStatus& operator=(JobStatus) = delete;      // one of these instead:
  void step(JobStatus to);                           // REQUIRES: a legal step without the end of an attempt
  void attempt_over(JobStatus to) { status_ = to; }  // its attempt has ended, or never began
  void found(JobStatus as) { status_ = as; }         // a record as it was read, or as a new daemon finds its processes
  operator JobStatus() const { return status_; }

 private:
  JobStatus status_;
};

// Who alone may let a waiting job run: numbers are stored. An owner's job that the operator holds is the operator's.
enum class HeldBy : std::uint8_t { kNobody = 0, kOwner = 1, kOperator = 2 };

enum class EstimateSource : std::uint8_t { kGiven, kHistory, kGuess };
const char* name_of(EstimateSource source);

struct JobRecord {
  QueueId id = kNoId;
  struct {
    QueueId id = kNoId;  // of its array; kNoId: not of one
    int index = -1;
    int count = 0, first = 0, last = 0,
        step = 1;  // of the whole array: tasks, least and largest number, their distance
  } array;
  struct {
    std::uint32_t uid = 0, gid = 0;
    std::string name;
  } owner;
  JobSpec spec;  // of one in the queue without environment, script and a long command, which the store keeps
  struct {
    std::uint64_t id = 0, bytes = 0;  // the row of these (store_rows.h); 0: it has none of them
    std::uint64_t script = 0;         // hash of its script's text; 0: none
    bool command = false;             // its command is there, and the spec has what is shown of it
    std::uint64_t counted = 0;        // bytes of its own that the book counts for its owner; not stored
  } launch;
  CheckedStatus status;
  std::string reason;  // a final job: in words, why it ended so; a held one: what it waits for
  StopReason stop_reason = StopReason::kNone;
  HeldBy held_by = HeldBy::kNobody;
  std::optional<Time> suspended;  // its processes are stopped, and so much of its time was left then
  struct {
    UnixTime submitted{}, first_started = kNotYet, started = kNotYet, ended = kNotYet;
  } times;
  int attempt = 0;  // attempts begun
  struct {
    int gpu = -1;  // board index of the current or last attempt
    JobSlice slice;
    std::string device;  // UUID of the slice
    double load = 0;     // of the attempt that ended last: mean share of the board that others used; not stored
  } place;
  struct {
    int code = -1, signal = 0;
  } exit;  // of the last attempt
  struct {
    UnixTime began = kNotYet;  // of the current attempt: its processes started then, before it had a slice
    double held_s = 0;         // from such a start to the slice, or to the end without one; of all attempts
    double hidden_s = 0;       // of the last attempt: what of its launch lay before it had its slice
    double to_cuda_s = -1;     // of the last that told: from its start to its first CUDA call; -1: not known
    std::string refused;       // why it is not started before its slice any more; empty: it may be
  } prelaunch;                 // before its slice is free (prelaunches.h)
  struct {
    Time estimate{};    // on the whole GPU: what is believed, the median
    double spread = 0;  // of the logarithm of its time about `estimate`; 0: known exactly
    Time told{};        // on the whole GPU, by its owner; 0: nothing was told
    // By compute slices - 1: time there over `estimate`, as its like took before; all 0: by its kind, or by a rule.
    std::array<double, kMaxComputeSlices> shape{};
    std::array<float, kMaxComputeSlices> teaches{};  // as Job has it; not stored
    double log_slowdown = kUsualSlowdown;            // as Crowding has it, on soft slices; not stored
    EstimateSource source = EstimateSource::kGuess;
    double remaining = 1;  // share of it left when it last left a slice
    double slice_s = 0;    // compute slices times seconds of the attempts before the last
  } work;
  struct {
    int mib = -1;          // what it is placed by; -1: unknown
    int peak_mib = -1;     // seen
    int tensors_mib = -1;  // the most that its tensors held, as its framework counts them; -1: it does not tell
  } memory;                // of the GPU
  struct {
    double joules = 0;                           // attributed, of all attempts
    EnergySource source = EnergySource::kModel;  // what the last of them were read from
  } energy;
  struct {
    int preempted = 0, out_of_memory = 0, overruns = 0, suspended = 0;
    int revived = 0, quick_ends = 0;  // by --keep-alive; quick_ends: of these, after short runs in a row
  } counts;                           // how often
  std::uint64_t version = 0;          // of the book when it last changed; not stored
};

inline bool in_array(const JobRecord& job) { return job.array.id != kNoId; }
inline AttemptId attempt_of(const JobRecord& job) { return {number(job.id), job.attempt}; }
// Its attempt, which began ahead of it, has its slice since times.started; `to_cuda`: its first CUDA call, if it made
// one.
void book_grant(JobRecord& job, std::optional<Time> to_cuda);
void leave_slice(JobRecord& job);                     // it is on no slice any more
void add_slice_time(JobRecord& job, UnixTime until);  // of the attempt that has ended then; before another

std::string title(const JobRecord& job);  // its name, else its command's
std::string label(const JobRecord& job);  // "17", or "12_3" for a task of an array

}  // namespace smartmig

template <>
struct fmt::formatter<smartmig::QueueId> : fmt::formatter<std::uint64_t> {
  auto format(smartmig::QueueId id, fmt::format_context& context) const {
    return fmt::formatter<std::uint64_t>::format(smartmig::number(id), context);
  }
};
