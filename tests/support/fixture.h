// Small worlds for tests: a platform, a few jobs written in minutes, layouts written as text. Header only, used by
// tests; what cannot be built stops the test with the reason.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace smartmig::fixture {

inline Time min(double minutes) { return from_minutes(minutes); }

inline std::shared_ptr<const Platform> platform(std::string_view spec, std::string_view power = "auto") {
  return std::make_shared<const Platform>(std::move(Platform::parse(spec, power).value()));
}

// Minutes on slices of 1, 2, 3, 4 and 7 compute slices; below 0: does not run there.
struct Work {
  double g1 = -1, g2 = -1, g3 = -1, g4 = -1, g7 = -1;
};
inline Work linear(double minutes_on_7g) {
  return {7 * minutes_on_7g, 3.5 * minutes_on_7g, 7 * minutes_on_7g / 3, 1.75 * minutes_on_7g, minutes_on_7g};
}

inline Job job(double submit, double deadline, const Work& work, int kind = -1) {
  Job j;
  j.submit = min(submit);
  j.deadline = deadline < 0 ? kNever : min(deadline);
  j.kind = kind;
  const std::pair<int, double> sizes[] = {{1, work.g1}, {2, work.g2}, {3, work.g3}, {4, work.g4}, {7, work.g7}};
  for (const auto& [slices, minutes] : sizes)
    if (minutes >= 0) j.work[std::size_t(slices - 1)] = min(minutes);
  return j;
}

inline std::shared_ptr<const JobTable> bind(std::vector<Job> jobs, const Platform& platform,
                                            std::vector<std::string> kinds = {}) {
  auto workload = std::make_shared<Workload>();
  workload->source = "test";
  workload->jobs = std::move(jobs);
  workload->kinds = std::move(kinds);
  validate(*workload).value();
  return std::make_shared<const JobTable>(std::move(JobTable::bind(workload, platform).value()));
}

inline Layout layout(const Platform& platform, std::size_t gpu, std::string_view text) {
  return parse_layout(*platform.model(GpuId(gpu)).gpu, text).value();
}
inline std::vector<Layout> layouts(const Platform& platform, const std::vector<std::string>& texts) {
  std::vector<Layout> out;
  for (std::size_t g = 0; g < texts.size(); ++g) out.push_back(layout(platform, g, texts[g]));
  return out;
}
// "3g@4" of a GPU as a placement.
inline PlacementId slice(const Platform& platform, std::size_t gpu, std::string_view text) {
  return *layout(platform, gpu, text).begin();
}
// "0:3g.20gb@4": the slice in words.
inline std::string name(const Platform& platform, GpuId gpu, PlacementId where) {
  const GpuModel& model = *platform.model(gpu).gpu;
  return fmt::format("{}:{}@{}", index(gpu), model.profile_of(where).name, model.placement(where).start);
}

}  // namespace smartmig::fixture
