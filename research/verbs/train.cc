#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/simulate/run_options.h"
#include "research/learn/train_log.h"
#include "research/learn/training.h"
#include "research/verbs/research_verbs.h"

namespace smartmig::cli {
namespace {

using TrainClock = std::chrono::steady_clock;
namespace fs = std::filesystem;

double since(TrainClock::time_point begin) { return std::chrono::duration<double>(TrainClock::now() - begin).count(); }

constexpr const char* kShippedConfigs =
    "paper, rich, value, hardware, single-low, single-high, single-value, single-dqn";

struct TrainArguments {
  std::string config, resume, out, workload, window, algorithm;
  std::int64_t total_jobs = -1, num_envs = -1, seed = -1, threads = default_threads(), save_every = 10;
  bool gen_config = false, force = false, json = false;
  std::vector<std::pair<std::string, std::string>> dotted;
};

// "--train.learning-rate 1e-4" and "--train.learning-rate=1e-4" are settings of the config, not options.
Result<Arguments> take_dotted(const Arguments& arguments, std::vector<std::pair<std::string, std::string>>& dotted) {
  Arguments rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (!name.starts_with("--") || name.find('.') == name.npos) {
      rest.push_back(argument);
      continue;
    }
    if (equals == argument.npos && i + 1 == arguments.size()) return invalid("{} needs a value", name);
    dotted.emplace_back(name.substr(2), equals == argument.npos ? arguments[++i] : argument.substr(equals + 1));
  }
  return rest;
}

Result<TrainConfig> read_config(const std::string& name) {
  if (name.empty()) return TrainConfig{};
  const std::string shipped = "train/" + name + ".toml";
  for (const EmbeddedFile& file : embedded_files())
    if (shipped == file.name) return parse_train_config(shipped, file.text());
  const auto text = read_file(name);
  if (!text)
    return not_found("{}; --config takes a file or one of the shipped configurations: {}", text.error().what,
                     kShippedConfigs);
  return parse_train_config(name, *text);
}

Result<Ok> apply_arguments(const TrainArguments& a, TrainConfig& config) {
  for (const auto& [name, value] : a.dotted) SMARTMIG_RETURN_IF_ERROR(set_field(config, name, value));
  if (!a.workload.empty()) config.workload = a.workload;
  if (!a.algorithm.empty()) config.algorithm = a.algorithm;
  if (!a.window.empty()) config.window = a.window;
  if (a.total_jobs >= 0) config.total_jobs = a.total_jobs;
  if (a.num_envs >= 0) config.num_envs = a.num_envs;
  if (a.seed >= 0) config.seed = a.seed;
  return check_train_config(config);
}

std::string run_name(const TrainConfig& config) {
  std::string workload = config.workload;
  for (char& c : workload)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.')) c = '-';
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("runs/{}__{}__{}__{:%Y%m%d-%H%M%S}", workload, config.features, config.seed, fmt::gmtime(now));
}

std::string in_words(const EvalReport& e, const TrainConfig& config) {
  const double percent = e.baseline_et > 0 ? 100 / e.baseline_et : 0;
  return fmt::format("ET {:.4f} min ({:.3f} M Wmin, {:.3f} min), {:+.1f} ± {:.1f} % against {} ({:.4f}) on {} days",
                     e.et, e.energy_wmin / 1e6, e.tardiness_min, e.difference * percent, e.half_width * percent,
                     config.baseline, e.baseline_et, e.days);
}

class Display {  // one line that renews itself on a terminal, plain lines now and then otherwise
 public:
  void show(const std::string& text, bool keep) {
    if (terminal_)
      fmt::print(stderr, "\r\033[K{}{}", text, keep ? "\n" : "");
    else if (keep)
      fmt::print(stderr, "{}\n", text);
    std::fflush(stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO);
};

class Run {
 public:
  Run(TrainArguments arguments, std::unique_ptr<Training> trainer, std::string directory)
      : arguments_(std::move(arguments)), trainer_(std::move(trainer)), directory_(std::move(directory)) {}

