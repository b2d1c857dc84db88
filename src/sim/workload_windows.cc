#include "sim/workload_windows.h"

#include <algorithm>

#include "sim/workload_spec.h"

namespace smartmig {
namespace {
constexpr Time kDay = std::chrono::hours(24);
}

Result<WorkloadWindows> WorkloadWindows::cut(Workload workload, Time length) {
  if (length < std::chrono::minutes(1) || length > 3660 * kDay)
    return invalid("a window of {} s: one minute to ten years", seconds(length));
  if (workload.jobs.empty()) return invalid("{} has no jobs", workload.source);
  WorkloadWindows out;
  out.length_ = length;
  const std::vector<Job>& jobs = workload.jobs;
  const Time first = jobs.front().submit, last = jobs.back().submit;
  const Time unit = last - first >= kDay ? kDay : Time(std::chrono::hours(1));
  out.origin_ = first / unit * unit;
  const Time span = (last / unit + 1) * unit - out.origin_;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint64_t number = std::uint64_t((jobs[i].submit - out.origin_) / length);
    if (out.windows_.empty() || out.windows_.back().number != number) out.windows_.push_back({number, i, i});
    out.windows_.back().last = i + 1;
  }
  const auto begin_of = [&](const Window& window) { return std::int64_t(window.number) * length; };
  if (out.windows_.size() > 1 && 2 * (span - begin_of(out.windows_.back())) < length) out.windows_.pop_back();
  const Time middle = span / 2;
  for (const Window& window : out.windows_) {
    if (begin_of(window) + length <= middle) out.training_.push_back(window.number);
    if (begin_of(window) >= middle) out.held_out_.push_back(window.number);
  }
  if (out.held_out_.empty() && out.windows_.size() > out.training_.size())
    out.held_out_.push_back(out.windows_.back().number);
  out.whole_ = std::move(workload);
  return out;
}

std::string WorkloadWindows::length_in_words() const {
  if (length_ >= kDay) return fmt::format("{:g} d", seconds(length_) / 86400);
  if (length_ >= std::chrono::hours(1)) return fmt::format("{:g} h", seconds(length_) / 3600);
  return fmt::format("{:g} min", minutes(length_));
}

std::vector<std::uint64_t> WorkloadWindows::all() const {
  std::vector<std::uint64_t> out;
  for (const Window& window : windows_) out.push_back(window.number);
  return out;
}

Result<Workload> WorkloadWindows::window(std::uint64_t number) const {
  const auto found =
      std::find_if(windows_.begin(), windows_.end(), [&](const Window& window) { return window.number == number; });
  if (found == windows_.end())
    return invalid("{} has no window {} of {} with jobs: it has {}", whole_.source, number, length_in_words(),
                   fmt::join(all(), ","));
  const Time begin = origin_ + std::int64_t(number) * length_;
  Workload out;
  out.source = fmt::format("{}, window {} of {}", whole_.source, number, length_in_words());
  out.reference_gpu = whole_.reference_gpu;
  out.kinds = whole_.kinds;
  out.rules = whole_.rules;
  out.seed = whole_.seed;
  for (std::size_t i = found->first; i < found->last; ++i) {
    Job job = whole_.jobs[i];
    job.submit -= begin;
    if (job.deadline != kNever) job.deadline -= begin;
    out.jobs.push_back(job);
    out.names.push_back(whole_.name_of(i));
  }
  out.rules.push_back(
      fmt::format("window {} of {}: {} of {} jobs", number, length_in_words(), out.jobs.size(), whole_.jobs.size()));
  return finish_workload(std::move(out), seconds(length_) / 86400);
}

}  // namespace smartmig
