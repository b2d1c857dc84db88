#include "research/learn/train_config.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/text.h"

namespace smartmig {
namespace {

std::string without_underscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Result<std::string> unquoted(std::string_view text) {
  if (text.empty() || text.front() != '"') return std::string(text);
  std::string out;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && ++i == text.size()) break;
    out += text[i];
  }
  if (i + 1 != text.size()) return invalid("the string {} does not end with one quote", text);
  return out;
}

ConfigField field(std::string name, std::string help, std::string& target) {
  return {std::move(name), std::move(help),
          [&target](std::string_view text) -> Result<Ok> {
            SMARTMIG_TRY(target, unquoted(text));
            for (const char c : target)
              if (static_cast<unsigned char>(c) < 0x20) return invalid("a control character in a string");
            return Ok{};
          },
          [&target] { return in_quotes(target); }};
}

ConfigField field(std::string name, std::string help, double& target, double low, double high) {
  return {name, std::move(help),
          [&target, name, low, high](std::string_view text) -> Result<Ok> {
            const auto number = parse_double(without_underscores(text));
            if (!number || *number < low || *number > high)
              return invalid("{} must be a number from {} to {}, not '{}'", name, low, high, text);
            target = *number;
            return Ok{};
          },
          [&target] { return fmt::format("{}", target); }};
}

ConfigField field(std::string name, std::string help, std::int64_t& target, std::int64_t low, std::int64_t high) {
  return {name, std::move(help),
          [&target, name, low, high](std::string_view text) -> Result<Ok> {
            const auto number = parse_int(without_underscores(text));
            if (!number || *number < low || *number > high)
              return invalid("{} must be a whole number from {} to {}, not '{}'", name, low, high, text);
            target = *number;
            return Ok{};
          },
          [&target] { return fmt::format("{}", target); }};
}

ConfigField field(std::string name, std::string help, bool& target) {
  return {name, std::move(help),
          [&target, name](std::string_view text) -> Result<Ok> {
            if (text != "true" && text != "false") return invalid("{} must be true or false, not '{}'", name, text);
            target = text == "true";
            return Ok{};
          },
          [&target] { return std::string(target ? "true" : "false"); }};
}

ConfigField field(std::string name, std::string help, std::vector<std::int64_t>& target) {
  return {name, std::move(help),
          [&target, name](std::string_view text) -> Result<Ok> {
            if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
            std::vector<std::int64_t> values;
            for (const std::string_view item : split(text, ',')) {
              const auto number = parse_int(trim(item));
              if (!number || *number < 1 || *number > 1024)
                return invalid("{} must be a list of widths from 1 to 1024, for example [64, 64], not '{}'", name,
                               text);
              values.push_back(*number);
            }
            if (values.size() > 4) return invalid("{} has more than 4 layers", name);
            target = std::move(values);
            return Ok{};
          },
          [&target] { return fmt::format("[{}]", fmt::join(target, ", ")); }};
}

}  // namespace

