// The bound of the world of hardware costs against the optimum of tiny cases, found by trying everything: each job on
// each GPU, size and start. Jobs last whole minutes, are released and due at whole minutes, and what a schedule costs is
// linear in its starts while their order stays, so some optimum starts every job at a whole minute.
#include <gtest/gtest.h>

#include <set>

#include "bound/certificate_make.h"
#include "bound/checker.h"
#include "random_world.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

constexpr double kTinyWeight = 1e-2;
constexpr int kTinySizes[] = {1, 2, 3, 4, 7};

struct TinyUnstoppable {
  std::shared_ptr<const Platform> gpus;
  std::shared_ptr<const JobTable> jobs;
};

TinyUnstoppable tiny_unstoppable(std::uint64_t seed) {
  Rng rng(seed, 611);
  TinyUnstoppable out;
  const char* powers[] = {"paper", "paper", "linear:50:60:250"};
  out.gpus = fixture::platform(rng.below(3) == 0 ? "2xa100-40gb" : "1xa100-40gb", powers[rng.below(3)]);
  const std::size_t count = 1 + rng.below(out.gpus->gpus() == 1 ? 4 : 3);
  std::vector<Job> jobs;
  for (std::size_t j = 0; j < count; ++j) {
    Job job;
    job.submit = fixture::min(double(rng.below(3)));
    int offered = 0;
    for (const int size : kTinySizes)
      if (rng.below(5) < 2 && offered < 2) {
        job.work[std::size_t(size - 1)] = fixture::min(double(1 + rng.below(3)));
        ++offered;
      }
    if (offered == 0) job.work[6] = fixture::min(double(1 + rng.below(2)));
    job.deadline = rng.below(6) == 0 ? kNever : job.submit + fixture::min(double(rng.below(5)));
    jobs.push_back(job);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& x, const Job& y) { return x.submit < y.submit; });
  out.jobs = fixture::bind(std::move(jobs), *out.gpus);
  return out;
}

// The least a e + t, energy and mean tardiness, each by itself.
class EveryStart {
 public:
  explicit EveryStart(const TinyUnstoppable& tiny) : tiny_(tiny), model_(tiny.gpus->models()[0]) {
    for (const Layout layout : model_.gpu->layouts(model_.gpu->all_profiles())) {
      std::array<int, 8> counts{};
      for (const PlacementId p : layout) ++counts[std::size_t(model_.gpu->profile_of(p).compute_slices)];
      layouts_.insert(counts);
    }
    for (std::size_t j = 0; j < tiny.jobs->size(); ++j) {
      std::int64_t longest = 0;
      for (const Time work : tiny.jobs->job(JobId(j)).work) longest = std::max(longest, minute(work));
      horizon_ += longest;
      last_release_ = std::max(last_release_, minute(tiny.jobs->job(JobId(j)).submit));
    }
    horizon_ += last_release_;
    on_.assign(tiny.gpus->gpus(), std::vector<std::array<int, 8>>(std::size_t(horizon_)));
    place(0, 0, 0);
  }
  double et = 1e9, energy = 1e9, tardiness = 1e9;

 private:
  static std::int64_t minute(Time t) { return t.count() / 60'000'000; }