  Result<Ok> go(bool fresh) {
    const TrainConfig& config = trainer_->config();
    begin_ = TrainClock::now();
    SMARTMIG_TRY(TrainLog log, TrainLog::open(directory_));
    if (fresh) {
      SMARTMIG_RETURN_IF_ERROR(trainer_->start([&](const LessonReport& r) {
        display_.show(
            fmt::format("imitate {} round {} epoch {}: cross entropy {:.4f}, value loss {:.4f}; days driven at "
                        "ET {:.4f} min",
                        config.teacher, r.round, r.epoch, r.cross_entropy, r.value_loss, r.teacher_et),
            r.epoch == config.imitate_epochs);
      }));
      imitate_s_ = since(begin_);
      SMARTMIG_RETURN_IF_ERROR(evaluate());
      if (eval_) display_.show("start: " + in_words(*eval_, config), true);
      SMARTMIG_RETURN_IF_ERROR(save("last.ckpt"));
    }
    const auto loop_begin = TrainClock::now();
    first_update_ = trainer_->updates_done();
    const double jobs_before = double(trainer_->jobs_done()), steps_before = double(trainer_->steps_done());
    while (!trainer_->finished()) {
      const auto report = trainer_->update();
      if (!report) return invalid("{} (kept: {}/last.ckpt)", report.error().what, directory_);
      simulation_s_ += report->simulation_s;
      inference_s_ += report->inference_s;
      update_s_ += report->update_s;
      last_ = *report;
      const bool due = report->update % std::uint64_t(config.eval_every) == 0 || trainer_->finished();
      eval_.reset();
      if (due) SMARTMIG_RETURN_IF_ERROR(evaluate());
      const double elapsed = since(loop_begin);
      SMARTMIG_RETURN_IF_ERROR(
          log.append(log_row(*report, eval_ ? &*eval_ : nullptr, elapsed, jobs_before, steps_before)));
      tell(*report, elapsed, steps_before);
      if (due || report->update % std::uint64_t(arguments_.save_every) == 0)
        SMARTMIG_RETURN_IF_ERROR(save("last.ckpt"));
    }
    SMARTMIG_RETURN_IF_ERROR(save("last.ckpt"));
    return Ok{};
  }

  Result<Ok> finish() {
    const TrainConfig& config = trainer_->config();
    const double total = since(begin_);
    if (!fs::exists(directory_ + "/best.policy"))
      SMARTMIG_RETURN_IF_ERROR(write_file(directory_ + "/best.policy", to_bytes(trainer_->policy())));
    const double share = 100 / std::max(1e-9, simulation_s_ + inference_s_ + update_s_ + eval_s_ + imitate_s_);
    const double loop = std::max(1e-9, simulation_s_ + inference_s_ + update_s_);
    const double calls = double(last_.update - std::min(last_.update, first_update_)) *
                         double(config.num_envs * config.num_steps);  // of this session
    const double agents = last_.env_steps > 0 ? double(last_.agent_steps) / double(last_.env_steps) : 0;
    if (arguments_.json) {
      const Json baseline_et = baseline_et_ > 0 ? Json(baseline_et_) : Json();
      const nlohmann::ordered_json out = {
          {"directory", directory_},      {"updates", last_.update},          {"jobs", last_.jobs},
          {"env_steps", last_.env_steps}, {"agent_steps", last_.agent_steps}, {"best_validation_et", trainer_->best_et},
          {"baseline", config.baseline},  {"baseline_et", baseline_et},       {"total_s", total},
          {"imitation_s", imitate_s_},    {"simulation_s", simulation_s_},    {"inference_s", inference_s_},
          {"update_s", update_s_},        {"evaluation_s", eval_s_}};
      fmt::print("{}\n", json_dump(out, 1));
      return Ok{};
    }
    fmt::print(
        "{} jobs, {} environment steps, {} agent steps in {:.1f} s; {:.0f} environment steps/s, {:.0f} agent steps/s\n",
        last_.jobs, last_.env_steps, last_.agent_steps, total, calls / loop, calls * agents / loop);
    fmt::print(
        "time: simulation {:.0f} %, inference {:.0f} %, update {:.0f} %, evaluation {:.0f} %, imitation {:.0f} %\n",
        simulation_s_ * share, inference_s_ * share, update_s_ * share, eval_s_ * share, imitate_s_ * share);
    if (trainer_->best_et >= 0) {
      const std::string against =  // not known where this session judged nothing: a finished run that is resumed
          baseline_et_ > 0
              ? fmt::format(", {:+.1f} % against {}", 100 * (trainer_->best_et / baseline_et_ - 1), config.baseline)
              : "";
      fmt::print(
          "best policy: {}/best.policy, validation ET {:.4f} min{}; use it with: smartmig sim --cost {} "
          "--policy 'meanfield+{}' --network {}/best.policy\n",
          directory_, trainer_->best_et, against, config.cost, config.placer, directory_);
    }
    return Ok{};
  }

