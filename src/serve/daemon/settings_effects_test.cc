// Every documented setting does something: for each key of docs/serve-config.md, what can be seen of a daemon differs
// between the default and another value. A key without a row here fails.
#include "support/settings_effects.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/file.h"
#include "queue/config/settings_file.h"
#include "queue/policies/policies.h"

namespace smartmig {
namespace {

using namespace settings_test;

// ---- jobs and limits

std::string record_of_a_job(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  const JobRecord& job = d.live(d.submit(0));
  return fmt::format("estimate {} grace {} mem {} priority {} patient {} exact {}", seconds(job.work.estimate),
                     seconds(*job.spec.grace), job.memory.mib, job.spec.priority, job.spec.patient.value_or(false),
                     job.spec.exact_memory.value_or(false));
}

std::string spread_of_a_told_time(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  return fmt::format("{:.3f}", d.live(d.submit(10)).work.spread);
}

std::string deadline_the_policy_sees(const Settings& s) {
  EmulatedDaemon d(s);
  d.submit(10), d.submit(10);
  const auto id = d.submit(10);
  d.daemon().step();
  const Belief& belief = d.daemon().state().session.belief();
  return fmt::format("{}", belief.table()->job(belief.row(id)).deadline.count());
}

// How many sizes of slices a plain job, one at a terminal and one that asked for "a GPU" may have.
std::string sizes_offered(const Settings& s) {
  EmulatedDaemon d(s);
  const QueueId ids[] = {d.submit(10), d.submit(10, [](JobSpec& spec) { spec.pty = true; }),
                         d.submit(10, [](JobSpec& spec) { spec.one_gpu = true; })};
  d.daemon().step();
  const Belief& belief = d.daemon().state().session.belief();
  std::string out;
  for (const QueueId id : ids) {
    const auto& work = belief.table()->job(belief.row(id)).work;
    out += fmt::format(" {}", std::count_if(work.begin(), work.end(), [](Time time) { return time >= Time{0}; }));
  }
  return out;
}

std::string accepted(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  int count = 0;
  for (int i = 0; i < 5; ++i) count += d.submit(1) != kNoId;
  return std::to_string(count);
}

std::string accepted_bytes(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().pause(true);
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  spec.environment.assign(20, "A=" + std::string(60'000, 'x'));
  std::vector<std::string> warnings;
  return d.daemon().jobs().submit({1001, 1001, false}, {spec}, warnings) ? "taken" : "refused";
}

std::string visible(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 40; ++i) d.submit(5);
  d.daemon().step();
  return std::to_string(d.daemon().state().session.belief().visible());
}

std::string most_running(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 7; ++i)
    d.submit(20, [](JobSpec& spec) {
      spec.mem_mib = 1000;
      spec.cpus = 2;
      spec.host_mem_mib = 2000;
    });
  int most = 0;
  d.run(60, [&] { most = std::max(most, d.running()); });
  return std::to_string(most);
}

// ---- who decides

std::string layouts_after_a_while(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 30; ++i) d.jump(from_seconds(1));  // fixed slices are made before the jobs come
  for (int i = 0; i < 6; ++i) d.submit(10);
  d.run(5);
  std::string out = d.daemon().policies().name();
  for (const auto& [id, job] : d.daemon().live_jobs())
    out += fmt::format(" {}:{}", job.place.gpu, to_string(job.place.slice));
  return out;
}

std::string start_of_a_lone_job(const Settings& s) {
  EmulatedDaemon d(s);
  const auto id = d.submit(10);
  d.run(60);
  return fmt::format("{}", unix_us(d.ended(id).times.first_started));
}

std::string start_of_a_wide_job(const Settings& s) {
  EmulatedDaemon d(s);
  const auto small = [&] { return d.submit(20, [](JobSpec& spec) { spec.mem_mib = 1000; }); };
  for (int i = 0; i < 7; ++i) small();
  const auto wide = d.submit(20, [](JobSpec& spec) { spec.min_slices = 4; });
  for (int i = 0; i < 60; ++i) small();
  d.run(60 * 24);
  return fmt::format("{}", unix_us(d.ended(wide).times.first_started));
}

std::string shadow_differences(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 12; ++i) d.submit(5 + i % 3);
  d.run(1e4);
  return d.daemon().counts().shadow_differences > 0 ? "some" : "none";
}