  void place(std::size_t j, double late, std::int64_t last) {
    const double mean = late / double(tiny_.jobs->size());
    if (j == tiny_.jobs->size()) {
      double joules = 0;
      for (const auto& gpu : on_)
        for (std::int64_t t = 0; t < last; ++t) {
          int busy = 0;
          for (const int size : kTinySizes) busy += size * gpu[std::size_t(t)][std::size_t(size)];
          joules += model_.power.is_table() ? model_.power.watts(busy, 0)
                                            : model_.power.watts(busy, 60.0 * busy);  // linear:50:60:250
        }
      et = std::min(et, kTinyWeight * joules + mean);
      energy = std::min(energy, joules);
      tardiness = std::min(tardiness, mean);
      return;
    }
    const Job& job = tiny_.jobs->job(JobId(j));
    for (const int size : kTinySizes) {
      const std::int64_t work =
          job.work[std::size_t(size - 1)] < Time{0} ? -1 : minute(job.work[std::size_t(size - 1)]);
      if (work < 0) continue;
      for (std::int64_t start = minute(job.submit); start + work <= horizon_; ++start)
        for (auto& gpu : on_) {
          bool fits = true;
          for (std::int64_t t = start; t < start + work; ++t) {
            auto& counts = gpu[std::size_t(t)];
            ++counts[std::size_t(size)];
            fits = fits && layouts_.contains(counts);
          }
          const double over =
              job.deadline == kNever ? 0 : std::max<double>(0, double(start + work - minute(job.deadline)));
          if (fits) place(j + 1, late + over, std::max(last, start + work));
          for (std::int64_t t = start; t < start + work; ++t) --gpu[std::size_t(t)][std::size_t(size)];
        }
    }
  }

  const TinyUnstoppable& tiny_;
  const Platform::Model& model_;
  std::set<std::array<int, 8>> layouts_;
  std::int64_t horizon_ = 0, last_release_ = 0;
  std::vector<std::vector<std::array<int, 8>>> on_;  // [GPU][minute]: busy slices by size
};

TEST(OnePieceBound, BelowTheOptimumOfTinyCases) {
  double reached = 0, free = 0, optima = 0;
  for (int i = 0; i < cases(25); ++i) {
    const TinyUnstoppable tiny = tiny_unstoppable(100 + std::uint64_t(i));
    SCOPED_TRACE(fmt::format("seed {}: {} jobs on {}", 100 + i, tiny.jobs->size(), tiny.gpus->spec()));
    const EveryStart optimum(tiny);
    const auto bound = [&](Objective objective, BoundWorld world) {
      const auto made = make_certificate(*tiny.gpus, *tiny.jobs, objective, kTinyWeight, {0.5, {}}, world).value();
      const auto again = parse_certificate("memory", certificate_json(made)).value();
      EXPECT_TRUE(check_certificate(again, *tiny.gpus, *tiny.jobs));
      return made.bound;
    };
    const double et = bound(Objective::kEt, BoundWorld::kHardware);
    ASSERT_LE(et, optimum.et + 1e-9);
    ASSERT_LE(bound(Objective::kEnergy, BoundWorld::kHardware), optimum.energy + 1e-9);
    ASSERT_LE(bound(Objective::kTardiness, BoundWorld::kHardware), optimum.tardiness + 1e-9);
    reached += et;
    free += bound(Objective::kEt, BoundWorld::kFree);
    optima += optimum.et;
  }
  EXPECT_GT(reached, free);
  EXPECT_GT(reached, 0.8 * optima);
  RecordProperty("hardware_share", std::to_string(reached / optima));
  RecordProperty("free_share", std::to_string(free / optima));
}

