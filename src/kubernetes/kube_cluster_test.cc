#include "kubernetes/kube_cluster.h"

#include <gtest/gtest.h>

#include "support/made_kubernetes.h"

namespace smartmig {
namespace {

// What it is told is kept; nothing is answered with an error.
class KeptRequests : public KubeApi {
 public:
  Result<KubeReply> ask(const std::string& method, const std::string& path, const Json& body) override {
    asked.push_back(method + " " + path + " " + json_dump(body));
    return KubeReply{201, Json::object()};
  }
  Result<long> watch(const std::string&, const std::function<bool(std::string_view)>&, Time,
                     const std::atomic<bool>&) override {
    return io_error("not here");
  }
  std::vector<std::string> asked;
};

Json pod(const char* name, const char* more) {
  return Json::parse(fmt::format(
      R"({{"metadata":{{"namespace":"a","name":"{0}","uid":"{0}","annotations":{{"smartmig/restart":"1s"}}{1}}},"spec":{{"resourceClaims":[{{"name":"g","resourceClaimName":"{0}"}}],"containers":[]}},"status":{{"phase":"Pending"}}}})",
      name, more));
}

Json claim(const char* name) {
  return Json::parse(fmt::format(
      R"({{"metadata":{{"namespace":"a","name":"{0}","uid":"c-{0}"}},"spec":{{"devices":{{"requests":[{{"name":"g","exactly":{{"deviceClassName":"smartmig"}}}}]}}}}}})",
      name));
}

TEST(KubeCluster, EvictsByUidAndOnlyPodsThatAreMadeAgainMayRestart) {
  AtomicClock clock;
  KubeView view(clock);
  KeptRequests api;
  KubeClaims claims(api, view, [] { return true; });
  KubeCluster cluster(view, clock, &claims, &api, nullptr);
  view.replace(KubeView::kPods, {pod("plain", ""), pod("owned", R"(,"ownerReferences":[{"controller":true}])")});
  view.replace(KubeView::kClaims, {claim("plain"), claim("owned")});
  view.replace(KubeView::kSlices, {});
  view.replace(KubeView::kNodes, {});
  for (int kind = 0; kind < KubeView::kKinds; ++kind) view.heard(KubeView::Kind(kind), true, "");
  const auto jobs = cluster.jobs();
  ASSERT_TRUE(jobs) << jobs.error().what;
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_TRUE((*jobs)[0].requeue) << "owned";
  EXPECT_FALSE((*jobs)[1].requeue) << "nobody makes it again";
  ClusterAction evict;
  evict.what = ClusterAction::kRequeue;
  evict.memo = (*jobs)[0].memo;
  ASSERT_TRUE(cluster.act({evict}));
  ASSERT_EQ(api.asked.size(), 1u);
  EXPECT_TRUE(api.asked[0].starts_with("POST /api/v1/namespaces/a/pods/owned/eviction ")) << api.asked[0];
  EXPECT_NE(api.asked[0].find(R"("preconditions":{"uid":"owned"})"), std::string::npos) << api.asked[0];
}

TEST(KubeView, TheAnswerToAWriteBringsNothingBack) {
  AtomicClock clock;
  KubeView view(clock);
  Json old = claim("x"), newer = claim("x");
  old["metadata"]["resourceVersion"] = "5";
  newer["metadata"]["resourceVersion"] = "7";
  view.put(KubeView::kClaims, newer);
  view.put(KubeView::kClaims, old);
  ASSERT_TRUE(view.claim("a/x"));
  EXPECT_EQ(view.claim("a/x")->meta.version, 7u);
  view.drop(KubeView::kClaims, newer);
  newer["metadata"]["resourceVersion"] = "9";
  view.put(KubeView::kClaims, newer);  // an answer that comes late
  EXPECT_FALSE(view.claim("a/x"));
  EXPECT_NE(view.trouble(Time(1)), "") << "nothing was listed";
}

}  // namespace
}  // namespace smartmig
