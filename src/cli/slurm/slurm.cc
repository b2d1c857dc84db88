// smartmig slurm serve|check|config: the controller of a Slurm cluster, whether the cluster is fit, what its
// configuration needs.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/http_doors.h"
#include "cli/policy_flags.h"
#include "cli/slurm/slurm_serve.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "model/platform.h"
#include "queue/config/settings_file.h"
#include "slurm/site_check.h"
#include "slurm/slurm_commands.h"
#include "slurm/slurm_names.h"
#include "slurm/units.h"

namespace smartmig::cli {
namespace {

int check_cluster(const SlurmOptions& options) {
  auto seal = open_munge(options.munge_socket);
  if (!seal) return failure(seal.error());
  WireAgents agents(std::shared_ptr<Seal>(std::move(*seal)));
  SlurmCommands slurm(options.partitions);
  SiteFacts facts;
  const auto version = slurm_version(), config = slurm_config_text();
  if (!version) return failure(version.error());
  if (!config) return failure(config.error());
  facts.version = *version;
  facts.config = parse_slurm_config(*config);
  if (const auto asked = addressed_nodes(slurm, agents, options); !asked) return failure(asked.error());
  auto nodes = slurm.nodes();
  if (!nodes) return failure(nodes.error());
  facts.nodes = std::move(*nodes);
  for (const SlurmNode& node : facts.nodes)
    if (node.units > 0) facts.agents.emplace(node.name, agents.ask(node.name, {{"op", "status"}}, Time(5'000'000)));
  bool good = true;
  Json list = Json::array();
  for (const SiteFinding& one : check_site(facts)) {
    good = good && one.good;
    if (!options.json) fmt::print("{:<5}{}: {}\n", one.good ? "ok" : "fix", one.what, one.words);
    list.push_back({{"good", one.good}, {"what", one.what}, {"words", one.words}});
  }
  if (options.json) fmt::print("{}\n", json_dump(Json{{"good", good}, {"findings", list}}, 2));
  return good ? 0 : 1;
}

int print_config(const SlurmOptions& options) {
  if (options.gpus.empty())
    return usage_error(invalid("give the GPUs of a node: smartmig slurm config --gpus 4xa100-40gb"));
  const auto platform = Platform::parse(options.gpus);
  if (!platform) return usage_error(platform.error());
  SlurmSite site;
  std::vector<std::shared_ptr<const GpuModel>> gpus;
  for (const Platform::Model& model : platform->models()) site.models.push_back(model.gpu);
  for (std::size_t g = 0; g < platform->gpus(); ++g) gpus.push_back(platform->model(GpuId(std::uint32_t(g))).gpu);
  site.partitions = options.partitions;
  if (const passwd* user = ::getpwnam(options.user.c_str())) site.operators.push_back(user->pw_uid);
  if (!options.slurm_version.empty())
    site.version = options.slurm_version;
  else if (const auto version = slurm_version())
    site.version = *version;
  const int units = units_of_gpus(gpus);
  if (options.part == "units") {
    fmt::print("{}", units_lua(site));
  } else if (options.part == "gres") {
    fmt::print("NodeName={} Name=mig Count={}\n", options.node_list, units);
  } else {
    fmt::print(
        "# In slurm.conf. The count is constant: memory slices of the node's GPUs, whatever "
        "their "
        "layout.\nGresTypes=mig\nJobSubmitPlugins=lua\nPrologFlags=Alloc\nSchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0\nProlog=/etc/slurm/smartmig/prolog.sh\nTaskProlog=/etc/slurm/smartmig/task_prolog.sh\nEpilog=/etc/slurm/smartmig/epilog.sh\nNodeName={} "
        "Gres=mig:{} # plus the node's other settings\n",
        options.node_list, units);
    for (const std::string& partition : options.partitions)
      fmt::print("PartitionName={} Nodes={}\n", partition, options.node_list);
  }
  return 0;
}

}  // namespace

int run_slurm(const Arguments& arguments) {
  std::string what, agents, partitions = "mig", config_file, policy, takeover = "30s", patience = "60s",
                            reshape = "60s";
  SlurmOptions options;
  options.state_dir = kControllerState;
  options.news = fmt::format("0.0.0.0:{}", kNewsPort);
  std::int64_t port = kAgentPort, resumes = 2, http_port = -1;
  bool http = false;
  Command command(
      "slurm", "serve|check|config",
      "serve   decides layouts and placements for the jobs of Slurm's partitions, and drives "
      "the agents\ncheck   checks Slurm's configuration, its nodes and the agents, and reports what to change\nconfig  prints what slurm.conf, gres.conf and the submit hook need for "
      "these GPUs",
      "smartmig slurm config --gpus 4xa100-40gb --part units > /etc/slurm/smartmig_units.lua");
  command.positional(what);
  command.option("--partitions", partitions, "LIST", "Slurm partitions whose jobs smartmig places");
  command.option("--config", config_file, "FILE", "serve: settings, as for smartmig serve");
  command.option("--policy", policy, "POLICY", "serve: policy, from the list below");
  command.option("--state", options.state_dir, "DIR", "serve: directory of the journal and the list of known nodes");
  command.option("--agent-port", port, "PORT", "serve, check: port on which the agents listen");
  command.option("--agents", agents, "LIST",
                 "serve, check: agents at other addresses, such as n1=10.0.0.7:7000,n2=...");
  command.option("--munge-socket", options.munge_socket, "PATH",
                 "serve, check: socket of munged (default: the system's)");
  command.flag("--standby", options.standby,
               "serve: wait, and take over when no other controller has answered for --takeover");
  command.flag("--shadow", options.shadow,
               "serve: only print decisions, assuming --gpus in every node; needs neither hooks nor agents");
  command.option("--takeover", takeover, "TIME", "serve: time without an answer after which a standby takes over");
  command.option("--start-patience", patience, "TIME",
                 "serve: take back a released job that does not start within this time");
  command.option(
      "--reshape-limit", reshape, "TIME",
      "serve: if an agent takes longer than this to create or remove a slice, its GPU gets no jobs until it has finished");
  command
      .option(
          "--resume-limit", resumes, "N",
          "serve: how often per hour to resume a node that Slurm drained because a Prolog or Epilog failed; 0: never")
      .also("--resume");
  command.flag("--http", http, "serve: also serve a read-only page and /metrics at http://127.0.0.1:7480/");
  command.option("--http-port", http_port, "PORT", "serve: --http on another port of 127.0.0.1; 0: any free port");
  command.option("--metrics", options.metrics, "FILE",
                 "serve: write Prometheus metrics every 10 s, for node_exporter's textfile collector");
  command.option("--news", options.news, "ADDRESS",
                 "serve: address for agents' reports of ended jobs; if empty, the controller asks the agents");
  command.flag("--json", options.json, "check: print JSON");
  command.option("--gpus", options.gpus, "GPUS", "config, serve --shadow: GPUs of a node, such as 4xa100-40gb");
  command.option("--nodes", options.node_list, "NAMES", "config: names of the nodes, as Slurm writes them");
  command.option("--part", options.part, "PART", "config: slurm, gres or units");
  command.option("--user", options.user, "USER", "config: user of the controller");
  command.option("--slurm-version", options.slurm_version, "VERSION", "config: version of Slurm (default: scontrol's)");
  list_policies(command);
  if (const auto end = command.ends(arguments)) return *end;
  for (const std::string_view one : split(partitions, ',')) {
    if (!is_slurm_name(trim(one))) return usage_error(invalid("--partitions: '{}' is not a partition name", one));
    options.partitions.emplace_back(trim(one));
  }
  for (const std::string_view one : split(agents, ',')) {
    if (one.empty()) continue;
    const auto equals = one.find('=');
    if (equals == one.npos) return usage_error(invalid("--agents: '{}' is not NODE=ADDRESS", one));
    options.agents.emplace(one.substr(0, equals), one.substr(equals + 1));
  }
  if (port < 1 || port > 65535) return usage_error(invalid("--agent-port must be 1 to 65535, not {}", port));
  options.agent_port = int(port);
  if (resumes < 0 || resumes > 60) return usage_error(invalid("--resume must be 0 to 60, not {}", resumes));
  options.resumes = int(resumes);
  const auto silence = read_duration(takeover, Time(1'000'000));
  if (!silence) return usage_error(silence.error());
  options.takeover = *silence;
  const auto start = read_duration(patience, Time(1'000'000));
  if (!start) return usage_error(start.error());
  options.start_patience = *start;
  const auto change = read_duration(reshape, Time(1'000'000));
  if (!change) return usage_error(change.error());
  options.reshape_limit = *change;
  if (what == "config") {
    if (options.part != "slurm" && options.part != "gres" && options.part != "units")
      return usage_error(invalid("--part must be slurm, gres or units, not '{}'", options.part));
    return print_config(options);
  }
  if (what == "check") return check_cluster(options);
  if (what != "serve") return usage_error(invalid("'{}' is not serve, check or config", what));
  if (!config_file.empty()) {
    auto settings = read_settings(config_file);
    if (!settings) return failure(settings.error());
    options.settings = std::move(*settings);
  }
  if (!policy.empty()) options.settings.policy.name = policy;
  if (const auto good = take_http_flags(options.settings, http, http_port); !good) return usage_error(good.error());
  if (const auto good = check_settings(options.settings); !good) return usage_error(good.error());
  if (!options.shadow) return serve_cluster(options);
  if (options.gpus.empty()) return usage_error(invalid("--shadow: give the GPUs of a node: --gpus 4xa100-40gb"));
  return watch_cluster(options);
}

}  // namespace smartmig::cli