 private:
  Result<Ok> evaluate() {
    if (trainer_->config().eval_days == 0) return Ok{};
    const auto begin = TrainClock::now();
    SMARTMIG_TRY(eval_, trainer_->evaluate(parse_sampling(trainer_->config().sampling).value()));
    eval_s_ += since(begin);
    baseline_et_ = eval_->baseline_et;
    if (trainer_->best_et < 0 || eval_->et < trainer_->best_et) {
      trainer_->best_et = eval_->et;
      SMARTMIG_RETURN_IF_ERROR(save("best.ckpt"));
      SMARTMIG_RETURN_IF_ERROR(write_file(directory_ + "/best.policy", to_bytes(trainer_->policy())));
    }
    return Ok{};
  }

  Result<Ok> save(const char* name) { return write_file(directory_ + "/" + name, trainer_->checkpoint()); }

  void tell(const UpdateReport& r, double elapsed, double steps_before) {
    const double speed = (double(r.env_steps) - steps_before) / std::max(1e-9, elapsed);
    const double left = elapsed / double(r.update - first_update_) * double(r.updates - r.update);
    std::string text =
        fmt::format("update {}/{}  {:.2f} M jobs  {:.0f} steps/s", r.update, r.updates, double(r.jobs) / 1e6, speed);
    if (r.episodic_return) text += fmt::format("  return {:.3f}", *r.episodic_return);
    if (trainer_->config().algorithm == "dqn")
      text += fmt::format("  epsilon {:.2f} td {:.4f} q {:.2f}", r.epsilon, r.loss.value, r.q_mean);
    else
      text += fmt::format("  kl {:.4f} ent {:.3f} ev {:.2f} clip {:.2f}", r.loss.kl, r.loss.entropy,
                          r.explained_variance, r.loss.clipped);
    if (eval_) text += "  " + in_words(*eval_, trainer_->config());
    text += fmt::format("  {:.0f} s left", left);
    display_.show(text, eval_.has_value());
  }

