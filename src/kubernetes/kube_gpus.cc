// The GPUs of a Kubernetes cluster as agents: status, division, allocations.
#include <algorithm>

#include "base/errors.h"
#include "kubernetes/kube_cluster.h"
#include "mig/shape.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

// What holds places of a node's boards.
struct Held {
  std::string claim, uid;  // its key and UID
  KubePlace place;
  bool ours = false;
};

std::vector<Held> held_on(const KubeView::Copy& now, const std::string& node, const std::vector<KubeBoard>& boards) {
  std::vector<Held> out;
  for (const auto& [key, claim] : now.claims) {
    if (!claim->allocated || claim->node != node) continue;
    for (const KubeClaim::Device& device : claim->devices)
      if (const auto place = place_of(boards, device))
        out.push_back({key, claim->meta.uid, *place, !claim->request.empty()});
  }
  return out;
}

}  // namespace

// What the policy has divided a board into; at first, what is allocated.
Layout& KubeCluster::division(const std::string& node, const std::vector<KubeBoard>& boards, std::size_t board,
                              const KubeView::Copy& now) {
  const auto [at, added] = divisions_.try_emplace({node, boards[board].minor});
  if (!added || !boards[board].model) return at->second;
  for (const Held& held : held_on(now, node, boards)) {
    if (held.place.board != board || held.place.where == kNoPlacement) continue;
    if (const auto more = boards[board].model->with(at->second, held.place.where)) at->second = *more;
  }
  return at->second;
}

Result<Json> KubeCluster::ask(const std::string& node, Json request, Patience) {
  const std::string op = request.value("op", "");
  if (op == "free") return free(request.value("job", std::uint32_t(0)));
  const KubeView::Copy now = view_.copy();
  auto boards = boards_of(now.slices);
  const auto mine = boards.find(node);
  if (mine == boards.end()) return io_error("{} has no ResourceSlice of {} with MIG devices", node, kGpuDriver);
  if (op == "status") return status(node, mine->second, now);
  if (request.value("gpu", std::size_t(0)) >= mine->second.size()) return not_found("{} has no such GPU", node);
  if (op == "change") return change(node, mine->second, now, request);
  if (op == "reserve") return reserve(node, mine->second, request);
  return invalid("'{}' is not a known request", op);
}

Result<Json> KubeCluster::status(const std::string& node, const std::vector<KubeBoard>& boards,
                                 const KubeView::Copy& now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> trouble(boards.size());
  std::vector<Layout> taken(boards.size());
  Json jobs = Json::array();
  std::map<std::string, const Known*> by_claim;
  for (const auto& [uid, one] : known_)
    if (one.gone == UnixTime{} && !one.pod_uid.empty()) by_claim[one.key] = &one;
  std::set<std::string> used;
  for (const auto& [key, pod] : now.pods)
    for (const std::string& claim : pod->claims) used.insert(pod->meta.space + "/" + claim);
  for (const Held& held : held_on(now, node, boards)) {
    std::string& words = trouble[held.place.board];
    const KubeBoard& board = boards[held.place.board];
    if (!held.ours || held.place.where == kNoPlacement) {
      words = fmt::format("claim {} was allocated by another allocator", held.claim);
      continue;
    }
    Layout& layout = taken[held.place.board];
    const auto more = board.model->with(layout, held.place.where);
    if (!more) {
      words = fmt::format("claim {} was allocated a slice of another claim", held.claim);
      continue;
    }
    layout = *more;
    const auto job = by_claim.find(held.claim);
    if (job == by_claim.end() && used.contains(held.claim)) continue;  // its pod was not looked at yet
    std::uint32_t number = job == by_claim.end() ? 0 : job->second->number;
    if (number == 0) {  // no pod uses it: the controller gives it back
      Known& left = known(held.uid + "/");
      left.key = held.claim;
      left.last.phase = ClusterJob::kEnded;
      number = left.number;
    }
    jobs.push_back(
        {{"job", number}, {"gpu", held.place.board}, {"slice", to_string(slice_of(*board.model, held.place.where))}});
  }
  Json list = Json::array();
  for (std::size_t b = 0; b < boards.size(); ++b) {
    const KubeBoard& board = boards[b];
    std::string text;
    if (board.model) {
      const Layout& wanted = division(node, boards, b, now);
      Layout shown = wanted;
      for (const PlacementId where : taken[b])
        if (!wanted.contains(where)) shown = taken[b];  // what is there counts
      text = to_string(*board.model, shown);
      if (!(shown == wanted)) divisions_[{node, board.minor}] = shown;
    }
    list.push_back({{"uuid", fmt::format("{}/gpu-{}", node, board.minor)},
                    {"model", board.model ? board.model->name() : ""},
                    {"layout", text},
                    {"trouble", trouble[b]}});
  }
  return Json{
      {"node", node}, {"boards", std::move(list)}, {"jobs", std::move(jobs)}, {"epoch", 0}, {"since_leader_s", 0}};
}