std::string fallbacks(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 4; ++i) d.submit(20, [](JobSpec& spec) { spec.min_slices = 4; });
  d.run(120);
  return d.daemon().counts().fallbacks > 0 ? "some" : "none";
}

std::string policy_made(const Settings& s) {
  Policies policies(s, std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value()),
                    {CostModel::kHardware, {}}, {});
  const auto made = policies.make();
  return made ? policies.name() : made.error().what;
}

std::string most_watts(const Settings& s) {
  EmulatedDaemon d(s);
  for (int i = 0; i < 12; ++i) d.submit(5);
  double most = 0;
  d.run(1e4, [&] {
    double watts = 0;
    for (const GpuState& gpu : d.daemon().cluster().gpus()) watts += gpu.watts;
    most = std::max(most, watts);
  });
  return fmt::format("{:.0f}", most);
}

std::string cost_of_a_late_job(const Settings& s) {
  EmulatedDaemon d(s);
  const auto id = d.submit(10, [&](JobSpec& spec) { spec.deadline = UnixTime{}; });
  d.run(1e4);
  d.jump(from_seconds(90));
  const auto cost = cost_of(d.ended(id), s.priced(), d.daemon().now(), {});
  return cost ? fmt::format("{:.6f}", *cost) : "none";
}

std::string next_sample(const Settings& s) {
  EmulatedDaemon d(s);
  d.daemon().step();
  return fmt::format("{}", (d.daemon().next_due() - d.daemon().now()).count());
}

const std::string kTcp = "tcp.listen = \"127.0.0.1:0\"\ntcp.token_file = \"TOKEN\"\n";
const std::string kPlain = kTcp + "tcp.tls = false\n";
const std::string kSmall = "policy = \"static+edf\"\nlayouts = \"1g+1g+1g+1g+1g+1g+1g\"\n";