  TrainArguments arguments_;
  std::unique_ptr<Training> trainer_;
  std::string directory_;
  Display display_;
  TrainClock::time_point begin_ = TrainClock::now();
  std::optional<EvalReport> eval_;
  UpdateReport last_;
  std::uint64_t first_update_ = 0;
  double baseline_et_ = 0;
  double imitate_s_ = 0, simulation_s_ = 0, inference_s_ = 0, update_s_ = 0, eval_s_ = 0;
};

}  // namespace

int run_train(const Arguments& arguments) {
  TrainArguments a;
  Command command(
      "lab train", "",
      "Trains a mean-field controller with PPO, optionally after imitating a teacher, or a controller for one GPU with DQN. It keeps the controller with the best ET on validation days.\nEvery setting of the configuration is also an option, such as --train.learning-rate 1e-4. docs/training.md describes all settings.",
      "smartmig lab train --config rich --total-jobs 200000 --out runs/mine");
  command.option("--config", a.config, "FILE",
                 std::string("settings as TOML, or one of the shipped configurations: ") + kShippedConfigs);
  command
      .option("--workload", a.workload, "SPEC|FILE",
              "workload of the training days: a generator or a file (default: that of the configuration)")
      .alias("-w");
  command.option(
      "--window", a.window, "D",
      "for a file: length of the windows that are used as days, such as 14d or 6h; the second half is kept for eval");
  command.option("--algorithm", a.algorithm, "NAME", "ppo, or dqn for one GPU (default: that of the configuration)");
  command.option("--total-jobs", a.total_jobs, "N", "number of jobs to train on (default: that of the configuration)");
  command.option("--num-envs", a.num_envs, "E",
                 "number of days to simulate side by side (default: that of the configuration)");
  command.option("--seed", a.seed, "S", "seed of all random choices (default: that of the configuration)");
  command.option("--resume", a.resume, "DIR", "continue the run in DIR from its last.ckpt");
  command.option("--output", a.out, "DIR", "directory of the run (default: a new one below runs)")
      .alias("-o")
      .also("--out");
  command.option("--threads", a.threads, "N", "number of threads; it does not change the result")
      .alias("-j")
      .also("--jobs");
  command.option("--save-every", a.save_every, "N", "number of updates between checkpoints");
  command.flag("--gen-config", a.gen_config, "print the effective settings with explanations, and exit");
  command.flag("--force", a.force, "replace another run in the directory");
  command.flag("--json", a.json, "print one JSON object at the end");
  const auto rest = take_dotted(arguments, a.dotted);
  if (!rest) return usage_error(rest.error());
  if (const auto end = command.ends(*rest)) return *end;
  if (a.threads < 1 || a.threads > 256 || a.save_every < 1)
    return usage_error(invalid("-j must be 1 to 256, and --save-every at least 1"));

  if (!a.resume.empty()) {
    if (!a.config.empty() || !a.out.empty())
      return usage_error(invalid("--resume uses the run's own directory and config; leave out --config and --out"));
    const std::string path = a.resume + "/last.ckpt";
    const auto bytes = read_file(path);
    if (!bytes) return failure(bytes.error());
    auto trainer =
        Training::resume(path, *bytes, int(a.threads), [&](TrainConfig& config) { return apply_arguments(a, config); });
    if (!trainer) return failure(trainer.error());
    Run run(a, std::move(*trainer), a.resume);
    if (const auto done = run.go(false); !done) return failure(done.error());
    if (const auto done = run.finish(); !done) return failure(done.error());
    return 0;
  }

  auto config = read_config(a.config);
  if (!config) return failure(config.error());
  if (const auto good = apply_arguments(a, *config); !good) return usage_error(good.error());
  if (a.gen_config) {
    fmt::print("{}", to_toml(*config, true));
    return 0;
  }
  auto trainer = Training::make(*config, int(a.threads));
  if (!trainer) return is_workload_spec(config->workload) ? usage_error(trainer.error()) : failure(trainer.error());
  const std::string directory = a.out.empty() ? run_name(*config) : a.out;
  std::error_code failed;
  if (fs::exists(directory + "/last.ckpt", failed)) {
    if (!a.force)
      return usage_error(invalid("{} has a run; continue it with --resume {}, choose another --out, or add --force",
                                 directory, directory));
    for (const char* name : {"last.ckpt", "best.ckpt", "best.policy", "progress.csv", "progress.jsonl"})
      fs::remove(fs::path(directory) / name, failed);
  }
  fs::create_directories(directory, failed);
  if (const auto written = write_file(directory + "/config.toml", to_toml(*config)); !written)
    return failure(written.error());
  Run run(a, std::move(*trainer), directory);
  if (const auto done = run.go(true); !done) return failure(done.error());
  if (const auto done = run.finish(); !done) return failure(done.error());
  return 0;
}

}  // namespace smartmig::cli
