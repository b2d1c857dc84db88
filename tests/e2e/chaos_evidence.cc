// The jobs' own evidence against what the daemon says of them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "chaos_checks.h"

namespace smartmig::chaos {
namespace {

struct Attempt {
  int starts = 0, ends = 0, saves = 0, code = -1;
  long long start_us = 0, end_us = -1;
  std::string slice;
};

struct Evidence {
  std::map<int, Attempt> attempts;
  int clean_ends = 0;  // with 0
};

Evidence read_evidence(const std::string& path, Complaints& out) {
  Evidence evidence;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string what, slice;
    int number = 0, code = 0;
    long long at = 0;
    if (!(words >> what >> number >> at >> slice >> code)) {
      out.push_back(fmt::format("{}: '{}' is no whole line", path, text));
      continue;
    }
    Attempt& attempt = evidence.attempts[number];
    if (what == "overlap") out.push_back(fmt::format("{}: attempt {} began while another one ran", path, number));
    if (what == "shared") out.push_back(fmt::format("{}: attempt {} found another job on {}", path, number, slice));
    if (what == "saved") {
      ++attempt.saves;
      attempt.end_us = at;
    }
    if (what == "start") {
      ++attempt.starts;
      attempt.start_us = at;
      attempt.slice = slice;
    }
    if (what == "end") {
      ++attempt.ends;
      attempt.end_us = at;
      attempt.code = code;
      evidence.clean_ends += code == 0;
    }
  }
  return evidence;
}

bool mentions(const Json& job, const char* words) {
  return job["reason"].get<std::string>().find(words) != std::string::npos;
}

// Why the reported state cannot be true; empty: it can.
std::string untrue(const Json& job, const Submission& asked, const Wishes& wishes, const Evidence& evidence) {
  const std::string state = job["state"];
  const int last = job["attempt"];
  const auto at = evidence.attempts.find(last);
  const Attempt attempt = at == evidence.attempts.end() ? Attempt{} : at->second;
  const int exit = job["exit_code"].is_null() ? -1 : job["exit_code"].get<int>();
  if (wishes.cancels_granted > 0 && !wishes.requeued_last && state != "cancelled" && wishes.requeues == 0)
    return "its cancellation was granted";
  if (state == "done") {
    if (attempt.starts != 1) return "its last attempt never began";
    const bool saved = asked.role == "checkpoint" && attempt.saves == 1;
    if (saved) return "its last attempt only saved its progress";
    if (attempt.ends != 1 || attempt.code != 0) return "its last attempt did not end with 0";
    if (asked.role == "fail" || asked.role == "hopeless" || asked.role == "timed") return "such a job cannot succeed";
    const bool again = wishes.requeues > 0 || (asked.role == "checkpoint" && job["preemptions"].get<int>() > 0);
    if (evidence.clean_ends != 1 && !again) return fmt::format("it ran to its end {} times", evidence.clean_ends);
    return {};
  }
  if (state == "cancelled") {
    if (wishes.cancels == 0 && !mentions(job, "dependency cannot be met")) return "nobody cancelled it";
    return {};
  }
  if (state == "timed_out") return asked.role == "timed" ? "" : "it has no time limit";
  if (state != "failed") return "it is not final";
  if (mentions(job, "with --requeue it would run again")) {  // a GPU failed
    if (asked.preemptible) return "it should have been requeued";
    if (attempt.code == 0) return "it ended with 0";
    return {};
  }
  // Its GPU was lost between the decision and the start: nothing of it ran, and the reason says so.
  if (attempt.starts == 0) return mentions(job, "cannot take the emulated slice") ? "" : "it never began";
  if (asked.role == "fail") return exit == 7 && attempt.code == 7 ? "" : "it should have ended with 7";
  if (asked.role == "oom" || asked.role == "hopeless")
    return exit > 0 && exit == attempt.code ? "" : "it ended otherwise";
  return "such a job cannot fail";
}

}  // namespace