Effects effects() {
  return {
      {"socket", {"socket = \"other\"", socket_name}},
      {"state_dir", {"state_dir = \"/dev/shm/smartmig-settings-test\"", state_dir_of}},
      {"driver", {"driver = \"emulate:2xa100-40gb\"", gpus_of}},
      {"policy", {"policy = \"none+edf\"", layouts_after_a_while}},
      {"layouts", {"layouts = \"4g+2g+1g\"", layouts_after_a_while, "policy = \"static+edf\"\n"}},
      {"weights", {"weights = \"/nowhere/weights.json\"", policy_made}},
      {"network", {"network = \"/nowhere/best.policy\"", policy_made, "policy = \"meanfield+cedf\"\n"}},
      {"shadow", {"shadow = \"none+edf\"", shadow_differences}},
      {"guard", {"guard = true", fallbacks, kSmall}},
      {"gather", {"gather = \"2s\"", start_of_a_lone_job}},
      {"mapping_dir", {"mapping_dir = \"mapped\"", mapped_jobs}},
      {"tables.speeds", {"tables.speeds = [\"/nowhere/speeds.csv\"]", how_it_opens}},
      {"tables.power_kinds", {"tables.power_kinds = [\"/nowhere/watts.csv\"]", how_it_opens}},
      {"overtaking.bound", {"overtaking.bound = 2", start_of_a_wide_job, kSmall}},
      {"overtaking.patience", {"overtaking.patience = \"1m\"", start_of_a_wide_job, kSmall}},
      {"power.model", {"power.model = \"linear:10:20:100\"", most_watts}},
      {"power.board_cap_w", {"power.board_cap_w = 150", most_watts}},
      {"power.fleet_cap_w", {"power.fleet_cap_w = 150", most_watts}},
      {"prices.energy_per_kwh", {"prices.energy_per_kwh = 0.3", cost_of_a_late_job}},
      {"prices.energy_by_hour", {"prices.energy_by_hour = \"0:0.3 12:0.4\"", cost_of_a_late_job}},
      {"prices.late_per_hour", {"prices.late_per_hour = 2", cost_of_a_late_job}},
      {"defaults.estimate", {"defaults.estimate = \"20m\"", record_of_a_job}},
      {"defaults.slack", {"defaults.slack = 50", deadline_the_policy_sees}},
      {"defaults.patient", {"defaults.patient = true", record_of_a_job}},
      {"defaults.exact_estimates", {"defaults.exact_estimates = true", spread_of_a_told_time}},
      {"defaults.exact_memory", {"defaults.exact_memory = true", record_of_a_job}},
      {"defaults.grace", {"defaults.grace = \"5s\"", record_of_a_job}},
      {"defaults.mem", {"defaults.mem = \"6G\"", record_of_a_job}},
      {"defaults.gpu_means", {"defaults.gpu_means = \"whole\"", sizes_offered}},
      {"defaults.max_slices", {"defaults.max_slices = 3", sizes_offered}},
      {"defaults.pty_max_slices", {"defaults.pty_max_slices = 2", sizes_offered}},
      {"defaults.pty_idle", {"defaults.pty_idle = \"20m\"", idle_of_a_terminal}},
      {"containers.runtime", {"containers.runtime = \"apptainer\"", runtime_of_a_container}},
      {"containers.new_privileges", {"containers.new_privileges = true", privileges_in_a_container}},
      {"ports.first", {"ports.first = 20500", ports_of_servers}},
      {"ports.last", {"ports.last = 1024", ports_of_servers, "ports.first = 1024\n"}},
      {"limits.user_slices", {"limits.user_slices = 2", most_running, "host.cpus = 64\nhost.mem = \"64G\"\n"}},
      {"limits.user_queued", {"limits.user_queued = 3", accepted}},
      {"limits.user_store", {"limits.user_store = 1", accepted_bytes}},
      {"limits.queue", {"limits.queue = 4", accepted}},
      {"limits.window", {"limits.window = 8", visible}},
      {"priorities", {"priorities.1001 = -7", record_of_a_job}},
      {"quota", {"quota.user.default.slices = 2", most_running, "host.cpus = 64\nhost.mem = \"64G\"\n"}},
      {"host.cpus", {"host.cpus = 4", most_running, "host.mem = \"64G\"\n"}},
      {"host.mem", {"host.mem = \"6G\"", most_running, "host.cpus = 64\n"}},
      {"prelaunch.all", {"prelaunch.all = true", started_ahead, "host.cpus = 64\nhost.mem = \"64G\"\n"}},
      {"prelaunch.jobs",
       {"prelaunch.jobs = 1", started_ahead, "prelaunch.all = true\nhost.cpus = 64\nhost.mem = \"64G\"\n"}},
      {"mps.overlap", {"mps.overlap = 3", sms_of_a_soft_slice}},
      {"mps.halves", {"mps.halves = false", soft_geometry}},
      {"energy.sample", {"energy.sample = \"7s\"", next_sample}},
      {"logs.max_mib", {"logs.max_mib = 1", log_bytes}},
      {"logs.keep_days", {"logs.keep_days = 50", kept, "jobs.keep_days = 60\n"}},
      {"journal.max_events", {"journal.max_events = 1000", kept, "journal.keep_days = 60\n"}},
      {"journal.keep_days", {"journal.keep_days = 50", kept}},
      {"jobs.max", {"jobs.max = 1", kept, "jobs.keep_days = 60\n"}},
      {"jobs.keep_days", {"jobs.keep_days = 50", kept}},
      {"tcp.listen", {"tcp.listen = \"127.0.0.1:0\"", tcp_answer, "tcp.token_file = \"TOKEN\"\ntcp.tls = false\n"}},
      {"tcp.token_file", {"tcp.token_file = \"OTHER\"", tcp_answer, "tcp.listen = \"127.0.0.1:0\"\ntcp.tls = false\n"}},
      {"tcp.certificate", {"tcp.certificate = \"/nowhere\"", tcp_answer, kTcp + "tcp.key = \"TOKEN\"\n"}},
      {"tcp.key", {"tcp.key = \"TOKEN\"", tcp_answer, kTcp + "tcp.certificate = \"/nowhere\"\n"}},
      {"tcp.tls", {"tcp.tls = false", tcp_answer, kTcp}},
      {"tcp.hosts", {"tcp.hosts = [\"gpu1.example.org\"]", tcp_answer, kPlain}},
      {"http.listen", {"http.listen = \"127.0.0.1:0\"", page_listening}},
      {"http.token_file", {"http.token_file = \"OTHER\"", page_listening, "http.listen = \"127.0.0.1:0\"\n"}},
      {"tcp.allowed_origins", {"tcp.allowed_origins = [\"https://a.example\"]", tcp_answer, kPlain}},
      {"hooks.on_finish", {"hooks.on_finish = \"set\"", hook_ran}},
      {"hooks.mail", {"hooks.mail = \"set\"", hook_ran}},
      {"hooks.slices", {"hooks.slices = \"set\"", slices_hook_ran}},
      {"oom.patterns", {"oom.patterns = [\"Speicher voll\"]", attempts_after_words}},
      {"oom.early", {"oom.early = \"off\"", early_restarts, "policy = \"migm-a\"\n"}},
  };
}