// Whatever prices a certificate holds, what the checker makes of them is no more than the optimum: a forger can lower
// the bound, not raise it.
TEST(OnePieceBound, ForgedPricesProveNothingFalse) {
  int positive = 0;
  for (int i = 0; i < cases(8); ++i) {
    const TinyUnstoppable tiny = tiny_unstoppable(400 + std::uint64_t(i));
    SCOPED_TRACE(fmt::format("seed {}: {} jobs on {}", 400 + i, tiny.jobs->size(), tiny.gpus->spec()));
    const EveryStart optimum(tiny);
    Certificate good =
        make_certificate(*tiny.gpus, *tiny.jobs, Objective::kEt, kTinyWeight, {0.02, {}}, BoundWorld::kHardware)
            .value();
    const std::size_t classes = good.classes.size();
    const std::vector<double> tail(good.prices.values.end() - std::ptrdiff_t(classes), good.prices.values.end());
    Rng rng(std::uint64_t(i), 612);
    for (int forgery = 0; forgery < 40; ++forgery) {
      Certificate forged = good;
      if (forgery % 2 == 0) {
        forged.prices.windows.edges = {0};
        forged.prices.values.clear();
        for (std::uint64_t w = 1 + rng.below(12); w-- > 0;) {
          forged.prices.windows.edges.push_back(forged.prices.windows.edges.back() + 1 +
                                                std::int64_t(rng.below(120'000'000)));
          for (std::size_t k = 0; k < classes; ++k)
            forged.prices.values.push_back(rng.below(4) == 0 ? 0 : rng.exponential(0.5 + tail[k]));
        }
        forged.prices.values.insert(forged.prices.values.end(), tail.begin(), tail.end());
        forged.prices.own = {};
        for (std::size_t j = 0; j < tiny.jobs->size(); ++j) {
          const auto first = std::uint32_t(rng.below(forged.prices.windows.count()));
          const auto count = std::uint32_t(rng.below(forged.prices.windows.count() - first + 1));
          forged.prices.own.spans.push_back({std::uint32_t(j), first, count, forged.prices.own.values.size()});
          for (std::uint32_t w = 0; w < count; ++w) forged.prices.own.values.push_back(rng.exponential(0.5));
        }
        forged.prices.ends.clear();
        for (std::size_t j = 0; j < tiny.jobs->size(); ++j) {
          const double idle = kTinyWeight * double(tiny.jobs->size() * tiny.gpus->gpus()) * 40;  // at least
          forged.prices.ends.push_back({std::uint32_t(j), rng.uniform() * idle / double(tiny.jobs->size())});
        }
      } else {
        for (std::size_t x = 0; x + classes < forged.prices.values.size(); ++x)
          if (rng.below(4) == 0) forged.prices.values[x] *= rng.uniform(0, 3);
        for (double& price : forged.prices.own.values)
          if (rng.below(4) == 0) price *= rng.uniform(0, 3);
      }
      const double value = certified_bound(forged, *tiny.gpus, *tiny.jobs).value();
      ASSERT_LE(value, optimum.et + 1e-9);
      positive += value > 0;
      forged.bound = std::nextafter(value, 1e9);
      ASSERT_FALSE(check_certificate(forged, *tiny.gpus, *tiny.jobs));
    }
  }
  EXPECT_GT(positive, cases(8) * 10);
}

TEST(OnePieceBound, ACertificateOfOneWorldIsNoneOfTheOther) {
  // Alone on the GPU, 10 minutes on 1g, 5 on 7g, due after 7.5: half on each is on time and saves energy. In one piece it
  // takes all of it on 7g; with a restart cost it pays for a tenth of a minute more.
  const auto gpus = fixture::platform("1xa100-40gb", "paper");
  Job job = fixture::job(0, 7.5, {10, -1, -1, -1, 5});
  const auto certificate = [&](const JobTable& jobs, BoundWorld world) {
    return make_certificate(*gpus, jobs, Objective::kEt, 1e-3, {}, world).value();
  };
  const auto table = fixture::bind({job}, *gpus);
  const Certificate free = certificate(*table, BoundWorld::kFree);
  Certificate hardware = certificate(*table, BoundWorld::kHardware);
  EXPECT_NEAR(hardware.bound, 1e-3 * 248.5 * 5, 1e-6);
  EXPECT_EQ(parse_certificate("c.json", certificate_json(hardware)).value().world, BoundWorld::kHardware);
  hardware.world = BoundWorld::kFree;
  const auto refused = check_certificate(hardware, *gpus, *table);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("prove only"), std::string::npos);
  job.restart = fixture::min(0.1);
  const double between = certificate(*fixture::bind({job}, *gpus), BoundWorld::kHardware).bound;
  EXPECT_GT(between, free.bound + 1e-3);
  EXPECT_LT(between, hardware.bound);
}

}  // namespace
}  // namespace smartmig