std::vector<ConfigField> config_fields(TrainConfig& c) {
  constexpr std::int64_t kMany = 1'000'000'000'000;
  return {
      field("env.workload",
            "generator of the days, such as paper:20x, or a file; several, separated by ';', take "
            "turns",
            c.workload),
      field("env.window",
            "of a file: length of the windows that count as days; the first half of its time is for "
            "training",
            c.window),
      field("env.map", "of a file: column of each field, as for --map", c.map),
      field("env.default_kind", "of a file: kind of jobs with an unknown model, as for --default-kind", c.default_kind),
      field("env.missing_slack", "of a file: missing deadlines, as for --missing-slack", c.missing_slack),
      field("env.weights", "weight of a minute of ET in each workload, separated by ';'; empty: all equal", c.weights),
      field("env.gpus", "the fleet, of one GPU model", c.gpus),
      field("env.power", "power model, as for sim --power", c.power),
      field("env.cost", "paper or hardware", c.cost),
      field("env.reshape_s", "hardware costs: seconds per change of a GPU; below 0: the measured table", c.reshape_s,
            -1, 86400),
      field("env.placer", "placer in the loop", c.placer),
      field("env.a", "weight of a watt-minute against a minute of mean tardiness (8 GPUs, one day)", c.a, 0, 1),
      field("env.restart", "none, table or seconds, as for sim --restart; empty: the workload's own", c.restart),
      field("env.deadline_cut_s", "seconds to subtract from every deadline", c.deadline_cut_s, 0, 86400),
      field("env.initial", "layouts at time 0, repeated over the fleet", c.initial),
      field("env.first_seed", "first training day", c.first_seed, 1, 99'999),
      field("env.last_seed", "last training day; then the first again", c.last_seed, 1, 99'999),
      field("env.max_hours", "length at which an episode is cut and its value bootstrapped", c.max_hours, 1, 10'000),
      field("policy.features", "paper (SMART-MIG's 53 inputs), rich or hardware", c.features),
      field("policy.hidden", "widths of the tanh layers of actor and critic", c.hidden),
      field("policy.top_k", "number of entries of a row that can be drawn", c.top_k, 1, 128),
      field("policy.sampling", "drawing in use: sample, quota or greedy; training always samples", c.sampling),
      field("policy.foresight", "let the critic also see the work that will arrive (training only)", c.foresight),
      field("policy.stay_bias", "added to the logit of keeping the layout at the start", c.stay_bias, 0, 20),
      field("imitate.teacher", "policy to imitate before PPO; empty: none", c.teacher),
      field("imitate.days", "days that the teacher runs in each round", c.imitate_days, 0, 100'000),
      field("imitate.rounds", "number of rounds; after the first, the learner acts and the teacher gives the answers",
            c.imitate_rounds, 1, 100),
      field("imitate.epochs", "passes over the days of all rounds so far", c.imitate_epochs, 1, 1000),
      field("imitate.minibatch", "controller calls per gradient step while imitating", c.imitate_minibatch, 1,
            1'000'000),
      field("imitate.learning_rate", "learning rate of Adam while imitating", c.imitate_rate, 1e-9, 1),
      field("imitate.spread", "weight with which unused rows learn the teacher's distribution", c.spread, 0, 1),
      field("train.algorithm", "ppo, or dqn: one GPU", c.algorithm),
      field("train.total_jobs", "jobs of training; 0: imitation only", c.total_jobs, 0, kMany),
      field("train.num_envs", "days to simulate in parallel", c.num_envs, 1, 4096),
      field("train.num_steps", "controller calls per day and update", c.num_steps, 1, 65'536),
      field("train.minibatch", "controller calls per gradient step", c.minibatch, 1, 1'000'000),
      field("train.update_epochs", "passes over the batch", c.update_epochs, 1, 100),
      field("train.learning_rate", "of Adam", c.learning_rate, 1e-9, 1),
      field("train.anneal_lr", "let the learning rate fall linearly to 0 over the run", c.anneal_lr),
      field("train.gamma", "discount per controller call", c.gamma, 0, 1),
      field("train.gae_lambda", "lambda of generalised advantage estimation", c.gae_lambda, 0, 1),
      field("train.gamma_start", "discount at the start; 0: gamma from the start", c.gamma_start, 0, 1),
      field("train.lambda_start", "lambda at the start; 0: gae_lambda from the start", c.lambda_start, 0, 1),
      field("train.ramp", "share of the run over which both grow from their start", c.ramp, 0, 1),
      field("train.clip_coef", "clip range of the ratios", c.clip_coef, 1e-6, 10),
      field("train.clip_value", "clip range of the value; 0: no clipping", c.clip_value, 0, 1000),
      field("train.ent_coef", "weight of the entropy", c.ent_coef, 0, 10),
      field("train.vf_coef", "weight of the value loss", c.vf_coef, 0, 100),
      field("train.max_grad_norm", "norm to which the gradient is clipped; 0: no clipping", c.max_grad_norm, 0, 1e9),
      field("train.target_kl", "an update stops above 1.5 times this; 0: never", c.target_kl, 0, 100),
      field("train.norm_adv", "normalise advantages in each minibatch", c.norm_adv),
      field("train.norm_obs", "normalise inputs by running mean and deviation", c.norm_obs),
      field("train.norm_reward", "divide rewards by the running deviation of the return", c.norm_reward),
      field("train.norm_updates", "updates after which both normalisers are frozen", c.norm_updates, 0, 1'000'000),
      field("train.critic_warmup", "updates at the start that train only the critic", c.critic_warmup, 0, 1'000'000),
      field("train.seed", "seed of all random choices", c.seed, 0, kMany),
      field("dqn.memory", "controller calls kept to learn from", c.memory, 1, 10'000'000),
      field("dqn.n_step", "rewards summed before the value of the state that follows", c.n_step, 1, 1000),
      field("dqn.target_every", "gradient steps between copies of the network to its target", c.target_every, 1,
            1'000'000),
      field("dqn.epsilon_start", "share of random actions at the start", c.epsilon_start, 0, 1),
      field("dqn.epsilon_end", "share of random actions at the end", c.epsilon_end, 0, 1),
      field("dqn.epsilon_share", "part of the run over which that share falls", c.epsilon_share, 0, 1),
      field("eval.days", "validation days", c.eval_days, 0, 10'000),
      field("eval.first_seed", "first validation day", c.eval_first_seed, 100'000, 109'999),
      field("eval.every", "updates between evaluations", c.eval_every, 1, 1'000'000),
      field("eval.baseline", "policy that the evaluation is compared with", c.baseline),
  };
}

Result<Ok> set_field(TrainConfig& config, std::string_view dotted, std::string_view value) {
  std::string name(dotted);
  std::replace(name.begin(), name.end(), '-', '_');
  std::vector<std::string> names;
  for (const ConfigField& field : config_fields(config)) {
    if (field.name == name) return field.set(trim(value));
    names.push_back(field.name);
  }
  const std::string near = nearest(name, names);
  return invalid("unknown setting {}{}; smartmig train --gen-config lists all settings", name,
                 near.empty() ? "" : ", did you mean " + near + "?");
}

Result<TrainConfig> parse_train_config(const std::string& name, std::string_view text) {
  TrainConfig config;
  LineReader lines = LineReader::over(name, text);
  std::string section;
  std::set<std::string, std::less<>> given;
  for (;;) {
    SMARTMIG_TRY(const auto next, lines.next());
    if (!next) break;
    std::string_view line = *next;
    bool in_string = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) in_string = !in_string;
      if (line[i] == '#' && !in_string) {
        line = line.substr(0, i);
        break;
      }
    }
    line = trim(line);
    if (line.empty()) continue;
    if (line.front() == '[') {
      if (line.back() != ']') return invalid("{}:{}: a section is written [name]", name, lines.line());
      section = std::string(trim(line.substr(1, line.size() - 2)));
      continue;
    }
    const auto equals = line.find('=');
    if (equals == line.npos) return invalid("{}:{}: '{}' is not key = value", name, lines.line(), line);
    const std::string key = section + "." + std::string(trim(line.substr(0, equals)));
    if (!given.insert(key).second) return invalid("{}:{}: {} is given twice", name, lines.line(), key);
    if (const auto set = set_field(config, key, line.substr(equals + 1)); !set)
      return invalid("{}:{}: {}", name, lines.line(), set.error().what);
  }
  if (const auto good = check_train_config(config); !good) return invalid("{}: {}", name, good.error().what);
  return config;
}

Result<Ok> check_train_config(const TrainConfig& c) {
  if (c.last_seed < c.first_seed)
    return invalid("env.last_seed {} is before env.first_seed {}", c.last_seed, c.first_seed);
  if (c.eval_first_seed + c.eval_days > 110'000)
    return invalid("validation days end at seed 109999: eval.first_seed + eval.days is {}",
                   c.eval_first_seed + c.eval_days);
  if (c.num_envs * c.num_steps > 4'000'000)
    return invalid("train.num_envs * train.num_steps is {}: at most 4,000,000 calls per update",
                   c.num_envs * c.num_steps);
  if (c.algorithm != "ppo" && c.algorithm != "dqn")
    return invalid("train.algorithm must be ppo or dqn, not '{}'", c.algorithm);
  if (c.algorithm == "dqn" && c.memory / c.num_envs <= c.num_steps + c.n_step)
    return invalid("dqn.memory {} has no room for {} calls of each of {} environments and {} to look ahead", c.memory,
                   c.num_steps, c.num_envs, c.n_step);
  if (c.minibatch > c.num_envs * c.num_steps)
    return invalid("train.minibatch {} is larger than a batch of {} calls", c.minibatch, c.num_envs * c.num_steps);
  if (!c.teacher.empty() && c.imitate_days == 0) return invalid("imitate.teacher is given, but imitate.days is 0");
  if (c.teacher.empty() && c.imitate_days > 0) return invalid("imitate.days is given, but no imitate.teacher");
  return Ok{};
}

std::string to_toml(const TrainConfig& config, bool with_help) {
  TrainConfig copy = config;
  std::string out, section;
  for (const ConfigField& field : config_fields(copy)) {
    const auto dot = field.name.find('.');
    if (field.name.substr(0, dot) != section) {
      if (!section.empty()) out += "\n";
      section = field.name.substr(0, dot);
      out += fmt::format("[{}]\n", section);
    }
    const std::string line = fmt::format("{} = {}", field.name.substr(dot + 1), field.get());
    out += with_help ? fmt::format("{:<34} # {}\n", line, field.help) : line + "\n";
  }
  return out;
}

}  // namespace smartmig
