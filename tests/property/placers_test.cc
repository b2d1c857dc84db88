// FastCedf against its definition: PlainPlacer with the CEDF rule. Not similar: the same slices at the same
// microseconds.
#include <gtest/gtest.h>

#include "policy/fast_cedf.h"
#include "policy/placing_rules.h"
#include "policy/plain_placer.h"
#include "random_world.h"

namespace smartmig {
namespace {

using namespace random_world;

struct Run {
  MemoryJournal journal;
  std::unique_ptr<Session> session;
};

Run run_with(const World& world, std::unique_ptr<Placer> placer, std::uint64_t reshape_one_in) {
  std::unique_ptr<Repartitioner> shapes;
  if (reshape_one_in > 0)
    shapes = std::make_unique<RandomShapes>(world, reshape_one_in);
  else
    shapes = std::make_unique<FixedShapes>(world.shapes);
  PairPolicy policy(std::move(shapes), std::move(placer));
  Run out;
  Cluster cluster(world.platform, world.jobs, {}, world.initial);
  SimFleet fleet(cluster);
  out.session = std::make_unique<Session>(fleet, std::move(cluster), &out.journal);
  run(*out.session, policy);
  return out;
}

// Events in words: starts, arrivals and completions in their order; stops of one instant in any order.
std::vector<std::string> words(const MemoryJournal& journal, bool stops) {
  std::vector<std::string> out;
  for (const Event& e : journal.events())
    if ((e.kind == EventKind::kStopped) == stops)
      out.push_back(fmt::format("{:020} kind {} job {} gpu {} where {} layout {}", e.at.count(), int(e.kind),
                                index(e.job), index(e.gpu), index(e.where), e.layout.bits()));
  if (stops) std::sort(out.begin(), out.end());
  return out;
}

void expect_same(const World& world, std::uint64_t reshape_one_in) {
  const Run plain = run_with(world, std::make_unique<PlainPlacer>(make_cedf_rule()), reshape_one_in);
  const Run fast = run_with(world, std::make_unique<FastCedf>(), reshape_one_in);
  ASSERT_EQ(plain.session->refused(), 0u) << plain.session->last_refusal();
  ASSERT_EQ(fast.session->refused(), 0u) << fast.session->last_refusal();
  const auto expected = words(plain.journal, false), found = words(fast.journal, false);
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i)
    ASSERT_EQ(found[i], expected[i]) << "event " << i;
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(words(fast.journal, true), words(plain.journal, true));
  const Cluster &a = plain.session->cluster(), &b = fast.session->cluster();
  for (std::size_t j = 0; j < world.jobs->size(); ++j)
    ASSERT_EQ(a.states()[j].finish, b.states()[j].finish) << "job " << j;
  ASSERT_EQ(a.total_joules(), b.total_joules());
  ASSERT_EQ(a.counters().preemptions, b.counters().preemptions);
  ASSERT_EQ(a.counters().moves, b.counters().moves);
  ASSERT_EQ(a.counters().repartitions, b.counters().repartitions);
}

TEST(PlacersProperty, FastCedfIsCedf) {
  for (int i = 0; i < cases(2000); ++i) {
    const World world = make(1000 + std::uint64_t(i));
    SCOPED_TRACE(world.words());
    expect_same(world, 0);
    if (HasFatalFailure()) return;
  }
}

TEST(PlacersProperty, FastCedfIsCedfWhileLayoutsChange) {
  for (int i = 0; i < cases(1000); ++i) {
    const World world = make(5000 + std::uint64_t(i));
    SCOPED_TRACE(world.words());
    expect_same(world, 1 + std::uint64_t(i) % 6);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace smartmig
