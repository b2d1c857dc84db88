// A made-up Kubernetes in memory, for conformance tests: claims and pods in a view, writes of claims with versions, and
// at each tick what kube-scheduler, kubelet and the controller of claims would do. Two nodes n1 and n2 of two A100s. It
// checks at every start that no place has two claims and that a slice fits.
#pragma once
#include "kubernetes/kube_cluster.h"
#include "support/made_cluster.h"

namespace smartmig {

class MadeKubernetes : public KubeApi {
 public:
  MadeKubernetes() : claims_(*this, view_, [] { return true; }), cluster_(view_, clock, &claims_, nullptr, nullptr) {
    for (const char* name : {"n1", "n2"}) {
      node(name, true);
      for (int gpu = 0; gpu < 2; ++gpu) view_.put(KubeView::kSlices, slice(name, gpu));
    }
    for (int kind = 0; kind < KubeView::kKinds; ++kind) listed(KubeView::Kind(kind));
  }
  struct Run {
    Json pod, claim;
    Time length{};
    int mem_mib = 0, starts = 0, finishes = 0;
    UnixTime ends{};
    std::string node;
    KubePlace place;
  };
  void submit(std::uint32_t id, int mem_mib, Time length) {
    Run& run = runs_[id];
    const std::string name = fmt::format("p{}", id);
    run.length = length;
    run.mem_mib = mem_mib;
    run.claim = Json::parse(R"({"metadata":{"namespace":"a"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":
      {"deviceClassName":"smartmig"}}],"config":[{"opaque":{"driver":"smartmig","parameters":{}}}]}},"status":{}})");
    run.claim["metadata"]["name"] = name;
    run.claim["metadata"]["uid"] = "claim-" + name;
    run.claim["spec"]["devices"]["config"][0]["opaque"]["parameters"]["mem"] = fmt::format("{}Mi", mem_mib);
    run.pod = Json::parse(R"({"metadata":{"namespace":"a"},"spec":{"resourceClaims":[{"name":"gpu"}],"containers":[
      {"resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Pending"}})");
    run.pod["metadata"]["name"] = name;
    run.pod["metadata"]["uid"] = "pod-" + name;
    run.pod["metadata"]["creationTimestamp"] = kube_time(clock.now());
    run.pod["metadata"]["annotations"]["smartmig/estimate"] = fmt::format("{}s", seconds(length));
    run.pod["spec"]["resourceClaims"][0]["resourceClaimName"] = name;
    put(KubeView::kClaims, run.claim);
    put(KubeView::kPods, run.pod);
  }
  void confine(std::uint32_t id, const std::string& name) {
    runs_.at(id).pod["spec"]["nodeSelector"]["name"] = name;
    put(KubeView::kPods, runs_.at(id).pod);
  }
  void hold(std::uint32_t id, bool held) {
    Json gates = Json::array();
    if (held) gates.push_back({{"name", "test"}});
    runs_.at(id).pod["spec"]["schedulingGates"] = gates;
    put(KubeView::kPods, runs_.at(id).pod);
  }
  void set_up(const std::string& name, bool up) {
    ups_[name] = up;
    node(name, up);
  }
  void tick(Time time) {
    clock.pass(time);
    if (!silent)
      for (int kind = 0; kind < KubeView::kKinds; ++kind) view_.heard(KubeView::Kind(kind), true, "");
    for (auto& [id, run] : runs_) {
      const std::string phase = run.pod["status"]["phase"];
      if (phase == "Running" && clock.now() >= run.ends) {
        run.pod["status"]["phase"] = "Succeeded";
        ++run.finishes;
        put(KubeView::kPods, run.pod);
        const std::lock_guard lock(mutex_);
        run.claim["status"] = Json::object();
        put(KubeView::kClaims, run.claim);
      }
      if (phase == "Pending") schedule(id, run);
    }
  }
  Run& run(std::uint32_t id) { return runs_.at(id); }
  KubeCluster& cluster() { return cluster_; }

  Result<KubeReply> ask(const std::string& method, const std::string& path, const Json& body) override {
    if (silent) return timeout_error("nobody answers");
    SMARTMIG_CHECK(method == "PUT", "{} {}", method, path);
    const std::lock_guard lock(mutex_);
    for (auto& [id, run] : runs_) {
      if (run.claim["metadata"]["uid"] != body["metadata"]["uid"]) continue;
      if (run.claim["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"])
        return KubeReply{409, {{"message", "changed"}}};
      if (path.ends_with("/status")) {
        run.claim["status"] = body["status"];
      } else if (id % 3 == 0) {  // as of a claim whose parameters were sent with spaces
        return KubeReply{422, {{"message", "spec: Invalid value: field is immutable"}}};
      } else {
        run.claim["metadata"]["finalizers"] = body["metadata"]["finalizers"];
      }
      put(KubeView::kClaims, run.claim);
      return KubeReply{200, run.claim};
    }
    return KubeReply{404, {}};
  }
  Result<long> watch(const std::string&, const std::function<bool(std::string_view)>&, Time,
                     const std::atomic<bool>&) override {
    return io_error("not here");
  }

  AtomicClock clock;
  bool silent = false;

 private:
  void listed(KubeView::Kind kind) {
    std::vector<Json> all;
    for (const auto& [key, object] : objects_[kind]) all.push_back(object);
    view_.replace(kind, all);
    view_.heard(kind, true, "");
  }
  void put(KubeView::Kind kind, Json& object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_[kind][object["metadata"].value("name", "")] = object;
    view_.put(kind, object);
  }
  void node(const std::string& name, bool up) {
    Json made =
        Json::parse(R"({"metadata":{},"spec":{},"status":{"allocatable":{"cpu":"64","memory":"64Gi"},"conditions":
      [{"type":"Ready","status":"True"}]}})");
    made["metadata"]["name"] = made["metadata"]["uid"] = name;
    made["metadata"]["labels"]["name"] = name;
    made["spec"]["unschedulable"] = !up;
    put(KubeView::kNodes, made);
  }
  Json slice(const std::string& name, int gpu) {
    Json devices = Json::array();
    for (std::size_t p = 0; p < model_->placements().size(); ++p) {
      const PlacementId where{std::uint8_t(p)};
      const Profile& profile = model_->profile_of(where);
      Json device = {{"name", fmt::format("gpu-{}-mig-{}-{}-{}", gpu, profile_in_device(profile.name), profile.nvml_id,
                                          model_->placement(where).start)}};
      device["attributes"]["productName"]["string"] = "a100-40gb";
      devices.push_back(std::move(device));
    }
    Json out = {{"metadata", {{"name", fmt::format("{}-{}", name, gpu)}, {"uid", fmt::format("{}-{}", name, gpu)}}}};
    out["spec"] = {{"driver", kGpuDriver}, {"nodeName", name}, {"devices", devices}};
    out["spec"]["pool"] = {{"name", name}, {"generation", 1}};
    put(KubeView::kSlices, out);
    return out;
  }
  void schedule(std::uint32_t id, Run& run) {
    const std::lock_guard lock(mutex_);
    const KubeClaim claim = claim_of(run.claim);
    if (!claim.allocated || !ups_.try_emplace(claim.node, true).first->second) return;
    const auto boards = boards_of(view_.copy().slices);
    const auto place = place_of(boards.at(claim.node), claim.devices.at(0));
    SMARTMIG_CHECK(place && place->where != kNoPlacement, "claim {} has no slice", id);
    const Layout one = *model_->with(Layout{}, place->where);
    for (const auto& [other, running] : runs_)
      SMARTMIG_CHECK(running.pod["status"]["phase"] != "Running" || running.node != claim.node ||
                         running.place.board != place->board || model_->with(one, running.place.where),
                     "pods {} and {} have one place", id, other);
    SMARTMIG_CHECK(model_->profile_of(place->where).memory_mib >= run.mem_mib, "pod {} does not fit", id);
    SMARTMIG_CHECK(objection_to(node_of(objects_[KubeView::kNodes][claim.node]), pod_of(run.pod)).empty(),
                   "pod {} may not use {}", id, claim.node);
    run.node = claim.node;
    run.place = *place;
    run.ends = clock.now() + run.length;
    ++run.starts;
    Json user = {{"resource", "pods"}};
    user["uid"] = run.pod["metadata"]["uid"];
    run.claim["status"]["reservedFor"] = Json::array({user});
    put(KubeView::kClaims, run.claim);
    run.pod["spec"]["nodeName"] = claim.node;
    run.pod["status"]["phase"] = "Running";
    put(KubeView::kPods, run.pod);
  }

  std::shared_ptr<const GpuModel> model_ = *Catalog::builtin().find("a100-40gb");
  std::mutex mutex_;  // of claims: lanes write them
  std::uint64_t version_ = 0;
  std::map<KubeView::Kind, std::map<std::string, Json>> objects_;
  std::map<std::string, bool> ups_;
  std::map<std::uint32_t, Run> runs_;
  KubeView view_{clock};
  KubeClaims claims_;
  KubeCluster cluster_;
};

}  // namespace smartmig
