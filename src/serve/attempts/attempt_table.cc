#include "serve/attempts/attempt_table.h"

#include <algorithm>

namespace smartmig {

void AttemptTable::take(SliceKey slice, QueueId job) {
  const auto added = on_slice_.emplace(slice, job).second;
  SMARTMIG_CHECK(added, "job {} was put on slice {} of GPU {}, which is held", job, slice.second, slice.first);
}

void AttemptTable::leave(QueueId job) {
  std::erase_if(on_slice_, [&](const auto& entry) { return entry.second == job; });
}

QueueId AttemptTable::holder(SliceKey slice) const {
  const auto at = on_slice_.find(slice);
  return at == on_slice_.end() ? kNoId : at->second;
}

std::vector<QueueId> AttemptTable::on_gpu(int gpu) const {
  std::vector<QueueId> out;
  for (const auto& [slice, id] : on_slice_)
    if (int(slice.first) == gpu) out.push_back(id);
  return out;
}

std::vector<std::pair<JobRecord*, LiveFleet::Effect>> AttemptTable::take_ready(LiveJobs& book, const Belief& belief) {
  std::vector<std::pair<JobRecord*, LiveFleet::Effect>> ready;
  std::set<SliceKey> given;  // to one of `ready`
  for (auto it = postponed_.begin(); it != postponed_.end();) {
    JobRecord* job = book.find(it->first);
    if (job && (must_wait(*job, key_of(it->second)) || given.count(key_of(it->second)))) {
      ++it;
      continue;
    }
    if (job && belief.row(job->id) == it->second.job) {
      given.insert(key_of(it->second));
      ready.emplace_back(job, it->second);
    }
    it = postponed_.erase(it);
  }
  return ready;
}

void AttemptTable::rows_renumbered(const Belief& belief) {
  for (auto& [id, effect] : postponed_) effect.job = belief.row(id);
}

std::vector<AttemptTable::Running> AttemptTable::running(const LiveJobs& book, const Platform& platform) const {
  std::vector<Running> out;
  for (const auto& [slice, id] : on_slice_)
    if (const JobRecord* job = book.find(id)) {
      const Platform::Model& model = platform.model(GpuId(slice.first));
      const int has = model.slices_of_placement[slice.second];
      out.push_back({job, std::min(has, asked_slices(*job, platform)), model.room_of(PlacementId(slice.second))});
    }
  return out;
}

std::map<QueueId, int> AttemptTable::running_of_arrays(const LiveJobs& book) const {
  std::map<QueueId, int> out;
  for (const auto& [slice, id] : on_slice_)
    if (const JobRecord* job = book.find(id); job && in_array(*job)) ++out[job->array.id];
  return out;
}

std::map<std::string, int> AttemptTable::running_of_groups(const LiveJobs& book) const {
  std::map<std::string, int> out;
  for (const auto& [slice, id] : on_slice_)
    if (const JobRecord* job = book.find(id); job && !job->spec.group.empty()) ++out[job->spec.group];
  for (const auto& [id, start] : postponed_)
    if (const JobRecord* job = book.find(id); job && !under_way(*job) && !job->spec.group.empty())
      ++out[job->spec.group];
  return out;
}

}  // namespace smartmig
