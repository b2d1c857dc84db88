// Compares a placing rule of your own with the paper's on one simulated day; docs/tutorial.md walks through it.
//   cmake --build build/release --target my_policy && build/release/my_policy
#include <fmt/format.h>

#include "policy/layouts/repartitioners.h"
#include "policy/placing/plain_placer.h"
#include "policy/registry.h"
#include "shortest_first.h"
#include "sim/simulate.h"
#include "sim/workload_spec.h"

using namespace smartmig;

int main() {
  // .value() ends the program with the reason where something is wrong; a real program looks first.
  const auto platform = std::make_shared<const Platform>(Platform::parse("8xa100-40gb").value());
  const auto workload = std::make_shared<const Workload>(load_workload("paper:20x,seed=7").value());
  const auto jobs = std::make_shared<const JobTable>(JobTable::bind(workload, *platform).value());
  const std::vector<Shape> shapes = parse_shapes(*platform, {"1", "1", "2", "3", "3", "5", "5", "10"}, false).value();
  const SimSetup setup{platform, jobs, CostModel{CostModel::kHardware, {}}, initial_layouts(*platform, shapes).value()};

  fmt::print("{:<22}{:>11}{:>16}{:>9}{:>8}\n", "placer", "energy kWh", "tardiness min", "late", "ET");
  const auto show = [&](const char* name, std::unique_ptr<Placer> placer) {
    PairPolicy policy(std::make_unique<FixedShapes>(shapes), std::move(placer));
    const SimResult run = std::move(simulate(setup, policy).value());
    const Summary& s = run.summary;
    fmt::print("{:<22}{:>11.2f}{:>16.3f}{:>7.1f} %{:>8.3f}\n", name, s.energy_kwh, s.mean_tardiness_min,
               100.0 * double(s.late_jobs) / double(s.jobs), s.et);
  };
  show("cedf", std::move(make_placer("cedf", {}, setup.cost).value()));
  show("shortest first (mine)", std::make_unique<PlainPlacer>(std::make_unique<ShortestFirst>()));
}
