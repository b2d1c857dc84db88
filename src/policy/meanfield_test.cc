#include "policy/meanfield.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

// A controller without hidden layers whose logits are its biases.
PolicyFile fixed_file(const std::vector<std::pair<std::size_t, float>>& biases, Sampling sampling, int k = 3) {
  const auto platform = fixture::platform("1xa100-40gb");
  const GpuModel& gpu = *platform->models()[0].gpu;
  Controller c;
  c.gpu = gpu.name();
  c.paper_shapes = true;
  for (const Shape& shape : paper_shapes(gpu)) c.shapes.push_back(to_string(gpu, shape));
  c.initial = {c.shapes[0], c.shapes[1]};
  c.top_k = k;
  c.sampling = sampling;
  c.network = Network({53, 0, 12, {}});
  for (const auto& [at, value] : biases) c.network.parameters()[c.network.actor()[0].bias + at] = value;
  PolicyFile file;
  file.controllers.push_back(std::move(c));
  return file;
}

Cluster waiting_cluster(const std::shared_ptr<const Platform>& platform, MeanFieldRepartitioner& policy) {
  std::vector<Layout> layouts;
  const auto initial = policy.initial();
  for (std::size_t g = 0; g < platform->gpus(); ++g)
    layouts.push_back(*platform->models()[0].shapes->realise(initial[g], {}, {}));
  return Cluster(platform, fixture::bind({fixture::job(0, 1, fixture::linear(1))}, *platform), {}, layouts);
}

TEST(MeanField, IsCalledEveryFiveEventsPerEightGpus) {
  EXPECT_EQ(events_per_call(1), 1u);
  EXPECT_EQ(events_per_call(8), 5u);
  EXPECT_EQ(events_per_call(9), 6u);
  EXPECT_EQ(events_per_call(512), 320u);
  const auto platform = fixture::platform("8xa100-40gb");
  const PolicyFile file = fixed_file({{0 * 12 + 4, 50.0f}, {1 * 12 + 4, 50.0f}}, Sampling::kGreedy);
  auto made = MeanFieldRepartitioner::make(file, *platform, 1);
  MeanFieldRepartitioner* const policy = made->get();
  Cluster cluster = waiting_cluster(platform, *policy);
  for (int decision = 1; decision <= 10; ++decision) {
    cluster.begin_decision();
    std::vector<std::pair<GpuId, Shape>> wanted;
    policy->retarget(cluster, wanted);
    EXPECT_EQ(wanted.size(), decision % 5 == 0 ? 8u : 0u);
    for (const auto& [gpu, shape] : wanted) EXPECT_EQ(shape, paper_shapes(*platform->models()[0].gpu)[4]);
  }
}

TEST(MeanField, EachGpuDrawsFromItsRowCutToTheLargest) {
  // Row 0: columns 3 (weight e^2), 5 (e^1), 0 (1); row 1 the rest is cut away.
  RowSampler sampler(12, 3, Sampling::kSample);
  std::vector<float> logits(144, -1.0f);
  logits[3] = 2;
  logits[5] = 1;
  logits[0] = 0;
  const std::size_t gpus = 60'000;
  std::vector<std::uint8_t> layout_of(gpus, 0), next(gpus);
  std::vector<int> counts(12);
  counts[0] = int(gpus);
  std::vector<GpuId> ids;
  for (std::size_t g = 0; g < gpus; ++g) ids.push_back(GpuId(g));
  const double sum = std::exp(2.0) + std::exp(1.0) + 1;
  const std::vector<std::pair<std::uint8_t, double>> shares = {
      {3, std::exp(2.0) / sum}, {5, std::exp(1.0) / sum}, {0, 1 / sum}};
  sampler.draw(logits, layout_of, counts, ids, 9, 5, next);
  for (const auto& [layout, share] : shares)
    EXPECT_NEAR(double(std::count(next.begin(), next.end(), layout)) / double(gpus), share, 0.01);
  const auto first = next;
  sampler.draw(logits, layout_of, counts, ids, 9, 5, next);
  EXPECT_EQ(next, first);  // keyed by seed, decision and GPU
  sampler.draw(logits, layout_of, counts, ids, 9, 6, next);
  EXPECT_NE(next, first);

  RowSampler quota(12, 3, Sampling::kQuota);
  quota.draw(logits, layout_of, counts, ids, 9, 5, next);
  for (const auto& [layout, share] : shares)
    EXPECT_NEAR(double(std::count(next.begin(), next.end(), layout)), share * double(gpus), 1.01);
}

TEST(MeanField, RefusesAModelItHasNoControllerForByName) {
  const PolicyFile file = fixed_file({}, Sampling::kSample);
  const auto refused =
      MeanFieldRepartitioner::make(file, *fixture::platform("2xa100-40gb,1xa30-24gb", "linear:30:20:165"), 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("a30-24gb"), std::string::npos);
  EXPECT_TRUE(MeanFieldRepartitioner::make(file, *fixture::platform("2xh200-141gb"), 1)) << "the family serves";
}

TEST(MeanField, InitialShapesRepeatOverTheFleet) {
  const auto platform = fixture::platform("5xa100-40gb");
  const auto policy = MeanFieldRepartitioner::make(fixed_file({}, Sampling::kSample), *platform, 1);
  const auto shapes = paper_shapes(*platform->models()[0].gpu);
  EXPECT_EQ((*policy)->initial(), (std::vector<Shape>{shapes[0], shapes[1], shapes[0], shapes[1], shapes[0]}));
}

TEST(MeanField, BracketsNameFileAndSampling) {
  const auto platform = fixture::platform("8xa100-40gb");
  EXPECT_FALSE(make_meanfield("no/such.policy,quota", *platform, 1));
  EXPECT_NE(make_meanfield("a,b", *platform, 1).error().what.find("two files"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
