#include "policy/net/meanfield.h"

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
  const CostModel paper, hardware{CostModel::kHardware, {}};
  EXPECT_EQ(events_per_call(1, paper), 1u);
  EXPECT_EQ(events_per_call(8, paper), 5u);
  EXPECT_EQ(events_per_call(9, paper), 6u);
  EXPECT_EQ(events_per_call(512, paper), 320u);
  EXPECT_EQ(events_per_call(8, hardware), 2u);
  EXPECT_EQ(events_per_call(512, hardware), 128u);
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

TEST(MeanField, ItsOwnChangesCallNobodyUnderHardwareCosts) {
  const auto platform = fixture::platform("1xa100-40gb");
  Cluster cluster(platform, fixture::bind({fixture::job(0, 100, fixture::linear(60))}, *platform),
                  {CostModel::kHardware, {}}, fixture::layouts(*platform, {"4g@0+3g@4"}));
  const auto due_after = [&](const Event& event) {
    cluster.end_decision(false);
    cluster.apply(event);
    cluster.begin_decision();
    return controller_due(cluster);
  };
  const Layout was = cluster.gpu(GpuId(0)).layout, whole = fixture::layout(*platform, 0, "7g@0");
  EXPECT_TRUE(due_after(Event::submitted(fixture::min(0), JobId(0))));
  cluster.apply(Event::reshape_asked(fixture::min(0), GpuId(0), whole));
  EXPECT_FALSE(due_after(Event::destroyed(fixture::min(1), GpuId(0), was)));
  EXPECT_FALSE(due_after(Event::created(fixture::min(2), GpuId(0), whole)));
  cluster.apply(Event::started(fixture::min(2), JobId(0), GpuId(0), *whole.begin()));
  EXPECT_TRUE(due_after(Event::finished(fixture::min(62), JobId(0))));
}

TEST(MeanField, UnderHardwareCostsAGpuTakesNoShapeThatWaitsForAJob) {
  const auto platform = fixture::platform("1xa100-40gb");
  const GpuModel& gpu = *platform->models()[0].gpu;
  const Shape whole = parse_shape(gpu, "7g").value();
  Cluster cluster(platform, fixture::bind({fixture::job(0, 100, fixture::linear(60))}, *platform),
                  {CostModel::kHardware, {}}, fixture::layouts(*platform, {"4g@0+3g@4"}));
  EXPECT_TRUE(takes_at_once(cluster, GpuId(0), whole));
  cluster.apply(Event::submitted(Time{0}, JobId(0)));
  cluster.apply(Event::started(Time{0}, JobId(0), GpuId(0), fixture::slice(*platform, 0, "4g@0")));
  EXPECT_FALSE(takes_at_once(cluster, GpuId(0), whole));
  EXPECT_TRUE(takes_at_once(cluster, GpuId(0), parse_shape(gpu, "4g+2g+1g").value()));
}

TEST(MeanField, AGpuWithoutSlicesGetsSomeAtOnceWhenAJobWaits) {
  const auto platform = fixture::platform("8xa100-40gb");
  const PolicyFile file = fixed_file({{0, 50.0f}}, Sampling::kGreedy);  // who has layout 1 keeps it
  const auto policy = std::move(*MeanFieldRepartitioner::make(file, *platform, 1));
  Cluster cluster(platform, fixture::bind({fixture::job(0, 100, fixture::linear(60))}, *platform),
                  {CostModel::kHardware, {}}, std::vector<Layout>(8));
  std::vector<std::pair<GpuId, Shape>> wanted;
  cluster.begin_decision();
  policy->retarget(cluster, wanted);
  EXPECT_TRUE(wanted.empty()) << "nobody waits";
  cluster.end_decision(false);
  cluster.apply(Event::submitted(Time{0}, JobId(0)));
  cluster.begin_decision();
  policy->retarget(cluster, wanted);
  EXPECT_EQ(wanted.size(), 8u);
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

TEST(MeanField, ModelsWithoutAControllerKeepTheirFirstLayouts) {
  const PolicyFile file = fixed_file({}, Sampling::kSample);
  const auto mixed =
      MeanFieldRepartitioner::make(file, *fixture::platform("2xa100-40gb,1xa30-24gb", "linear:30:20:165"), 1);
  ASSERT_TRUE(mixed) << mixed.error().what;
  const auto a30 = Catalog::builtin().find("a30-24gb").value();
  EXPECT_TRUE(parse_shape(*a30, to_string(*a30, (*mixed)->initial()[2]))) << "a layout that the A30 has";
  const auto refused = MeanFieldRepartitioner::make(file, *fixture::platform("2xa30-24gb", "linear:30:20:165"), 1);
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
