#include "sim/trace_jobs.h"

#include "base/rng.h"
#include "base/text.h"

namespace smartmig {
namespace {
constexpr std::uint64_t kSlackStream = 3, kKindStream = 4;
}

Time drawn_deadline(const Job& job, std::string_view id, std::uint64_t seed, SlackRange slack) {
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
  by_name_ += choice.by_name;
  int& kind = kind_numbers_[std::size_t(choice.curve)];
  const KindCurve& curve = picker_.curves()[std::size_t(choice.curve)];
  if (kind < 0) kind = workload_.add_kind(curve.kind);

  Job job;
  job.kind = kind;
  job.submit = from_seconds(trace.submit_s.value_or(0));
  no_submit_ += !trace.submit_s;
  curve.set_work(job, curve.largest, *trace.duration_s);
  job.mem_mib = trace.mem_mib;
  job.restart = curve.restart;
  if (trace.deadline_offset_s && !options_.slack) {
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

Result<Workload> TraceJobs::finish() {
  const std::size_t kept = workload_.jobs.size();
  const std::string dropped =
      fmt::format("dropped: {} that ask for more than one GPU, {} that ask for none, {} without a usable duration",
                  many_gpus_, no_gpu_, no_duration_);
  if (rows_ > 0 && kept == 0)
    return invalid("{}: none of its {} rows can be used; {}", workload_.source, rows_, dropped);
  const SlackRange slack = drawn_slack();
  auto& rules = workload_.rules;
  rules.push_back(fmt::format("{} rows, {} jobs kept; {}", rows_, kept, dropped));
  rules.push_back(
      fmt::format("durations are taken as times on a whole {}, whatever GPU recorded them; smaller slices follow the "
                  "kind's speed curve",
                  workload_.reference_gpu));
  if (!picker_.wanted_gpu().empty() && picker_.wanted_gpu() != picker_.gpu())
    rules.push_back(
        fmt::format("no speeds are measured on {}: those of {} are used", picker_.wanted_gpu(), picker_.gpu()));
  rules.push_back(fmt::format("kinds: {} by the model name, {} by a hash of the {} over the kinds measured on {}",
                              by_name_, kept - by_name_, id_name_, workload_.reference_gpu));
  rules.push_back(fmt::format(
      "deadlines: {} from the file, {} drawn as submit + U({}, {}) * duration by a hash of the {} (seed {})",
      own_deadlines_, kept - own_deadlines_, slack.low, slack.high, id_name_, options_.seed.value_or(0)));
  if (no_submit_ > 0) rules.push_back(fmt::format("{} jobs have no submit time: submitted at 0", no_submit_));
  for (std::string& text : notes_) rules.push_back(std::move(text));
  return finish_workload(std::move(workload_));
}

}  // namespace smartmig
