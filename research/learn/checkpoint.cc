// Trainer::checkpoint and resume: see docs/checkpoint.md for the sections.
#include "research/learn/trainer.h"

namespace smartmig {
namespace {

void put(std::string& bytes, RunningStats& stats) {
  append_doubles(bytes, {&stats.count(), 1});
  append_doubles(bytes, stats.means());
  append_doubles(bytes, stats.squares());
}
bool get(SectionReader& reader, RunningStats& stats) {
  return reader.doubles({&stats.count(), 1}) && reader.doubles(stats.means()) && reader.doubles(stats.squares());
}

}  // namespace

std::string Trainer::checkpoint() {
  std::vector<Section> sections = policy_sections(policy());
  sections.push_back({"conf", to_toml(config_)});
  std::string adam;
  append_u64(adam, learner_->adam_steps());
  append_floats(adam, learner_->adam_m());
  append_floats(adam, learner_->adam_v());
  sections.push_back({"adam", std::move(adam)});
  std::string norm;
  put(norm, seen_);
  put(norm, returns_);
  append_doubles(norm, running_return_);
  sections.push_back({"norm", std::move(norm)});
  std::string step;
  for (const std::uint64_t value : {update_, jobs_, env_steps_, days_used_}) append_u64(step, value);
  append_doubles(step, {&best_et, 1});
  sections.push_back({"step", std::move(step)});
  std::string envs;
  for (Env& env : collector_->envs()) {
    append_u64(envs, env.number());
    append_u64(envs, std::uint64_t(env.skipped().count()));
    append_u64(envs, env.actions().size());
  }
  for (Env& env : collector_->envs()) envs.append(env.actions().begin(), env.actions().end());
  sections.push_back({"envs", std::move(envs)});
  return to_container(sections);
}

Result<std::unique_ptr<Trainer>> Trainer::resume(const std::string& name, std::string_view checkpoint, int threads,
                                                 const std::function<Result<Ok>(TrainConfig&)>& change) {
  SMARTMIG_TRY(const auto sections, parse_container(name, checkpoint));
  const Section* conf = find_section(sections, "conf");
  if (!conf) return invalid("{} is a policy, not a checkpoint, so training cannot continue from it", name);
  SMARTMIG_TRY(TrainConfig config, parse_train_config(name, conf->bytes));
  if (config.algorithm != "ppo")
    return invalid("{} is from a run by {}, which cannot be resumed; start a new run", name, config.algorithm);
  if (change) SMARTMIG_RETURN_IF_ERROR(change(config));
  SMARTMIG_TRY(auto trainer, make(config, threads));
  SMARTMIG_RETURN_IF_ERROR(trainer->restore(name, sections));
  return trainer;
}

Result<Ok> Trainer::restore(const std::string& name, const std::vector<Section>& sections) {
  SMARTMIG_TRY(const PolicyFile file, policy_from_sections(name, sections));
  if (file.controllers.size() != 1 || file.controllers[0].network.size() != learner_->network().size())
    return invalid("{}: its network is not the one its config describes", name);
  learner_->network() = file.controllers[0].network;
  const auto section = [&](const char* tag) -> std::string_view {
    const Section* found = find_section(sections, tag);
    return found ? std::string_view(found->bytes) : std::string_view();
  };
  SectionReader adam(section("adam")), norm(section("norm")), step(section("step"));
  if (!adam.u64(learner_->adam_steps()) || !adam.floats(learner_->adam_m()) || !adam.floats(learner_->adam_v()) ||
      !adam.done())
    return invalid("{}: the state of its optimiser is missing or damaged", name);
  if (!get(norm, seen_) || !get(norm, returns_) || !norm.doubles(running_return_) || !norm.done())
    return invalid("{}: its normaliser is missing or damaged", name);
  for (std::uint64_t* value : {&update_, &jobs_, &env_steps_, &days_used_})
    if (!step.u64(*value)) return invalid("{}: its counters are missing", name);
  if (!step.doubles({&best_et, 1}) || !step.done()) return invalid("{}: its counters are damaged", name);
  if (updates_ == 0 || update_ > updates_)
    return invalid("{}: {} updates of {} are done, so nothing is left to train; raise --total-jobs", name, update_,
                   updates_);

  const std::string_view bytes = section("envs");
  const std::size_t envs = collector_->envs().size(), head = envs * 24;
  if (bytes.size() < head) return invalid("{}: it contains the days of fewer than {} environments", name, envs);
  SectionReader reader(bytes.substr(0, head));
  std::vector<std::uint64_t> number(envs), skip(envs), length(envs);
  std::size_t at = head;
  std::vector<std::size_t> first(envs);
  for (std::size_t e = 0; e < envs; ++e) {
    reader.u64(number[e]);
    reader.u64(skip[e]);
    reader.u64(length[e]);
    if (skip[e] > 86'400'000'000 || length[e] > bytes.size() - at)
      return invalid("{}: the day of environment {} is damaged", name, e);
    first[e] = at;
    at += length[e];
  }
  if (at != bytes.size()) return invalid("{}: actions after the last environment", name);
  std::vector<std::optional<Error>> errors(envs);
  pool_.run(envs, [&](std::size_t e, int) {
    const auto* actions = reinterpret_cast<const std::uint8_t*>(bytes.data()) + first[e];
    const auto done = collector_->replay(e, number[e], Time(std::int64_t(skip[e])), {actions, length[e]});
    if (!done) errors[e] = invalid("{}: {}", name, done.error().what);
  });
  for (const auto& error : errors)
    if (error) return *error;
  return Ok{};
}

}  // namespace smartmig
