#include "sim/trace_jobs.h"

#include <algorithm>

#include "base/rng.h"
#include "base/text.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_times.h"

namespace smartmig {
namespace {
constexpr std::uint64_t kSlackStream = 3, kKindStream = 4;
constexpr Time kTraceDay = std::chrono::hours(24);
constexpr double kSurelyUnix = 1e8;  // a first submit this large counts from 1970: traces count from their start
}  // namespace

Time drawn_deadline(const Job& job, std::string_view id, std::uint64_t seed, SlackRange slack) {
  if (slack.none) return kNever;
  Rng rng(mix64(seed, kSlackStream), hash_text(id));
  return job.submit + from_seconds(rng.uniform(slack.low, slack.high) * seconds(whole_gpu_work(job)));
}

TraceJobs::TraceJobs(std::string source, std::string id_name, const LoadOptions& options)
    : id_name_(std::move(id_name)),
      options_(options),
      picker_(options.gpu),
      kind_numbers_(picker_.curves().size(), -1) {
  workload_.source = std::move(source);
  workload_.reference_gpu = picker_.gpu();
}

Result<TraceJobs> TraceJobs::open(std::string source, std::string id_name, const LoadOptions& options) {
  TraceJobs jobs(std::move(source), std::move(id_name), options);
  if (!options.default_kind.empty()) SMARTMIG_RETURN_IF_ERROR(jobs.picker_.set_default_kind(options.default_kind));
  return jobs;
}

void TraceJobs::add(const TraceJob& trace) {
  ++rows_;
  ids_.insert(trace.id);
  if (trace.gpus > 1) {
    ++many_gpus_;
    return;
  }
  if (trace.gpus <= 0) {
    ++no_gpu_;
    return;
  }
  if (!trace.duration_s || *trace.duration_s <= 0) {
    ++no_duration_;
    return;
  }
  const std::uint64_t seed = options_.seed.value_or(0);
  const KindPicker::Choice choice = picker_.pick(trace.kind, mix64(mix64(seed, kKindStream), hash_text(trace.id)));
  by_name_ += choice.how == KindPicker::How::kByName;
  by_default_ += choice.how == KindPicker::How::kByDefault;
  by_phase_ += choice.how == KindPicker::How::kByPhase;
  int& kind = kind_numbers_[std::size_t(choice.curve)];
  const KindCurve& curve = picker_.curves()[std::size_t(choice.curve)];
  if (kind < 0) kind = workload_.add_kind(curve.kind);

  Job job;
  job.kind = kind;
  job.submit = from_seconds(trace.submit_s.value_or(0));
  no_submit_ += !trace.submit_s;
  has_submit_.push_back(trace.submit_s.has_value());
  if (trace.is_date && !dates_) zone_minutes_ = trace.zone_minutes;
  dates_ |= trace.is_date;
  curve.set_work(job, curve.largest, *trace.duration_s);
  job.mem_mib = trace.mem_mib;
  job.restart = curve.restart;
  if (trace.no_deadline && !options_.slack) {
    ++best_effort_;
  } else if (trace.deadline_offset_s && !options_.slack) {
    ++own_deadlines_;
    job.deadline = job.submit + from_seconds(*trace.deadline_offset_s);
  } else {
    job.deadline = drawn_deadline(job, trace.id, seed, drawn_slack());
  }
  workload_.jobs.push_back(job);
  workload_.names.push_back(trace.id);
}

SlackRange TraceJobs::drawn_slack() const {
  return options_.slack ? *options_.slack : options_.missing_slack.value_or(SlackRange());
}

// A job without a submit time is at time 0, whatever the origin. Deadlines move with their submits.
void TraceJobs::move_origin() {
  Time first = kNever;
  for (std::size_t i = 0; i < workload_.jobs.size(); ++i)
    if (has_submit_[i]) first = std::min(first, workload_.jobs[i].submit);
  if (first == kNever || (!dates_ && seconds(first) < kSurelyUnix)) return;
  const Time zone = std::chrono::minutes(zone_minutes_);
  const Time origin = (first + zone) / kTraceDay * kTraceDay - zone;
  for (std::size_t i = 0; i < workload_.jobs.size(); ++i) {
    if (!has_submit_[i]) continue;
    Job& job = workload_.jobs[i];
    job.submit -= origin;
    if (job.deadline != kNever) job.deadline -= origin;
  }
  workload_.rules.push_back(
      fmt::format("time 0 is {}, the midnight before the first submit", date_words(origin, zone_minutes_)));
}

void TraceJobs::warn(std::size_t kept) {
  const std::size_t guessed = kept - by_name_ - by_default_;
  if (guessed == 0) return;
  std::string text = fmt::format(
      "{} of {} jobs name no known model, so smartmig guesses their kinds and speeds{}; name "
      "the model with --map kind=COLUMN, or give --default-kind KIND",
      guessed, kept, by_phase_ > 0 ? fmt::format(" ({} within training or inference)", by_phase_) : "");
  if (options_.reading != nullptr) options_.reading->warnings.push_back(std::move(text));
}

Result<Workload> TraceJobs::finish() {
  const std::size_t kept = workload_.jobs.size();
  const std::string dropped =
      fmt::format("dropped: {} with more than one GPU, {} with none, {} without a usable duration", many_gpus_, no_gpu_,
                  no_duration_);
  if (rows_ > 0 && kept == 0) return invalid("{}: none of its {} rows is usable; {}", workload_.source, rows_, dropped);
  const SlackRange slack = drawn_slack();
  auto& rules = workload_.rules;
  rules.push_back(fmt::format("{} rows, {} jobs kept; {}", rows_, kept, dropped));
  rules.push_back(
      fmt::format("durations count as times on a whole {}, whatever GPU recorded them; smaller slices "
                  "follow the kind's speed curve",
                  workload_.reference_gpu));
  if (!picker_.wanted_gpu().empty() && picker_.wanted_gpu() != picker_.gpu())
    rules.push_back(fmt::format("there are no measured speeds for {}, so those of {} are used", picker_.wanted_gpu(),
                                picker_.gpu()));
  std::string kinds = fmt::format("kinds: {} by the model name, ", by_name_);
  if (by_default_ > 0) kinds += fmt::format("{} by --default-kind {}, ", by_default_, options_.default_kind);
  if (by_phase_ > 0)
    kinds += fmt::format("{} by a hash of the {} over the kinds of their class, ", by_phase_, id_name_);
  rules.push_back(kinds + fmt::format("{} by a hash of the {} over the kinds measured on {}",
                                      kept - by_name_ - by_default_ - by_phase_, id_name_, workload_.reference_gpu));
  if (slack.none)
    rules.push_back(
        fmt::format("deadlines: {} from the file, {} jobs have none", own_deadlines_, kept - own_deadlines_));
  else
    rules.push_back(fmt::format(
        "deadlines: {} from the file, {} drawn as submit + U({}, {}) * duration by a hash of the {} (seed {})",
        own_deadlines_, kept - own_deadlines_ - best_effort_, slack.low, slack.high, id_name_,
        options_.seed.value_or(0)));
  if (best_effort_ > 0 && !slack.none)
    rules.push_back(fmt::format("{} jobs have no deadline: the trace calls them best effort", best_effort_));
  if (no_submit_ > 0) rules.push_back(fmt::format("{} jobs have no submit time: submitted at 0", no_submit_));
  for (std::string& text : notes_) rules.push_back(std::move(text));
  move_origin();
  warn(kept);
  return finish_workload(std::move(workload_));
}

}  // namespace smartmig
