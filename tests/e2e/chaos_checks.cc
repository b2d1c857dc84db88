#include "chaos_checks.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "live/jobs/run_program.h"
#include "queue/config/places.h"
#include "report/journal.h"

namespace smartmig::chaos {
namespace {

constexpr double kTolerance = 1e-3;

// One text or number of the store; every row of the first column.
Result<std::vector<std::string>> query(const ChaosWorld& world, const std::string& sql) {
  sqlite3* db = nullptr;
  const std::string path = world.state() + "/" + kStoreFile;
  std::vector<std::string> out;
  int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(db, 5000);
    code = sqlite3_exec(
        db, sql.c_str(),
        [](void* to, int, char** values, char**) {
          static_cast<std::vector<std::string>*>(to)->push_back(values[0] ? values[0] : "");
          return 0;
        },
        &out, nullptr);
  }
  const std::string words = sqlite3_errmsg(db);
  sqlite3_close(db);
  if (code != SQLITE_OK) return io_error("{}: {}", path, words);
  return out;
}

double relative(double a, double b) {
  const double scale = std::max({std::abs(a), std::abs(b), 1e-9});
  return std::abs(a - b) / scale;
}

}  // namespace

Result<std::vector<Json>> all_jobs(const ChaosWorld& world) {
  std::vector<Json> out;
  for (std::uint64_t after = 0;;) {
    SMARTMIG_TRY(const Json page, call(world, "GET", fmt::format("/v1/jobs?state=final&limit=500&after={}", after)));
    for (const Json& job : page["jobs"]) out.push_back(job);
    if (!page["more"].get<bool>() || page["jobs"].empty()) return out;
    after = page["jobs"].back()["id"].get<std::uint64_t>();
  }
}

Complaints check_instances(const ChaosWorld& world) {
  Complaints out;
  const auto shown = call(world, "GET", "/v1/gpus");
  const auto real = world.control({"show", "--json"});
  if (!shown || !real) return {!shown ? shown.error().what : real.error().what};
  std::set<std::string> known, there;
  for (const Json& gpu : (*shown)["gpus"])
    for (const Json& slice : gpu["slices"]) known.insert(slice["device"].get<std::string>());
  const Json machine = Json::parse(*real, nullptr, false);
  for (const Json& gpu : machine["gpus"])
    for (const Json& instance : gpu["gpu_instances"]) {
      if (instance["compute_instances"].size() != 1)
        out.push_back(fmt::format("GPU {} has a GPU instance {} with {} compute instances", gpu["index"].dump(),
                                  instance["profile"].dump(), instance["compute_instances"].size()));
      for (const Json& compute : instance["compute_instances"]) there.insert(compute["uuid"].get<std::string>());
    }
  for (const std::string& uuid : there)
    if (!known.count(uuid)) out.push_back(fmt::format("instance {} exists and the daemon does not show it", uuid));
  for (const std::string& uuid : known)
    if (!there.count(uuid)) out.push_back(fmt::format("the daemon shows instance '{}', which does not exist", uuid));
  for (const Json& process : machine["processes"])
    out.push_back(fmt::format("a process is still registered: {}", process.dump()));
  return out;
}

Result<EnergyBase> energy_base(const ChaosWorld& world) {
  SMARTMIG_TRY(const auto rows, query(world, "SELECT value FROM named WHERE name='energy'"));
  if (rows.empty()) return not_found("no joule is stored yet");
  const Json state = Json::parse(rows[0], nullptr, false);
  EnergyBase base;
  for (const Json& board : state["boards"]) {
    if (!board["counter_j"].is_number()) continue;
    const Json& totals = board["totals_j"];
    base.boards[board["uuid"].get<std::string>()] = {
        board["counter_j"].get<double>(),
        totals["counter"].get<double>() + totals["power_integral"].get<double>() + totals["model"].get<double>()};
  }
  if (base.boards.size() != 4) return not_found("{} boards of 4 were read", base.boards.size());
  return base;
}

