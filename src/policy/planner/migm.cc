#include "policy/planner/migm.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace smartmig {

void Migm::see_new_cluster(const Cluster& cluster) {
  if (identity_ == cluster.identity()) return;
  identity_ = cluster.identity();
  kinds_.clear();
  const Platform& platform = cluster.platform();
  for (std::size_t m = 0; m < platform.models().size(); ++m) {
    const GpuModel& gpu = *platform.models()[m].gpu;
    Kind kind{SliceChoice(gpu), {}};
    for (std::size_t t = 0; t < platform.types().size(); ++t) {
      const SliceType& type = platform.types()[t];
      if (type.model == int(m) && (gpu.schedulable_profiles() >> type.profile & 1)) kind.tightest.push_back(TypeId(t));
    }
    std::sort(kind.tightest.begin(), kind.tightest.end(), [&](TypeId a, TypeId b) {
      const auto key = [&](TypeId t) {
        const SliceType& type = platform.type(t);
        return std::tuple(type.compute_slices, type.memory_mib, platform.profile(t).memory_slices, index(t));
      };
      return key(a) < key(b);
    });
    kinds_.push_back(std::move(kind));
  }
}

std::vector<int> Migm::wanted(const Cluster& cluster, JobId job) const {
  std::vector<int> profiles(kinds_.size(), -1);
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    for (const TypeId type : kinds_[k].tightest)
      if (cluster.jobs().work(job, type) >= Time{0}) {
        profiles[k] = cluster.platform().type(type).profile;
        break;
      }
  return profiles;
}

std::optional<Migm::Offer> Migm::best(const Cluster& cluster, const std::vector<int>& profile_of_kind,
                                      SliceOffer::Means most) const {
  std::optional<Offer> chosen;
  for (std::size_t g = 0; g < rooms_.size(); ++g) {
    const std::size_t k = std::size_t(cluster.platform().model_index(GpuId(g)));
    if (rooms_[g].closed || profile_of_kind[k] < 0) continue;
    const auto offer = kinds_[k].choice.best(rooms_[g], profile_of_kind[k], most);
    if (offer && (!chosen || better(*offer, *chosen))) chosen = Offer{*offer, GpuId(g)};
  }
  return chosen;
}

void Migm::take(const Offer& offer, JobId job, Plan& plan) {
  Room& room = rooms_[index(offer.gpu)];
  if (offer.means == SliceOffer::kReuse) plan.starts.push_back({job, offer.gpu, offer.where});
  room.ready = room.ready & offer.target;
  room.target = offer.target;
}

void Migm::decide(const Cluster& cluster, Plan& plan) {
  SMARTMIG_CHECK(!cluster.cost().free(), "migm needs hardware costs");
  if (cluster.unfinished() == cluster.running()) return;
  see_new_cluster(cluster);
  rooms_.clear();
  for (const GpuState& gpu : cluster.gpus())
    rooms_.push_back({{gpu.usable(), gpu.target, gpu.busy, gpu.layout != gpu.target}, gpu.blocked});

  struct Group {
    std::vector<int> profiles;
    std::vector<JobId> jobs;
    std::size_t served = 0;
  };
  std::vector<Group> groups;  // by first arrival; under migm-b every job is one
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    std::vector<int> profiles = wanted(cluster, job);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.profiles == profiles; });
    if (grouped_ && same != groups.end())
      same->jobs.push_back(job);
    else
      groups.push_back({std::move(profiles), {job}, 0});
  }
  const auto serve = [&](Group& group, SliceOffer::Means most) {  // false: somebody is left
    for (; group.served < group.jobs.size(); ++group.served) {
      const auto offer = best(cluster, group.profiles, most);
      if (!offer) return false;
      take(*offer, group.jobs[group.served], plan);
      const std::size_t k = std::size_t(cluster.platform().model_index(offer->gpu));
      Room& room = rooms_[index(offer->gpu)];
      room.taken = cluster.platform().models()[k].gpu->with(room.taken, offer->where).value();
    }
    return true;
  };
  if (grouped_)
    for (Group& group : groups) serve(group, SliceOffer::kUnderWay);
  for (Group& group : groups)
    if (!serve(group, SliceOffer::kMakeWay) && !grouped_) break;
  for (std::size_t g = 0; g < rooms_.size(); ++g)
    if (rooms_[g].target != cluster.gpus()[g].target) plan.reshapes.push_back({GpuId(g), rooms_[g].target});
}

}  // namespace smartmig
