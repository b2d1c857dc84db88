#include "kubernetes/kube_objects.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "kubernetes/kube_access.h"
#include "kubernetes/kube_boards.h"
#include "kubernetes/kube_claims.h"
#include "mig/catalog.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

TEST(KubeDevice, NamesSayGpuProfileAndStart) {
  const auto one = parse_mig_device("gpu-12-mig-1g10gb-15-3");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->gpu, 12);
  EXPECT_EQ(one->profile, "1g10gb");
  EXPECT_EQ(one->start, 3);
  EXPECT_EQ(parse_mig_device("gpu-0-mig-1g5gb-me-20-6")->profile, "1g5gb-me");
  for (const char* bad : {"", "gpu-0", "gpu--mig-1g5gb-19-0", "gpu-0-mig-1g5gb-19", "gpu-0-mig--19-0",
                          "gpu-x-mig-1g5gb-19-0", "gpu-0-mig-1g5gb-19-x", "gpu-0-mig-1g5gb-19-999"})
    EXPECT_FALSE(parse_mig_device(bad)) << bad;
}

TEST(KubeQuantity, HasUnitsAndIsRoundedUp) {
  EXPECT_EQ(parse_quantity("18Gi", 1), 18LL << 30);
  EXPECT_EQ(parse_quantity("500m", 1000), 500);
  EXPECT_EQ(parse_quantity("1.5", 1000), 1500);
  EXPECT_EQ(parse_quantity("100m", 1), 1);
  EXPECT_EQ(parse_quantity("2k", 1), 2000);
  for (const char* bad : {"", "Gi", "-1", "1Q", "1e400", "9E99"}) EXPECT_FALSE(parse_quantity(bad, 1)) << bad;
}

TEST(KubeTime, ComesBack) {
  const UnixTime at = parse_kube_time("2026-11-19T20:03:39Z");
  EXPECT_EQ(unix_us(at), 1'795'118'619'000'000);
  EXPECT_EQ(kube_time(at), "2026-11-19T20:03:39.000000Z");
  EXPECT_EQ(parse_kube_time(kube_time(at)), at);
  EXPECT_EQ(parse_kube_time("yesterday"), UnixTime{});
}

Json claim_json(const char* parameters, const char* more = "") {
  return Json::parse(fmt::format(
      R"({{"metadata":{{"namespace":"a","name":"c","uid":"u","resourceVersion":"7"}},"spec":{{"devices":{{"requests":[{{"name":"gpu","exactly":{{"deviceClassName":"smartmig"}}}}{}],"config":[{{"opaque":{{"driver":"smartmig","parameters":{}}}}},{{"requests":["gpu"],"opaque":{{"driver":"gpu.nvidia.com","parameters":{{"x":1}}}}}}]}}}}}})",
      more, parameters));
}

TEST(KubeClaimReader, ReadsWhatIsAskedFor) {
  const KubeClaim one =
      claim_of(claim_json(R"({"kind":"Slice","mem":"18Gi","deadline":"2h","estimate":"20m","restart":"30s"})"));
  ASSERT_TRUE(one.asked) << one.unreadable;
  EXPECT_EQ(one.asked->mem_mib, 18 * 1024);
  EXPECT_EQ(one.asked->deadline, std::chrono::hours(2));
  EXPECT_EQ(one.asked->restart, std::chrono::seconds(30));
  EXPECT_EQ(one.meta.version, 7u);
  EXPECT_EQ(claim_of(claim_json(R"({"profile":"3g.20gb"})")).asked->min_slices, 3);
  EXPECT_NE(claim_of(claim_json(R"({"mem":"much"})")).unreadable.find("'much' is not a valid value of mem"),
            std::string::npos);
  EXPECT_NE(claim_of(claim_json(R"({"memory":"1Gi"})")).unreadable.find("'memory' is not a key"), std::string::npos);
  EXPECT_FALSE(claim_of(claim_json("{}", R"(,{"name":"b","exactly":{"deviceClassName":"x"}})")).asked);
  EXPECT_TRUE(claim_of(Json::parse("[1]")).request.empty());
}

TEST(KubeClaimReader, AnnotationsOfThePodCountMore) {
  JobRequest asked;
  asked.mem_mib = 100;
  const auto more = request_with(asked, {{"smartmig/mem", "2Gi"}, {"other/mem", "9Gi"}, {"smartmig/deadline", "1h"}});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->mem_mib, 2048);
  EXPECT_EQ(more->deadline, std::chrono::hours(1));
  EXPECT_FALSE(request_with(asked, {{"smartmig/deadline", "soon"}}));
}

TEST(KubeAllocation, NamesDeviceAndNodeAndTakesParametersOfOtherDriversAlong) {
  const Json made = allocation_of(claim_json("{}"), "gpu", "n1", {"gpu.nvidia.com", "pool", "gpu-0-mig-1g5gb-19-0"},
                                  parse_kube_time("2026-11-19T20:03:39Z"));
  EXPECT_EQ(
      json_dump(made),
      R"({"allocationTimestamp":"2026-11-19T20:03:39Z","devices":{"config":[{"opaque":{"driver":"gpu.nvidia.com","parameters":{"x":1}},"requests":["gpu"],"source":"FromClaim"}],"results":[{"device":"gpu-0-mig-1g5gb-19-0","driver":"gpu.nvidia.com","pool":"pool","request":"gpu"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}})");
  Json whole = claim_json("{}");
  whole["status"]["allocation"] = made;
  const KubeClaim read = claim_of(whole);
  EXPECT_TRUE(read.allocated);
  EXPECT_EQ(read.node, "n1");
  EXPECT_EQ(read.devices.at(0).name, "gpu-0-mig-1g5gb-19-0");
}