Complaints check_shown_energy(const ChaosWorld& world, const EnergyBase& base) {
  constexpr double kSinceLastSample = 200;  // joules: idle for some seconds
  Complaints out;
  const auto shown = call(world, "GET", "/v1/gpus");
  const auto real = world.control({"show", "--json"});
  if (!shown || !real) return {!shown ? shown.error().what : real.error().what};
  std::map<std::string, double> counters;
  const Json machine = Json::parse(*real, nullptr, false);
  for (const Json& gpu : machine["gpus"]) counters[gpu["uuid"].get<std::string>()] = gpu["energy_j"].get<double>();
  for (const Json& gpu : (*shown)["gpus"]) {
    const std::string uuid = gpu["uuid"].get<std::string>();
    const auto begin = base.boards.find(uuid);
    if (begin == base.boards.end() || !counters.count(uuid)) {
      out.push_back(fmt::format("board {} is not one of the machine's", uuid));
      continue;
    }
    const double counted = counters[uuid] - begin->second.first;
    const double booked = gpu["energy_j"].get<double>() - begin->second.second;
    if (std::abs(counted - booked) > kTolerance * counted + kSinceLastSample)
      out.push_back(fmt::format("board {}: {:.1f} J were used, {:.1f} J are shown", uuid, counted, booked));
  }
  return out;
}

Complaints check_energy(const ChaosWorld& world, const EnergyBase& base, Figures& figures) {
  Complaints out;
  const auto rows = query(world, "SELECT value FROM named WHERE name='energy'");
  const auto states = query(world, "SELECT state FROM jobs");
  const auto end = energy_base(world);
  if (!rows || rows->empty() || !states || !end) return {"the stored joules cannot be read"};
  const Json state = Json::parse((*rows)[0], nullptr, false);
  for (const Json& board : state["boards"]) {
    const std::string uuid = board["uuid"].get<std::string>();
    const Json& totals = board["totals_j"];
    const double parts =
        totals["jobs"].get<double>() + totals["idle"].get<double>() + totals["unattributed"].get<double>();
    figures.attributed_j += totals["jobs"].get<double>();
    figures.idle_j += totals["idle"].get<double>();
    figures.unattributed_j += totals["unattributed"].get<double>();
    const auto begin = base.boards.find(uuid);
    const auto last = end->boards.find(uuid);
    if (begin == base.boards.end() || last == end->boards.end()) {
      out.push_back(fmt::format("board {} was not read", uuid));
      continue;
    }
    const double counted = last->second.first - begin->second.first, booked = parts - begin->second.second;
    const double error = relative(counted, booked);
    figures.worst_board_error = std::max(figures.worst_board_error, error);
    if (error > kTolerance)
      out.push_back(fmt::format("board {}: its counter grew by {:.3f} J, jobs + idle + unattributed by {:.3f} J", uuid,
                                counted, booked));
  }
  double jobs = 0;
  for (const std::string& text : *states) jobs += Json::parse(text, nullptr, false)["joules"].get<double>();
  figures.jobs_error = relative(jobs, figures.attributed_j);
  if (figures.jobs_error > kTolerance)
    out.push_back(fmt::format("the jobs have {:.3f} J, the boards attributed {:.3f} J", jobs, figures.attributed_j));
  return out;
}

Complaints check_store(const ChaosWorld& world) {
  const auto whole = query(world, "PRAGMA integrity_check");
  if (!whole) return {whole.error().what};
  if (*whole != std::vector<std::string>{"ok"}) return {fmt::format("integrity_check: {}", fmt::join(*whole, "; "))};
  return {};
}

Complaints check_journal(const ChaosWorld& world, const std::string& journal, Figures& figures) {
  Complaints out;
  std::istringstream lines(journal);
  std::vector<std::string> runs;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"smartmig_journal\"") != line.npos) runs.emplace_back();
    if (!runs.empty()) runs.back() += line + "\n";
  }
  figures.journal_runs = int(runs.size());
  if (runs.empty()) return {"the journal has no header"};
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (const auto run = replay_journal(LineReader::over(fmt::format("run {} of the journal", i + 1), runs[i])); !run)
      out.push_back(run.error().what);
  const std::string path = world.root() + "/journal.jsonl";
  std::ofstream(path) << runs.back();
  ProgramRun replay;
  replay.arguments = {programs().smartmig, "replay", path};
  const auto done = run_program(replay);
  if (!done || done->status != 0) out.push_back("smartmig replay: " + (done ? done->output : done.error().what));
  return out;
}

}  // namespace smartmig::chaos
