#include "slurm/dependency.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

SlurmDependencies::SlurmDependencies(const std::vector<SlurmJob>& jobs, UnixTime settled) : settled_(settled) {
  for (const SlurmJob& job : jobs) {
    by_id_.emplace(job.name.id, &job);
    if (job.number != 0) by_number_.emplace(job.number, &job);
    if (job.phase != SlurmJob::kEnded) alive_[{job.uid, job.title}].push_back(job.name);
  }
}

// "afterok:12(unfulfilled)", "afterany:12_3", "aftercorr:12_*", "after:12+5", "singleton(unfulfilled)".
bool SlurmDependencies::item_may_be_over(const SlurmJob& job, std::string_view item) const {
  item = item.substr(0, item.find('('));
  if (item.starts_with("singleton")) {
    const auto at = alive_.find({job.uid, job.title});
    return at == alive_.end() || std::all_of(at->second.begin(), at->second.end(),
                                             [&](const ClusterJobName& other) { return other.id >= job.name.id; });
  }
  const auto colon = item.find(':');
  if (colon == item.npos) return true;
  const std::string_view type = item.substr(0, colon);
  std::string_view of = item.substr(colon + 1);
  of = of.substr(0, of.find('+'));
  const auto underscore = of.find('_');
  const auto id = parse_int(of.substr(0, underscore));
  if (!id || *id <= 0 || *id > 0xFFFFFFFELL) return true;
  int task = -1;
  if (underscore != of.npos && of.substr(underscore + 1) != "*")
    task = int(parse_int(of.substr(underscore + 1)).value_or(-1));
  if (type == "aftercorr") task = job.name.task;
  const bool start_is_enough = type == "after";
  const auto over = [&](const SlurmJob& other) {
    if (other.phase == SlurmJob::kEnded) return other.state != "FAILED" || !other.requeue || other.ended <= settled_;
    return start_is_enough && other.phase != SlurmJob::kPending;
  };
  const auto [first, last] = by_id_.equal_range(std::uint32_t(*id));
  if (first == last) {  // of a task by the number of its record, or gone long ago
    const auto record = by_number_.find(std::uint32_t(*id));
    return record == by_number_.end() || over(*record->second);
  }
  return std::all_of(first, last, [&](const auto& entry) {
    return (task >= 0 && entry.second->name.task != task) || over(*entry.second);
  });
}

bool SlurmDependencies::may_be_over(const SlurmJob& job) const {
  if (job.dependency.empty()) return true;
  const bool any = job.dependency.find('?') != std::string::npos;
  for (const std::string_view item : split(job.dependency, any ? '?' : ','))
    if (item_may_be_over(job, item) == any) return any;
  return !any;
}

}  // namespace smartmig