TEST(KubePodReader, CountsContainersAndFindsItsClaims) {
  const KubePod pod =
      pod_of(Json::parse(R"({"metadata":{"namespace":"a","name":"p","ownerReferences":[{"controller":true}]},
    "spec":{"resourceClaims":[{"name":"x","resourceClaimTemplateName":"t"},{"name":"y","resourceClaimName":"own"}],
    "containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"}}},{"resources":{"limits":{"cpu":2}}}],
    "initContainers":[{"resources":{"requests":{"cpu":"3"}}}],"overhead":{"cpu":"10m"}},
    "status":{"phase":"Pending","resourceClaimStatuses":[{"name":"x","resourceClaimName":"p-x-1"}]}})"));
  EXPECT_EQ(pod.claims, (std::vector<std::string>{"p-x-1", "own"}));
  EXPECT_EQ(pod.cpu_m, 3010);
  EXPECT_EQ(pod.mem_mib, 1024);
  EXPECT_TRUE(pod.remade);
}

TEST(KubeObjection, SaysWhatTheNodeLacks) {
  const KubeNode node = node_of(Json::parse(R"({"metadata":{"name":"n1","labels":{"zone":"a","size":"7"}},
    "spec":{"taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"},{"key":"soft","effect":"PreferNoSchedule"}]},
    "status":{"allocatable":{"cpu":"8","memory":"16Gi"}}})"));
  const auto words = [&](const char* spec) {
    return objection_to(node, pod_of(Json::parse(fmt::format(R"({{"spec":{}}})", spec))));
  };
  const std::string tolerates = R"("tolerations":[{"key":"gpu","operator":"Equal","value":"yes"}])";
  EXPECT_EQ(words("{}"), "has the taint gpu, which the pod does not tolerate");
  EXPECT_EQ(words(("{" + tolerates + "}").c_str()), "");
  EXPECT_EQ(words(R"({"tolerations":[{"operator":"Exists"}],"nodeSelector":{"zone":"b"}})"), "lacks the label zone=b");
  const auto affinity = [&](const char* expression) {
    return words(fmt::format(R"({{{},"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":
      {{"nodeSelectorTerms":[{{"matchExpressions":[{}]}}]}}}}}}}})",
                             tolerates, expression)
                     .c_str());
  };
  EXPECT_EQ(affinity(R"({"key":"zone","operator":"In","values":["a","b"]})"), "");
  EXPECT_EQ(affinity(R"({"key":"size","operator":"Gt","values":["6"]})"), "");
  EXPECT_EQ(affinity(R"({"key":"zone","operator":"NotIn","values":["a"]})"), "does not match the pod's node affinity");
  EXPECT_EQ(affinity(R"({"key":"none","operator":"Exists"})"), "does not match the pod's node affinity");
}

TEST(KubeBoards, AreOfTheLastGenerationOfTheirPool) {
  const auto slice = [](const char* name, int generation, const char* device) {
    return std::make_shared<const KubeSlice>(*slice_of(Json::parse(fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"driver":"gpu.nvidia.com","nodeName":"n1","pool":{{"name":"p","generation":{}}},"devices":[{{"name":"{}","attributes":{{"productName":{{"string":"NVIDIA A100-SXM4-40GB"}}}}}}]}}}})",
        name, generation, device))));
  };
  const auto boards = boards_of({{"a", slice("a", 1, "gpu-0-mig-7g40gb-0-0")},
                                 {"b", slice("b", 2, "gpu-1-mig-3g20gb-9-4")},
                                 {"c", slice("c", 2, "gpu-0-mig-1g5gb-19-6")}});
  ASSERT_EQ(boards.at("n1").size(), 2u);
  const KubeBoard& first = boards.at("n1")[0];
  ASSERT_TRUE(first.model);
  EXPECT_EQ(first.model->name(), "a100-40gb");
  EXPECT_EQ(first.devices.size(), 1u);
  const auto place = place_of(boards.at("n1"), {"gpu.nvidia.com", "p", "gpu-1-mig-3g20gb-9-4"});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->board, 1u);
  EXPECT_EQ(first.model->placement(place->where).start, 4);
  EXPECT_EQ(place_of(boards.at("n1"), {"gpu.nvidia.com", "p", "gpu-1"})->where, kNoPlacement) << "the whole GPU";
  EXPECT_FALSE(place_of(boards.at("n1"), {"other", "p", "gpu-1"}));
}

TEST(KubeAccessReader, ReadsAKubeconfig) {
  TempDir dir;
  const std::string file = dir.path() + "/config";
  const auto with = [&](const std::string& user) {
    (void)write_file(
        file,
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://h:6443/', certificate-authority-data: aGVsbG8=}}]\n"
        "users: [{name: u, user: {" +
            user + "}}]\n");
    return read_kubeconfig(file, dir.path() + "/access");
  };
  const auto access = with("token: t");
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->server, "https://h:6443");
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(*read_file(access->ca_file), "hello");
  EXPECT_EQ(with("client-certificate: cert.pem")->cert_file, dir.path() + "/cert.pem");
  EXPECT_EQ(with("exec: {command: aws}").error().code, Error::kUnsupported);
  (void)write_file(file, "a: [");
  EXPECT_EQ(read_kubeconfig(file, dir.path()).error().code, Error::kInvalid);
  EXPECT_EQ(pod_access(dir.path()).error().code, Error::kNotFound);
}

}  // namespace
}  // namespace smartmig
