#include "serve/gpus/dead_memory.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

constexpr std::uint32_t kNobody = 0x3FFFFFFF;  // larger than any process number

struct Slices : DaemonParts {
  SliceQuarantine quarantine{state->session};
  DeadMemory dead{quarantine};
  BoardState& board = state->boards.at(0);

  void hold(const char* slice, std::uint32_t pid) {
    board.processes = {{pid, find_instance(board.board, place(slice))->gpu_instance, "train", 900}};
  }
  void look(bool in_use = false) {
    dead.look(0, board, [&](SliceKey) { return in_use; });
    tell_all();
  }
  bool out_of_service(const char* slice) const {
    const bool told = board.quarantined.count(index(place(slice))) > 0;
    EXPECT_EQ(told, believed(0).busy.contains(place(slice))) << "a phantom stands for each such slice, and no other";
    return told;
  }
};

TEST(DeadMemory, ASliceIsOutOfServiceFromTheSecondSampleUntilItsMemoryIsFree) {
  Slices s;
  s.hold("3g@4", kNobody);
  s.look();
  EXPECT_FALSE(s.out_of_service("3g@4")) << "an exit is not always seen at once";
  s.look();
  EXPECT_TRUE(s.out_of_service("3g@4"));
  EXPECT_FALSE(s.out_of_service("4g@0"));
  EXPECT_EQ(s.board.dead_mib, 900);
  s.board.processes.clear();
  s.look();
  EXPECT_FALSE(s.out_of_service("3g@4"));
  EXPECT_EQ(s.board.dead_mib, 0);
}

TEST(DeadMemory, ADeadProcessDrawsNothingAlsoUnderACap) {
  Slices s;
  const double idle = s.believed(0).watts;
  s.hold("3g@4", kNobody);
  s.look();
  s.look();
  ASSERT_TRUE(s.out_of_service("3g@4"));
  EXPECT_EQ(s.believed(0).watts, idle);
  const Platform::Model& model = s.state->session.platform().model(GpuId{0});
  // A cap that has room for one busy slice of four: the dead one takes none of it.
  JobRecord waiting;
  waiting.id = QueueId(1);
  waiting.spec.command = {"train"};
  waiting.spec.min_slices = 4;
  waiting.work.estimate = std::chrono::minutes(10);
  waiting.times.submitted = s.state->session.now();
  ASSERT_TRUE(s.state->session.show(waiting, kNeverUnix, s.state->session.now()));
  s.tell_all();
  struct StartThere : Policy {
    Start start;
    void decide(const Cluster&, Plan& plan) override { plan.starts = {start}; }
  };
  auto starter = std::make_unique<StartThere>();
  starter->start = {s.state->session.belief().row(waiting.id), GpuId{0}, s.place("4g@0")};
  const double added = s.state->session.belief().table()->added_watts(starter->start.job,
                                                                      model.type_of_placement[index(s.place("4g@0"))]);
  PowerCap cap(std::move(starter), PowerCaps{model.power.watts(4, added), kNoCap});
  Plan plan;
  cap.decide(s.state->session.cluster(), plan);
  EXPECT_EQ(plan.starts.size(), 1u) << "what dead processes hold counted as drawing power";
}

TEST(DeadMemory, NotWhileSomebodyIsThere) {
  Slices s;
  s.hold("3g@4", kNobody);
  for (int i = 0; i < 4; ++i) s.look(true);
  EXPECT_FALSE(s.out_of_service("3g@4")) << "a job of ours is on it, or about to be";
  s.board.processes.push_back(
      {std::uint32_t(::getpid()), s.board.processes[0].gpu_instance, "alive", 10});  // shares the slice
  for (int i = 0; i < 4; ++i) s.look();
  EXPECT_FALSE(s.out_of_service("3g@4"));
  s.hold("3g@4", std::uint32_t(::getpid()));
  for (int i = 0; i < 4; ++i) s.look();
  EXPECT_FALSE(s.out_of_service("3g@4"));
}

TEST(DeadMemory, ASliceThatIsGoneIsForgotten) {
  Slices s;
  s.hold("3g@4", kNobody);
  s.look();
  s.look();
  ASSERT_TRUE(s.out_of_service("3g@4"));
  std::erase_if(s.board.board.instances, [&](const Instance& i) { return i.placement == s.place("3g@4"); });
  s.look();
  EXPECT_TRUE(s.board.quarantined.empty());
  EXPECT_EQ(s.state->session.cluster().unfinished(), 0u);
}

}  // namespace
}  // namespace smartmig