Complaints check_jobs(const ChaosWorld& world, const Ledger& ledger, const std::vector<Json>& jobs, Figures& figures) {
  Complaints out;
  std::map<std::uint64_t, const Json*> by_id;
  std::map<std::string, std::vector<const Json*>> by_name;
  for (const Json& job : jobs) {
    if (!by_id.emplace(job["id"].get<std::uint64_t>(), &job).second)
      out.push_back(fmt::format("job {} is listed twice", job["id"].dump()));
    by_name[job["name"].get<std::string>()].push_back(&job);
  }
  std::map<std::string, Submission> asked;
  for (const Submission& submission : ledger.submissions()) {
    asked[submission.name] = submission;
    if (!submission.acknowledged) continue;
    for (const std::uint64_t id : submission.ids) {
      const auto at = by_id.find(id);
      if (at == by_id.end())
        out.push_back(fmt::format("job {} ({}) was accepted and is not there", id, submission.name));
      else if ((*at->second)["name"] != submission.name)
        out.push_back(fmt::format("job {} was {} and is {}", id, submission.name, (*at->second)["name"].dump()));
    }
    if (by_name[submission.name].size() != submission.ids.size())
      out.push_back(fmt::format("{} was accepted as {} jobs and is {}", submission.name, submission.ids.size(),
                                by_name[submission.name].size()));
  }
  const auto wishes = ledger.wishes();
  std::map<std::string, std::vector<std::pair<long long, long long>>> stays;  // by slice
  std::map<std::string, std::vector<std::string>> who;
  for (const Json& job : jobs) {
    const std::uint64_t id = job["id"];
    const std::string path = fmt::format("{}/job-{}.lines", world.evidence(), id);
    const Evidence evidence = read_evidence(path, out);
    const auto submission = asked.find(job["name"].get<std::string>());
    if (submission == asked.end()) {
      out.push_back(fmt::format("job {} was never submitted", id));
      continue;
    }
    const auto wished = wishes.find(id);
    const std::string wrong =
        untrue(job, submission->second, wished == wishes.end() ? Wishes{} : wished->second, evidence);
    if (!wrong.empty())
      out.push_back(fmt::format("job {} ({}) is reported as {} (exit {}, attempt {}, '{}'), but {}", id,
                                submission->second.role, job["state"].dump(), job["exit_code"].dump(),
                                job["attempt"].dump(), job["reason"].get<std::string>(), wrong));
    long long before = 0;
    for (const auto& [number, attempt] : evidence.attempts) {
      if (attempt.starts > 1 || attempt.ends > 1)
        out.push_back(fmt::format("job {}: attempt {} began {} times and ended {} times", id, number, attempt.starts,
                                  attempt.ends));
      if (number > job["attempt"].get<int>()) out.push_back(fmt::format("job {}: attempt {} is not known", id, number));
      if (attempt.starts > 0 && attempt.start_us < before)
        out.push_back(fmt::format("job {}: attempt {} began before the one before had ended", id, number));
      before = std::max({before, attempt.start_us, attempt.end_us});
      figures.runs += attempt.starts;
      const bool without_slice = attempt.slice.starts_with("MIG-00000000-");  // began ahead, and without CUDA
      figures.without_slice += without_slice;
      if (attempt.starts > 0 && attempt.end_us >= 0 && !without_slice)
        stays[attempt.slice].push_back({attempt.start_us, attempt.end_us});
    }
    ++figures.jobs;
    ++figures.states[job["state"].get<std::string>()];
    figures.attempts += job["attempt"].get<int>();
    figures.oom_restarts += job["oom_restarts"].get<int>();
    figures.preemptions += job["preemptions"].get<int>();
    figures.held += job["held_s"].get<double>() > 0;
    figures.unacknowledged_kept += !submission->second.acknowledged;
  }
  for (auto& [slice, list] : stays) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list[i].first < list[i - 1].second)
        out.push_back(
            fmt::format("two jobs were on {} at once, {} us long", slice, list[i - 1].second - list[i].first));
  }
  return out;
}

}  // namespace smartmig::chaos
