// The forecast from past runs of a command: seconds on every slice size, launch, watts, GPU memory. Kept by the
// command's signature (command_key.h).
//
// Time: the last 16 runs, each with the size it had, what else ran on the board, and the numbers of its command line,
// go through the model of eval/run_model.h. Of an older run the noise doubles with every 8 runs that came since and
// with every 30 days. If the sizes of the 16 are several, the oldest of the most frequent goes first, so that what was
// once seen on another size stays. A command that never ran borrows from up to three of the same program that are most
// like it, and compares numbers with those that share most of their words. A program has changed where two runs in a
// row are off by more than 2.5 standard deviations and by more than 15 % in one direction: earlier runs then count with
// another scale, and the belief is wide again.
//
// What a run on a size would teach: by how much it lowers the variance of the mean over all sizes, more than a run on
// the size that lowers it least. Full worth (0.02 of the run) at 0.05, and for a command that came often: n / (n + 2).
//
// Memory: the largest peak of the last 16, plus 5 % and plus another 45 % / runs; at least 1.25 x what a run once ran
// out of memory with. Of the last 4 that were watched: how memory followed what they printed (memory/work_projection.h).
// Failed runs teach memory only. Bounded: the 10,000 signatures last used. Not thread-safe; one owner.
#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "memory/work_projection.h"
#include "model/job.h"
#include "queue/belief/belief.h"
#include "queue/learning/command_key.h"

namespace smartmig {

class JsonObject;

struct PastRun {
  double ran_s = -1;           // on its slice; below 0: ended in failure, its time says nothing
  int slices = 1, of = 1;      // compute slices it had, and its GPU has
  double load = 0;             // mean share of the board's compute that others used meanwhile, on soft slices; to 2
  double launch_s = -1;        // of ran_s, at least; -1: not known
  int peak_mib = -1;           // -1: not seen
  int out_of_memory_mib = -1;  // the memory it had when it ran out; -1: it did not
  UnixTime ended{};
};

struct ForecastQuestion {
  int of = 7;             // compute slices of the GPU
  std::string_view kind;  // as its owner named it; may be empty
};

struct SizeForecast {
  double s = 0;                  // what to plan with: the mean, with what is less known than on other sizes against it
  double low_s = 0, high_s = 0;  // 80 % of runs
  double sd = 0;                 // of the logarithm of the mean
  int runs = 0;                  // on this size, of those kept
  double watts = -1;             // above idle, as attributed; negative: not seen here
  double teaches = 0;            // what a run here would tell of all sizes, as Job::teaches has it
};

struct Forecast {
  std::optional<double> whole_s;                        // on the whole GPU
  std::array<SizeForecast, kMaxComputeSlices> sizes{};  // by compute slices - 1, up to `of`; where whole_s is there
  double launch_s = 0;                                  // of every run, before its work begins
  double log_slowdown = kUsualSlowdown;                 // beside a full board of others, on soft slices
  double sigma = 0.5;                                   // of the logarithm of a run's time
  std::optional<int> mem_mib;
  int runs = 0;      // that ended well, ever
  int borrowed = 0;  // runs of other commands that it is made from instead
};

// Of one run: what was believed of it before, and what it took.
struct PredictedRun {
  int slices = 1, of = 1;
  double ran_s = 0, predicted_s = -1;  // negative: nothing was
  double load = 0, watts = -1;
  UnixTime ended{};
  bool before_change = false;  // of the program
};

class History {
 public:
  static constexpr std::size_t kSignatures = 10'000, kRuns = 16, kWorks = WorkProjection::kMostPast;

  // `shipped`: curves to begin with; outlives the history. `sharing`: of the boards that its runs were on and will be on.
  explicit History(const CurveSet& shipped = CurveSet::builtin(), BoardSharing sharing = {})
      : shipped_(&shipped), sharing_(sharing) {}
  void set_sharing(BoardSharing sharing);
  History(History&&) = default;  // list iterators stay valid when moved
  History& operator=(History&&) = default;

  void add(const CommandKey& key, const PastRun& run, std::string_view kind = {});
  // Joules of the run that ended then, when they are known.
  void add_joules(const std::string& signature, UnixTime ended, double joules);
  void add_work(const std::string& signature, const PastWork& work);           // of a run that ended well
  std::vector<PastWork> works(const std::string& signature) const;             // newest first
  Forecast forecast(const CommandKey& key, const ForecastQuestion& question);  // counts as a use
  std::vector<PredictedRun> last_runs(const std::string& signature) const;     // oldest first
  int changes(const std::string& signature) const;                             // of its program, noticed
  void merge(const History& other);                                            // runs of `other` come after ours
  std::size_t size() const { return entries_.size(); }

  std::string to_json() const;                                                   // one line; least recently used first
  static Result<History> parse(const std::string& name, std::string_view text);  // strict; `name` is for complaints

 private:
  struct Run {
    int slices = 1, of = 1, epoch = 0;
    double s = 1, load = 0, launch_s = -1, joules = -1, predicted_s = -1;
    std::int64_t ended_s = 0;
    RunNumbers numbers{};
  };
  struct Entry {
    std::string signature;
    std::vector<Run> seen;  // newest last
    std::vector<int> peak_mib;
    std::vector<PastWork> works;  // newest last
    int runs = 0, out_of_memory_mib = -1, epoch = 0;
    std::optional<WeightedCurve> curve;  // its own, where it ran on two sizes; made when wanted
  };
  Entry& touch(const std::string& signature);
  static Result<Ok> parse_entry(const JsonObject& row, Entry& entry);
  static Result<Ok> parse_first_version(const JsonObject& row, Entry& entry);
  static void keep(Entry& entry, const Run& run);
  static void notice_change(Entry& entry, const TimeBelief& before);
  static bool on_two_sizes(const Entry& entry);
  double log_share(int slices, int of) const;
  RunPlace place_on(int slices, int of, const RunNumbers& numbers) const;  // of a run to come
  std::vector<SeenRun> seen_runs(const Entry& entry, int command, double apart) const;
  std::vector<const Entry*> like(const std::string& signature) const;
  CurveSet curves_for(const std::string& signature, std::string_view kind);
  void find_lessons(const RunModel& model, const CommandKey& key, const ForecastQuestion& question,
                    Forecast& forecast) const;
  std::shared_ptr<const RunModel> model_of(const Entry& entry, std::string_view kind);

  const CurveSet* shipped_;
  BoardSharing sharing_;
  std::list<Entry> entries_;  // most recently used last
  std::unordered_map<std::string, std::list<Entry>::iterator> by_signature_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const RunModel>> models_;  // some, by (signature, kind)
};

}  // namespace smartmig
