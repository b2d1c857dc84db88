// Which attempts are alive on which slice, by what is seen of them on the machine: supervisors, cgroups, tokens.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "live/jobs/cgroup.h"
#include "live/jobs/origin_file.h"
#include "live/jobs/process_runner.h"
#include "live/jobs/process_times.h"

namespace smartmig {

namespace {
namespace fs = std::filesystem;
}  // namespace

void ProcessRunner::note_place(const std::string& device, AttemptId id) {
  if (!device.empty()) placed_[device].emplace(id, std::nullopt);
}

std::optional<AttemptId> ProcessRunner::attempt_of_token(std::string_view token) const {
  const auto dot = token.find('.'), dash = token.find('-');
  if (dot == token.npos || dash == token.npos || dash < dot) return std::nullopt;
  const auto job = parse_int(token.substr(0, dot)), attempt = parse_int(token.substr(dot + 1, dash - dot - 1));
  if (!job || !attempt || *job <= 0 || *attempt <= 0) return std::nullopt;
  const AttemptId id{std::uint64_t(*job), int(*attempt)};
  const auto record = spool_.read_record(id);
  if (!record || record->is_void || record->token != token) return std::nullopt;  // of another daemon
  return id;
}

std::optional<AttemptId> ProcessRunner::attempt_of_process(int pid) const {
  return attempt_of_token(token_of_process(pid));
}

// What runs when a daemon comes up, whatever a store says: jobs by the token in their environment, supervisors by name.
void ProcessRunner::find_alive() {
  std::set<AttemptId> alive;
  for (const auto& [pid, token] : processes_with_tokens())
    if (const auto id = attempt_of_token(token); id && is_alive(pid)) alive.insert(*id);
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const auto pid = parse_int(at->path().filename().string());
    if (!pid || *pid <= 1) continue;
    const auto words = read_file(at->path().string() + "/cmdline");
    if (!words || !words->starts_with("smartmig-supervisor")) continue;
    const auto parts = split(*words, '\0');
    const auto job = parts.size() > 2 ? parse_int(parts[1]) : std::nullopt;
    const auto attempt = parts.size() > 2 ? parse_int(parts[2]) : std::nullopt;
    if (!job || !attempt || *job <= 0 || *attempt <= 0) continue;
    const AttemptId id{std::uint64_t(*job), int(*attempt)};
    if (const auto record = spool_.read_record(id); record && record->pid == int(*pid)) alive.insert(id);
  }
  for (const AttemptId id : alive)
    if (const auto origin = read_origin(spool_.directory(id))) note_place(origin->device, id);
  found_alive_.assign(alive.begin(), alive.end());
}

bool ProcessRunner::may_be_alive(AttemptId id, std::optional<AttemptRecord>& record) const {
  {
    const std::lock_guard lock(mutex_);
    if (watched_.count(id) > 0 || beginning_.count(id) > 0) return true;
  }
  if (!record) {
    auto read = spool_.read_record(id);
    if (!read) return read.error().code == Error::kIo;
    record = std::move(*read);
  }
  if (record->is_void || record->boot_id != this_boot()) return false;
  const auto ticks = start_ticks_of(record->pid);
  if (is_alive(record->pid) && (!ticks || *ticks == record->start_ticks)) return true;
  if (!record->cgroups.empty()) return anybody_in(record->cgroups);
  const auto all = processes_with_tokens();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& one) { return one.second == record->token && is_alive(one.first); });
}

std::vector<AttemptId> ProcessRunner::others_on(const std::string& device, AttemptId mine) {
  std::vector<AttemptId> gone, out;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(left_nothing_);
  }
  for (const AttemptId id : gone)
    for (auto& [slice, attempts] : placed_) attempts.erase(id);
  std::erase_if(placed_, [](const auto& one) { return one.second.empty(); });
  const auto placed = placed_.find(device);
  if (placed == placed_.end()) return out;
  for (auto at = placed->second.begin(); at != placed->second.end();) {
    if (at->first != mine && !may_be_alive(at->first, at->second)) {
      at = placed->second.erase(at);
      continue;
    }
    if (at->first != mine) out.push_back(at->first);
    ++at;
  }
  if (placed->second.empty()) placed_.erase(placed);
  return out;
}

std::map<AttemptId, Time> ProcessRunner::cpu_times(const std::vector<AttemptId>& attempts) const {
  std::map<AttemptId, int> supervisors;
  std::vector<int> roots;
  for (const AttemptId id : attempts)
    if (const auto record = spool_.read_record(id); record && !record->is_void) {
      supervisors[id] = record->pid;
      roots.push_back(record->pid);
    }
  const auto times = cpu_of_trees(roots);
  std::map<AttemptId, Time> out;
  for (const auto& [id, pid] : supervisors)
    if (const auto at = times.find(pid); at != times.end()) out[id] = at->second;
  return out;
}

}  // namespace smartmig
