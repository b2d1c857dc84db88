#include "slurm/site_check.h"

#include <algorithm>

#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

bool lists(const std::string& list, std::string_view word) {
  for (const std::string_view one : split(list, ','))
    if (lower(trim(one)) == word) return true;
  return false;
}

void check_config(const std::map<std::string, std::string>& config, std::vector<SiteFinding>& out) {
  const auto value = [&](const char* key) {
    const auto at = config.find(key);
    return at == config.end() ? std::string() : at->second;
  };
  const auto wants = [&](const char* key, const char* word, const char* why) {
    const std::string found = value(key);
    const bool good = lists(found, word);
    out.push_back({good, key, good ? found : fmt::format("is '{}': add {}, {}", found, word, why)});
  };
  wants("GresTypes", "mig", "units of the jobs");
  wants("JobSubmitPlugins", "lua", "hook that reads requests and holds jobs");
  wants("PrologFlags", "alloc", "otherwise srun's jobs start before the Prolog has checked their slice");
  for (const char* script : {"Prolog", "TaskProlog", "Epilog"}) {
    // Later versions list several, as Prolog[0].
    std::string found = value(script);
    if (found.empty()) found = value((std::string(script) + "[0]").c_str());
    const bool good = !found.empty() && found != "(null)";
    out.push_back({good, script, good ? found : fmt::format("is not set: deploy/slurm has one")});
  }
  const std::string scheduler = lower(value("SchedulerParameters"));
  out.push_back({true, "SchedulerParameters",
                 scheduler.find("batch_sched_delay=") != std::string::npos
                     ? value("SchedulerParameters")
                     : "has no batch_sched_delay, so a released job waits up to 3 s; with batch_sched_delay=0 "
                       "it waits 1 s"});
  const std::string accounts = value("AccountingStorageType");
  out.push_back(
      {true, "AccountingStorageType",
       accounts.ends_with("slurmdbd") ? accounts : fmt::format("is '{}': joules of jobs are not kept", accounts)});
}

SiteFinding check_node(const SlurmNode& node, const Result<Json>* status) {
  SiteFinding out{false, "node " + node.name, ""};
  const auto bad = [&](std::string words) {
    out.words = std::move(words);
    return out;
  };
  if (node.units == 0)
    return bad("has no gres mig: add Gres=mig:N in slurm.conf and gres.conf (smartmig slurm config)");
  if (!status) return bad("its agent was not asked");
  if (!*status) return bad(fmt::format("its agent does not answer: {}", status->error().what));
  const auto boards = (*status)->find("boards");
  if (boards == (*status)->end() || !boards->is_array() || boards->empty()) return bad("its agent reports no GPU");
  int units = 0;
  for (const Json& board : *boards) {
    const std::string name = board.is_object() ? board.value("model", "") : "";
    const auto model = Catalog::builtin().find(name);
    if (!model) return bad("it has a GPU that is not in the catalogue of GPU models");
    if (const std::string trouble = board.value("trouble", ""); !trouble.empty()) return bad(trouble);
    units += (*model)->memory_slices();
  }
  if (units != node.units)
    return bad(fmt::format("reports mig:{} to Slurm, but its {} GPUs have {} memory slices; set mig:{}", node.units,
                           boards->size(), units, units));
  out.good = true;
  out.words = fmt::format("{} GPUs, mig:{}{}", boards->size(), units, node.up ? "" : ", but it is " + node.state);
  return out;
}

// Which device files a job may open: said, not judged, since a site may trust its users.
SiteFinding check_devices(const SiteFacts& facts) {
  std::string without, silent;
  for (const auto& [node, status] : facts.agents) {
    if (!status) silent += (silent.empty() ? "" : ", ") + node;
    if (status && !status->value("fence", false)) without += (without.empty() ? "" : ", ") + node;
  }
  if (!silent.empty())
    return {false, "device files", fmt::format("unknown, because the agents of {} do not answer", silent)};
  const bool constrained = constrains_devices(facts.config);
  if (!constrained && without.empty() && !facts.agents.empty())
    return {true, "device files", "agents close device files (--fence on) if they find Slurm's cgroups"};
  if (!constrained)
    return {true, "device files",
            "open: cgroup.conf does not have ConstrainDevices=yes. A job that sets "
            "CUDA_VISIBLE_DEVICES itself can use other jobs' slices"};
  if (!without.empty())
    return {false, "device files",
            fmt::format("ConstrainDevices=yes, but the agents of {} do not close device files; restart them "
                        "without --fence off",
                        without)};
  return {true, "device files", "a job can open only those of its own slice"};
}

}  // namespace

bool constrains_devices(const std::map<std::string, std::string>& config) {
  const auto at = config.find("ConstrainDevices");
  return at != config.end() && lower(at->second) == "yes";
}

std::map<std::string, std::string> parse_slurm_config(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == line.npos) continue;
    out[std::string(trim(line.substr(0, equals)))] = trim(line.substr(equals + 1));
  }
  return out;
}

std::vector<SiteFinding> check_site(const SiteFacts& facts) {
  std::vector<SiteFinding> out;
  out.push_back({true, "Slurm",
                 facts.version.starts_with("22.05.") || facts.version.starts_with("26.05.")
                     ? facts.version
                     : facts.version + "; smartmig was tested with 22.05 and 26.05"});
  check_config(facts.config, out);
  out.push_back(check_devices(facts));
  if (facts.nodes.empty()) out.push_back({false, "partition", "has no nodes"});
  const bool any_answers =
      std::any_of(facts.agents.begin(), facts.agents.end(), [](const auto& one) { return bool(one.second); });
  if (!any_answers)
    out.push_back({false, "agents", "none answers, so no job can get a slice; start `smartmig agent` on the nodes"});
  for (const SlurmNode& node : facts.nodes) {
    const auto status = facts.agents.find(node.name);
    out.push_back(check_node(node, status == facts.agents.end() ? nullptr : &status->second));
  }
  return out;
}

}  // namespace smartmig
