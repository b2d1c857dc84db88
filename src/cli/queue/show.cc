// smartmig show: one job, for people.
#include <fmt/format.h>

#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

class JobLines {
 public:
  explicit JobLines(double now) : now_(now) {}
  void add(const char* label, const std::string& words) {
    if (!words.empty() && words != "-") text_ += fmt::format("  {:<12} {}\n", label, words);
  }
  void at(const char* label, const Json& job, const char* key) {
    if (const auto instant = number_at(job, key)) add(label, when_words(*instant, now_));
  }
  const std::string& text() const { return text_; }

 private:
  double now_;
  std::string text_;
};

std::string command_words(const Json& job) {
  std::string out;
  for (const Json& word : list_at(job, "command")) {
    const std::string text = shown_text(word);
    const bool plain = !text.empty() && text.find_first_of(" \t\n'\"\\$`*?;&|<>()#") == text.npos;
    out += (out.empty() ? "" : " ") + (plain ? text : fmt::format("'{}'", text));
  }
  return cut(out, 300);
}

std::string dependency_words(const Json& spec) {
  std::string out;
  for (const Json& one : list_at(spec, "dependencies"))
    if (one.is_string()) out += (out.empty() ? "" : ", ") + shown_text(one);
  return out;
}

std::string size_words(const Json& job) {
  if (yes_at(job, "exclusive")) return "a whole GPU";
  if (const std::string profile = text_at(job, "profile"); !profile.empty()) return profile;
  const double least = number_at(job, "min_slices").value_or(1);
  const auto most = number_at(job, "max_slices");
  if (!most) return fmt::format("{:.0f} at least", least);
  return *most == least ? fmt::format("{:.0f}", least) : fmt::format("{:.0f} to {:.0f}", least, *most);
}

std::string container_words(const Json& spec) {
  const std::string image = text_at(spec, "container");
  if (image.empty()) return {};
  const std::string mounts = comma_list(list_at(spec, "container_mounts"));
  return fmt::format("{} by {}{}", image, text_at(spec, "container_runtime", "?"),
                     mounts.empty() ? "" : ", with " + mounts);
}

void add_asked(JobLines& lines, const Json& job, const Json& spec) {
  const auto cpus = number_at(spec, "cpus"), limit = number_at(spec, "time_limit_s");
  lines.add("memory", memory_words(job));
  lines.add("slices", size_words(job));
  const auto told = number_at(spec, "estimate_s");
  lines.add("estimate", estimate_words(job) + (told ? "; told: " + duration_words(*told) : ""));
  if (limit) lines.add("time limit", duration_words(*limit));
  if (cpus) lines.add("CPUs", fmt::format("{:g}", *cpus));
  if (const double priority = number_at(job, "priority").value_or(0); priority != 0)
    lines.add("priority", fmt::format("{:.0f}", priority));
  lines.add("kind", text_at(job, "kind"));
  lines.add("group", text_at(job, "group"));
  lines.add("reservation", text_at(job, "reservation"));
  lines.add("depends on", dependency_words(spec));
  lines.add("container", container_words(spec));
  if (const auto idle = number_at(spec, "idle_s"); idle && *idle > 0)
    lines.add("idle", fmt::format("ends after {} without using its GPU", duration_words(*idle)));
  if (yes_at(spec, "keep_alive"))
    lines.add("keep alive", fmt::format("restarted {:.0f} times", number_at(job, "restarts").value_or(0)));
  lines.add("url", text_at(job, "url"));
  lines.add("directory", text_at(spec, "directory"));
  lines.add("output", text_at(spec, "output"));
  lines.add("error", text_at(spec, "error"));
}

std::string shown_job(const Json& job, double now) {
  const Json& spec = object_at(job, "spec");
  JobLines lines(now);
  std::string state = yes_at(job, "suspended") ? "suspended" : text_at(job, "state", "?");
  if (const std::string ending = ending_words(job); !ending.empty()) state += ", " + ending;
  if (const std::string reason = text_at(job, "reason"); !reason.empty()) state += ", " + reason;
  lines.add("state", state);
  lines.add("user", text_at(job, "user"));
  lines.add("command", command_words(job));
  if (const auto array = number_at(job, "array_id"))
    lines.add("array", fmt::format("{:.0f}, task {:.0f}", *array, number_at(job, "array_index").value_or(0)));
  lines.at("submitted", job, "submitted_at");
  lines.at("begins", job, "begin_at");
  lines.at("started", job, "started_at");
  lines.at("ended", job, "ended_at");
  lines.at("expected end", job, "expected_finish_at");
  lines.add("deadline", deadline_words(job, now));
  lines.add("runs on", place_words(job));
  if (const int attempts = int(number_at(job, "attempt").value_or(0)); attempts > 1)
    lines.add("attempts",
              fmt::format("{}, stopped for others {:.0f} times, out of memory {:.0f} times", attempts,
                          number_at(job, "preemptions").value_or(0), number_at(job, "oom_restarts").value_or(0)));
  add_asked(lines, job, spec);
  if (const Json& energy = object_at(job, "energy"); number_at(job, "attempt").value_or(0) > 0)
    lines.add("energy", fmt::format("{} {}", energy_words(number_at(energy, "energy_j").value_or(0)),
                                    text_at(energy, "source", "attributed")));
  if (const auto cost = number_at(job, "cost")) lines.add("cost", cost_words(*cost));
  return fmt::format("job {} {}\n{}", id_at(job, "id"), job_title(job), lines.text());
}

}  // namespace

int run_show(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  Command cmd(
      "show", "JOB...",
      "Shows everything about a job: its request, its state and the resources it used. Only the owner and the operator can see the command and the request.",
      "smartmig show 12");
  options.declare(cmd);
  cmd.positionals(words);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto ids = read_ids(words);
  if (!ids) return usage_error(ids.error());
  if (ids->empty()) return usage_error(invalid("name a job: smartmig show JOB..."));
  auto client = options.connect();
  if (!client) return failure(client.error());
  Json jobs = Json::array();
  int code = 0;
  for (const std::uint64_t id : *ids) {
    auto job = client->get(fmt::format("/v1/jobs/{}", id));
    if (!job)
      code = failure(job.error());
    else if (options.json)
      jobs.push_back(std::move(*job));
    else
      fmt::print("{}", shown_job(*job, unix_seconds(unix_now())));
  }
  if (options.json) print_json({{"jobs", jobs}});
  return code;
}

}  // namespace smartmig::cli
