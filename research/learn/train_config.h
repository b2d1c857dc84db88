// Every setting of a training run, in the sections of its TOML file (docs/training.md). One table of fields serves
// reading, writing, checking and the dotted options of the command line ("--train.learning-rate 1e-4"), so they agree.
// The reader knows the subset of TOML that such a file needs: sections, comments, numbers, booleans, strings, and lists
// of whole numbers on one line.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/summary.h"

namespace smartmig {

struct TrainConfig {
  // [env]
  std::string workload = "paper:20x";            // a generator or a file; several, separated by ';', take turns
  std::string window = "1d";                     // of a file: length of the windows that serve as days
  std::string map, default_kind, missing_slack;  // of a file: as --map, --default-kind and --missing-slack
  std::string weights;                           // of a minute of ET in each workload, separated by ';'; empty: 1
  std::string gpus = "8xa100-40gb";
  std::string power = "auto";
  std::string cost = "paper";
  double reshape_s = -1;  // hardware costs: seconds per change of a GPU; below 0: the measured table
  std::string placer = "cedf";
  double a = kPaperA;
  std::string restart;  // none, table or seconds, as --restart of sim; empty: the workload's own
  double deadline_cut_s = 0;
  std::string initial = "1,1,2,3,3,5,5,10";
  std::int64_t first_seed = 1, last_seed = 99'999;
  double max_hours = 36;  // cuts an episode

  // [policy]
  std::string features = "paper";
  std::vector<std::int64_t> hidden = {64, 64};
  std::int64_t top_k = 3;
  std::string sampling = "sample";  // how the trained policy acts in use; training always samples
  bool foresight = false;
  double stay_bias = 0;  // initial bonus on the logit of keeping the layout

  // [imitate]
  std::string teacher;
  std::int64_t imitate_days = 0;
  std::int64_t imitate_rounds = 1;  // after the first, the learner drives and the teacher says what it would have done
  std::int64_t imitate_epochs = 10, imitate_minibatch = 512;
  double imitate_rate = 1e-3;
  double spread = 0.05;  // weight with which rows without GPUs learn the teacher's distribution

  // [train]
  std::string algorithm = "ppo";  // or "dqn": one GPU
  std::int64_t total_jobs = 5'000'000;
  std::int64_t num_envs = 64, num_steps = 128;
  std::int64_t minibatch = 2048, update_epochs = 4;
  double learning_rate = 3e-4;
  bool anneal_lr = true;
  double gamma = 0.995, gae_lambda = 0.95;
  double gamma_start = 0, lambda_start = 0;  // both grow from there over `ramp` of the run; 0: constant
  double ramp = 0.3;
  double clip_coef = 0.2, clip_value = 0.2;
  double ent_coef = 0.001, vf_coef = 0.5;
  double max_grad_norm = 0.5, target_kl = 0.03;
  bool norm_adv = true, norm_obs = true, norm_reward = true;
  std::int64_t norm_updates = 30;  // updates that adapt the normalisers, which then stay fixed
  std::int64_t critic_warmup = 0;  // initial updates that train only the critic
  std::int64_t seed = 1;

  // [dqn]: with train.algorithm = "dqn"
  std::int64_t memory = 262'144;    // controller calls kept
  std::int64_t n_step = 3;          // rewards summed before the value of the next state
  std::int64_t target_every = 500;  // gradient steps between copies of the network to the target network
  double epsilon_start = 1, epsilon_end = 0.02,
         epsilon_share = 0.3;  // share of random actions; falls over epsilon_share of the run

  // [eval]
  std::int64_t eval_days = 30, eval_first_seed = 100'000;
  std::int64_t eval_every = 10;  // updates
  std::string baseline = "search+cedf";

  bool operator==(const TrainConfig&) const = default;
};

struct ConfigField {
  std::string name;  // "train.learning_rate"
  std::string help;
  std::function<Result<Ok>(std::string_view)> set;  // takes a TOML value, or plain text for strings
  std::function<std::string()> get;                 // as a TOML value
};
std::vector<ConfigField> config_fields(TrainConfig& config);

Result<TrainConfig> parse_train_config(const std::string& name, std::string_view text);
std::string to_toml(const TrainConfig& config, bool with_help = false);
Result<Ok> check_train_config(const TrainConfig& config);  // checks ranges and consistency
// "train.learning-rate" or "train.learning_rate"; the error names the nearest field.
Result<Ok> set_field(TrainConfig& config, std::string_view dotted, std::string_view value);

}  // namespace smartmig