std::set<std::string> documented_keys() {
  std::filesystem::path root = std::filesystem::read_symlink("/proc/self/exe");  // in build/NAME of the checkout
  while (root.has_relative_path() && !std::filesystem::exists(root / "docs/serve-config.md")) root = root.parent_path();
  const std::string text = read_file((root / "docs/serve-config.md").string()).value();
  std::set<std::string> keys;
  const std::regex row("^\\|((?: `[a-z_.]+`,?)+) \\|"), name("`([a-z_.]+)`");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch cell;
    if (!std::regex_search(line, cell, row)) continue;
    const std::string cells = cell[1];
    for (std::sregex_iterator at(cells.begin(), cells.end(), name), end; at != end; ++at) keys.insert((*at)[1]);
  }
  return keys;
}

// What is wrong with a file that is wrong only as a whole (a token missing) is part of what is seen.
std::string seen_with(const Effect& effect, const std::string& lines) {
  const auto settings = parse_settings("f", lines);
  return settings ? effect.seen(*settings) : settings.error().what;
}

class DaemonProcessesSettings : public ::testing::TestWithParam<std::string> {};

TEST_P(DaemonProcessesSettings, HasAnEffect) {
  const Effects table = effects();
  ASSERT_TRUE(table.count(GetParam())) << "no row for the setting " << GetParam();
  const Effect& effect = table.at(GetParam());
  const std::string plain = seen_with(effect, effect.both), changed = seen_with(effect, effect.both + effect.changed);
  EXPECT_NE(plain, changed) << effect.changed;
}

INSTANTIATE_TEST_SUITE_P(Documented, DaemonProcessesSettings, ::testing::ValuesIn(documented_keys()),
                         [](const auto& info) { return std::regex_replace(info.param, std::regex("[.]"), "_"); });

TEST(Settings, TheDocumentNamesEveryFieldAndNoOther) {
  Settings settings;
  std::set<std::string> fields;
  for (const SettingField& field : setting_fields(settings)) fields.insert(field.key);
  EXPECT_EQ(documented_keys(), fields);
}

}  // namespace
}  // namespace smartmig
