#include "research/learn/train_log.h"

#include <cmath>
#include <filesystem>

namespace smartmig {

LogRow log_row(const UpdateReport& r, const EvalReport* eval, double elapsed_s, double jobs_before,
               double steps_before) {
  const double none = std::nan("");
  const double rate = 1 / std::max(1e-9, elapsed_s);
  const double fps = (double(r.env_steps) - steps_before) * rate;
  const double agents = r.env_steps > 0 ? double(r.agent_steps) / double(r.env_steps) : 0;
  return {{"global_step", double(r.env_steps)},
          {"charts/episodic_return", r.episodic_return.value_or(none)},
          {"charts/episodic_length", r.episode_calls.value_or(none)},
          {"charts/learning_rate", r.learning_rate},
          {"charts/SPS", fps},
          {"charts/agent_SPS", fps * agents},
          {"losses/value_loss", r.loss.value},
          {"losses/policy_loss", r.loss.policy},
          {"losses/entropy", r.loss.entropy},
          {"losses/approx_kl", r.loss.kl},
          {"losses/clipfrac", r.loss.clipped},
          {"losses/explained_variance", r.explained_variance},
          {"losses/grad_norm", r.grad_norm},
          {"losses/q_values", r.q_mean},
          {"charts/epsilon", r.epsilon},
          {"rollout/ep_rew_mean", r.episodic_return.value_or(none)},
          {"rollout/ep_len_mean", r.episode_calls.value_or(none)},
          {"time/fps", fps},
          {"time/iterations", double(r.update)},
          {"time/time_elapsed", elapsed_s},
          {"time/total_timesteps", double(r.env_steps)},
          {"time/jobs", double(r.jobs)},
          {"time/jobs_per_second", (double(r.jobs) - jobs_before) * rate},
          {"time/simulation_s", r.simulation_s},
          {"time/inference_s", r.inference_s},
          {"time/update_s", r.update_s},
          {"eval/et", eval ? eval->et : none},
          {"eval/tardiness_min", eval ? eval->tardiness_min : none},
          {"eval/energy_wmin", eval ? eval->energy_wmin : none},
          {"eval/baseline_et", eval ? eval->baseline_et : none},
          {"eval/et_vs_baseline", eval ? eval->relative() : none}};
}

std::string csv_header(const LogRow& row) {
  std::string out;
  for (const auto& [key, value] : row) out += (out.empty() ? "" : ",") + key;
  return out + "\n";
}

std::string csv_line(const LogRow& row) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ",";
    if (!std::isnan(row[i].second)) out += fmt::format("{:.9g}", row[i].second);
  }
  return out + "\n";
}

std::string json_line(const LogRow& row) {
  std::string out;
  for (const auto& [key, value] : row)
    if (std::isfinite(value)) out += fmt::format("{}\"{}\": {:.9g}", out.empty() ? "" : ", ", key, value);
  return "{" + out + "}\n";
}

Result<TrainLog> TrainLog::open(const std::string& directory) {
  TrainLog log;
  log.directory_ = directory;
  const std::filesystem::path folder(directory);
  std::error_code ignored;
  log.has_header_ = std::filesystem::exists(folder / "progress.csv", ignored);
  log.csv_.open(folder / "progress.csv", std::ios::app);
  log.json_.open(folder / "progress.jsonl", std::ios::app);
  if (!log.csv_ || !log.json_)
    return io_error("cannot write the logs in {}; check permissions and disk space", directory);
  return log;
}

Result<Ok> TrainLog::append(const LogRow& row) {
  if (!has_header_) csv_ << csv_header(row);
  has_header_ = true;
  csv_ << csv_line(row) << std::flush;
  json_ << json_line(row) << std::flush;
  if (!csv_ || !json_) return io_error("cannot write the logs in {}; check the disk space", directory_);
  return Ok{};
}

}  // namespace smartmig