Result<Json> KubeCluster::change(const std::string& node, const std::vector<KubeBoard>& boards,
                                 const KubeView::Copy& now, const Json& request) {
  const std::size_t index = request.value("gpu", std::size_t(0));
  const KubeBoard& board = boards[index];
  if (!board.model) return unsupported("{}: {} is not in the catalogue of GPU models", node, board.product);
  const PlacementId where = placement_of(*board.model, parse_job_slice(request.value("slice", "")));
  if (where == kNoPlacement) return invalid("the slice {} does not exist", request.value("slice", ""));
  const std::lock_guard lock(mutex_);
  Layout& wanted = division(node, boards, index, now);
  if (!request.value("create", false)) {
    for (const Held& held : held_on(now, node, boards))
      if (held.place.board == index && held.place.where == where)
        return busy_error("claim {} has {}", held.claim, request.value("slice", ""));
    wanted = wanted.without(where);
    return Json::object();
  }
  if (!board.devices.contains(where))
    return not_found("{} GPU {}: the driver offers no {}", node, board.minor, request.value("slice", ""));
  const auto more = board.model->with(wanted, where);
  if (!more) return busy_error("{} does not fit with {}", request.value("slice", ""), to_string(*board.model, wanted));
  wanted = *more;
  return Json::object();
}

Result<KubeClaim> KubeCluster::claim_of_number(std::uint32_t number, std::string& pod_uid, bool& over) {
  std::string key, uid;
  {
    const std::lock_guard lock(mutex_);
    const auto known_uid = uids_.find(number);
    if (known_uid == uids_.end()) return not_found("there is no job {}", number);
    const Known& mine = known_.at(known_uid->second);
    key = mine.key;
    uid = known_uid->second.substr(0, known_uid->second.find('/'));
    pod_uid = mine.pod_uid;
    over = mine.last.phase == ClusterJob::kEnded;
  }
  const auto claim = view_.claim(key);
  if (!claim || claim->meta.uid != uid) return not_found("claim {} no longer exists", key);
  return *claim;
}

// Of one board at a time, by the controller's lanes: the place is looked at again here, since another allocator may
// have taken it.
Result<Json> KubeCluster::reserve(const std::string& node, const std::vector<KubeBoard>& boards, const Json& request) {
  const std::uint32_t number = request.value("job", std::uint32_t(0));
  const std::size_t index = request.value("gpu", std::size_t(0));
  const KubeBoard& board = boards[index];
  const PlacementId where =
      board.model ? placement_of(*board.model, parse_job_slice(request.value("slice", ""))) : kNoPlacement;
  const auto device = board.devices.find(where);
  if (device == board.devices.end())
    return not_found("{} GPU {}: the driver does not offer this slice", node, board.minor);
  std::string pod_uid;
  bool over = false;
  const auto found = claim_of_number(number, pod_uid, over);
  if (!found) return lost_error("{}", found.error().what);  // not found means to the controller that the slice has gone
  if (over) return lost_error("its pod has ended");
  const KubeClaim& claim = *found;
  const KubeView::Copy now = view_.copy();
  for (const Held& held : held_on(now, node, boards)) {
    if (held.place.board != index || held.uid == claim.meta.uid) continue;
    const auto alone = held.place.where == kNoPlacement
                           ? std::nullopt
                           : board.model->with(*board.model->with(Layout{}, held.place.where), where);
    if (!alone) return lost_error("claim {} has part of it", held.claim);
  }
  if (claim.allocated && claim.node == node && claim.devices.size() == 1 && claim.devices[0].name == device->second)
    return Json::object();
  if (claims_) {
    const auto written = claims_->allocate(claim, node, {kGpuDriver, board.pool, device->second}, clock_.now());
    const std::lock_guard lock(mutex_);
    if (!written) {
      conflicts_ += written.error().code == Error::kBusy;
      // Busy means to the controller that a process is on the slice; this is about the claim.
      return Error{written.error().code == Error::kBusy ? Error::kLost : written.error().code, written.error().what};
    }
    ++allocated_;
    if (const auto mine = known_.find(claim.meta.uid + "/" + pod_uid); mine != known_.end())
      mine->second.granted = true;
  }
  return Json::object();
}

Result<Json> KubeCluster::free(std::uint32_t number) {
  std::string pod_uid;
  bool over = false;
  const auto claim = claim_of_number(number, pod_uid, over);
  if (!claim) return Json::object();  // nothing is left of it
  if (!claim->allocated) return Json::object();
  bool lives = false;
  const KubeView::Copy now = view_.copy();
  for (const auto& [key, pod] : now.pods)
    lives = lives || (pod->meta.uid == pod_uid && !pod->node.empty() && !pod->over());
  if (lives) return busy_error("claim {} is used by a running pod", claim->meta.key());
  if (claims_) {
    // A pod that has ended, or never began, gives its reservation back with the allocation.
    const auto done = claims_->take_back(*claim, over ? pod_uid : std::string());
    const std::lock_guard lock(mutex_);
    if (!done) {
      conflicts_ += done.error().code == Error::kBusy;
      return done.error();
    }
    ++taken_back_;
    if (const auto uid = uids_.find(number); uid != uids_.end()) known_[uid->second].granted = false;
  }
  return Json::object();
}

}  // namespace smartmig
