#include "cli/queue/top_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/queue/job_words.h"

namespace smartmig::cli {
namespace {

Json slice(const char* name, int start, int memory_slices, int job) {
  Json out = {{"name", name}, {"start", start}, {"memory_slices", memory_slices}, {"job", nullptr}};
  if (job) out["job"] = unsigned(job);
  return out;
}

Json gpu(int index) {
  return {{"index", index},
          {"model", "a100-40gb"},
          {"watts_w", 212.4},
          {"state", "ok"},
          {"memory_slices", 8},
          {"target", "3g.20gb@0+2g.10gb@4"},
          {"slices", {slice("3g.20gb@0", 0, 4, 12), slice("1g.5gb@6", 6, 1, 13)}}};
}

TopState state_of(int gpus, int jobs) {
  TopState state;
  for (int i = 0; i < gpus; ++i) state.gpus.push_back(gpu(i));
  for (int i = 0; i < jobs; ++i)
    state.jobs.push_back({{"id", unsigned(12 + i)},
                          {"name", "training-run"},
                          {"user", "anna"},
                          {"state", i < 2 ? "running" : "queued"},
                          {"submitted_at", 1000.0},
                          {"started_at", 1060.0},
                          {"deadline_at", 4000.0},
                          {"late_s", 0.0},
                          {"gpu", 0},
                          {"slice", "3g.20gb@0"},
                          {"energy", {{"energy_j", 33100.0}}},
                          {"estimate_s", 600.0},
                          {"estimate_source", "guess"}});
  state.status = {{"watts_w", 1834.0},
                  {"policy", "planner"},
                  {"queue", {{"running", 2}, {"queued", jobs - 2}}},
                  {"energy", {{"attributed_j", 4.2e6}}}};
  return state;
}

TEST(TopView, NoLineIsWiderAndNoFrameHigherThanTheTerminal) {
  for (const auto& [width, height] : {std::pair(80, 24), {40, 10}, {200, 60}, {20, 5}, {1, 1}, {3, 2}, {500, 3}})
    for (const int gpus : {0, 1, 8, 64})
      for (const int jobs : {0, 1, 7, 300}) {
        TopFrame frame;
        frame.width = width;
        frame.height = height;
        frame.now = 2000;
        frame.watts.assign(100, 1000);
        const auto lines = top_lines(state_of(gpus, jobs), frame);
        EXPECT_LE(int(lines.size()), height);
        for (const Line& line : lines) {
          std::size_t columns = 0;
          for (const Span& span : line) columns += columns_of(span.text);
          EXPECT_LE(int(columns), width) << width << "x" << height << ", " << gpus << " GPUs, " << jobs << " jobs";
        }
      }
}

TEST(TopView, ASuspendedJobDoesNotRun) {
  TopState state = state_of(1, 3);
  state.jobs[1]["suspended"] = true;
  std::string all;
  for (const Line& line : top_lines(state, {}))
    for (const Span& span : line) all += span.text;
  EXPECT_NE(all.find("suspended"), std::string::npos) << all;
}

TEST(TopView, ASliceOutOfServiceIsShown) {
  Json one = gpu(0);
  one["target"] = "3g.20gb@0+2g.10gb@4+1g.5gb@6";
  one["slices"][1]["state"] = "quarantined";
  one["slices"][1]["job"] = nullptr;
  std::string text;
  bool bad = false;
  for (const Span& span : gpu_bar(one, Json::array(), 120)) {
    text += span.text;
    bad |= span.style == Style::kBad && span.text.starts_with("dead memory");
  }
  EXPECT_TRUE(bad) << text;
}

TEST(TopView, EightGpusAndTheQueueFit80x24) {
  TopFrame frame;
  frame.now = 2000;
  frame.unicode = false;
  frame.watts = {500, 1000, 2000};
  const std::string text = plain_text(top_lines(state_of(8, 30), frame));
  EXPECT_NE(text.find("1834 W"), std::string::npos) << text;
  EXPECT_NE(text.find(":=#"), std::string::npos) << text;
  EXPECT_NE(text.find("1.17 kWh attributed"), std::string::npos) << text;
  for (int i = 0; i < 8; ++i)
    EXPECT_NE(text.find(fmt::format("\n {} a100-40gb     212 W |12", i)), std::string::npos) << text;
  EXPECT_NE(text.find("12 training-run"), std::string::npos);
  EXPECT_NE(text.find("jobs 1-12 of 30"), std::string::npos) << text;
  EXPECT_NE(text.find("q quit"), std::string::npos);
}

TEST(TopView, BoxesAreInProportionAndSayWhatTheyAre) {
  const Json jobs = state_of(1, 3).jobs;
  std::string bar;
  for (const Span& span : gpu_bar(gpu(0), jobs, 65)) bar += span.text;
  EXPECT_EQ(bar, "|12 training-run================|+2g.10gb+++++++|13 tra~|.......|");
  for (int width = 0; width < 90; ++width) {
    std::size_t columns = 0;
    for (const Span& span : gpu_bar(gpu(0), jobs, width)) columns += columns_of(span.text);
    EXPECT_EQ(columns, std::size_t(width));
  }
  Json lost = gpu(0);
  lost["state"] = "lost";
  lost["words"] = "fell off the bus";
  EXPECT_EQ(gpu_bar(lost, jobs, 30)[0].text, "lost: fell off the bus        ");
}

TEST(TopView, ScrollingStopsAtTheEnds) {
  TopFrame frame;
  frame.now = 2000;
  frame.first_gpu = 1000;
  frame.first_job = 1000;
  const std::string text = plain_text(top_lines(state_of(64, 300), frame));
  EXPECT_NE(text.find("GPUs 55-64 of 64"), std::string::npos) << text;
  EXPECT_NE(text.find("jobs 291-300 of 300"), std::string::npos) << text;
}

TEST(TopView, OddAnswersAreDrawnAndNotTrusted) {
  TopState state;
  state.gpus = {Json(), Json(3), Json{{"memory_slices", -5}, {"slices", {{{"start", 900}, {"memory_slices", 1e9}}, 7}}},
                Json{{"memory_slices", 1e6}, {"model", "nope"}, {"target", "3g@x+@+9g.1gb@-1"}},
                Json{{"slices", {slice("a", 0, 4, 0), slice("b", 2, 4, 0)}}}};
  state.jobs = {Json(), Json{{"id", "x"}, {"deadline_at", 1e300}, {"estimate_s", -1}}};
  state.status = Json::array();
  TopFrame frame;
  EXPECT_LE(top_lines(state, frame).size(), 24u);
}

TEST(TopView, HistoryIsScaledToItsHighest) {
  EXPECT_EQ(history_line({0, 50, 100}, 10, false), "_=#");
  EXPECT_EQ(history_line({1, 2, 3, 4}, 2, false), "*#");
  EXPECT_EQ(history_line({0, 0}, 5, false), "__");
  EXPECT_EQ(columns_of(history_line({1, 2, 3}, 5, true)), 3u);
}

}  // namespace
}  // namespace smartmig::cli
