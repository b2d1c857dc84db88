#include "queue/answers/metrics_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/paths.h"

namespace smartmig {
namespace {

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != text.npos;
}

MetricsInput sample_input() {
  MetricsInput in;
  in.time_errors.emplace("history", MetricsHistogram({0.1, 0.2})).first->second.observe(0.15);
  in.program.version = "1.0";
  in.program.policy = "planner";
  in.program.driver = "nvml";
  MetricsInput::Board board;
  board.gpu = 2;
  board.uuid = "GPU-a";
  board.model = "a100-40gb";
  board.state = "ok";
  board.watts = 123.5;
  board.joules = {{"counter", 1e6}, {"model", 2}};
  board.unattributed_joules = 3;
  board.fragmentation = 0.25;
  board.largest_free_slices = 3;
  board.dead_process_bytes = 1048576;
  in.boards = {board};
  in.slices = {{2, 7, 4, "GPU-a", "3g.20gb", "MIG-x", 12, 60}, {2, 9, 0, "GPU-a", "1g.5gb", "MIG-y", std::nullopt, 5}};
  in.jobs = {{12, "a\"b\\c\nd", 42.5, 7}};
  in.jobs_by_state = {{"queued", 3}, {"running", 1}};
  in.queue_length = 3;
  in.reconfigurations = {{{"create", "ok"}, 4}, {{"destroy", "failed"}, 1}};
  in.reconfiguration_s = MetricsHistogram({0.1, 1});
  for (const double s : {0.05, 0.1, 0.5, 7.0}) in.reconfiguration_s.observe(s);
  in.decisions = {{"carried_out", 100}, {"refused", 2}};
  in.policy_fallbacks = 5;
  in.oom_restarts = 6;
  return in;
}

TEST(MetricsText, HasTheAgreedNamesAndLabels) {
  const std::string text = metrics_text(sample_input());
  for (const char* line :
       {"smartmig_job_energy_joules_total{job=\"12\",user=\"a\\\"b\\\\c\\nd\"} 42.5",
        "smartmig_slice_power_watts{gpu=\"2\",UUID=\"GPU-a\",GPU_I_ID=\"7\",GPU_I_PROFILE=\"3g.20gb\",job=\"12\"} 60",
        "smartmig_slice_power_watts{gpu=\"2\",UUID=\"GPU-a\",GPU_I_ID=\"9\",GPU_I_PROFILE=\"1g.5gb\",job=\"\"} 5",
        "smartmig_board_energy_unattributed_joules_total{gpu=\"2\",UUID=\"GPU-a\"} 3",
        "smartmig_job_tardiness_seconds{job=\"12\",user=\"a\\\"b\\\\c\\nd\"} 7",
        "smartmig_queue_length 3",
        "smartmig_reconfigurations_total{kind=\"create\",result=\"ok\"} 4",
        "smartmig_reconfiguration_duration_seconds_bucket{le=\"0.1\"} 2",
        "smartmig_reconfiguration_duration_seconds_bucket{le=\"1\"} 3",
        "smartmig_reconfiguration_duration_seconds_bucket{le=\"+Inf\"} 4",
        "smartmig_reconfiguration_duration_seconds_count 4",
        "smartmig_fragmentation_ratio{gpu=\"2\",UUID=\"GPU-a\"} 0.25",
        "smartmig_largest_free_slices{gpu=\"2\",UUID=\"GPU-a\"} 3",
        "smartmig_oom_restarts_total 6",
        "smartmig_dead_process_memory_bytes{gpu=\"2\",UUID=\"GPU-a\"} 1048576",
        "smartmig_policy_fallback_total{policy=\"planner\"} 5",
        "smartmig_slice_info{gpu=\"2\",UUID=\"GPU-a\",GPU_I_ID=\"7\",GPU_I_PROFILE=\"3g.20gb\",device=\"MIG-x\",start="
        "\"4\",job="
        "\"12\"} 1",
        "smartmig_decisions_total{policy=\"planner\",result=\"refused\"} 2",
        "smartmig_board_power_watts{gpu=\"2\",UUID=\"GPU-a\"} 123.5",
        "smartmig_board_energy_joules_total{gpu=\"2\",UUID=\"GPU-a\",source=\"counter\"} 1000000",
        "smartmig_jobs{state=\"running\"} 1"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
}

TEST(MetricsText, EveryFamilyIsDeclaredOnceBeforeItsSamples) {
  std::istringstream text(metrics_text(sample_input()));
  std::set<std::string> declared;
  std::string line, current;
  while (std::getline(text, line)) {
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(declared.insert(current).second) << current;
      continue;
    }
    EXPECT_TRUE(line.starts_with(current)) << line;
    EXPECT_NE(line.find(' '), line.npos);
  }
  EXPECT_GT(declared.size(), 20u);
}

TEST(MetricsText, OddNumbersStayReadable) {
  MetricsWriter out;
  out.family("x", "gauge", "a\nb");
  out.sample({}, std::numeric_limits<double>::quiet_NaN());
  out.sample({}, -std::numeric_limits<double>::infinity());
  out.sample({}, 1e21);
  EXPECT_EQ(out.take(), "# HELP x a\\nb\n# TYPE x gauge\nx NaN\nx -Inf\nx 1e+21\n");
}

TEST(MetricsText, TheGrafanaBoardAsksForNamesThatExist) {
  std::ifstream file(source_dir() + "/deploy/grafana.json");
  const auto board = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(board.is_object());
  const std::string text = metrics_text(sample_input());
  int queries = 0;
  for (const auto& panel : board["panels"])
    for (const auto& target : panel.value("targets", nlohmann::json::array())) {
      const std::string query = target["expr"];
      ++queries;
      for (auto at = query.find("smartmig_"); at != query.npos; at = query.find("smartmig_", at + 1)) {
        std::string name = query.substr(at, query.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at) - at);
        EXPECT_NE(text.find("\n" + name), text.npos) << name;
      }
    }
  EXPECT_GE(queries, 10);
}

TEST(MetricsText, AlertsAskForNamesThatExist) {
  std::ifstream file(source_dir() + "/deploy/alerts.yml");
  const std::string text = metrics_text(sample_input());
  int queries = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("expr: ") == line.npos) continue;
    ++queries;
    for (auto at = line.find("smartmig_"); at != line.npos; at = line.find("smartmig_", at + 1)) {
      const std::string name = line.substr(at, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at) - at);
      EXPECT_NE(text.find("\n" + name), text.npos) << name;
    }
  }
  EXPECT_GE(queries, 6);
}

}  // namespace
}  // namespace smartmig
