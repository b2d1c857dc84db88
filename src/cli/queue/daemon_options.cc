#include "cli/queue/daemon_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"

namespace smartmig::cli {

void DaemonOptions::declare(Command& cmd, bool with_json) {
  if (with_json) cmd.flag("--json", json, "print JSON");
  cmd.heading("Connection");
  cmd.option("--socket", socket, "PATH",
             "Unix socket of the daemon (default: your own daemon's, otherwise the system's)");
  cmd.option("--server", server, "URL",
             "daemon on another machine, such as https://host:port; set the token in SMARTMIG_TOKEN");
  cmd.option("--token-file", token_file, "FILE", "with --server: file that contains the token");
  cmd.option(
      "--cacert", cacert, "FILE",
      "with --server: certificate of the authority that signed the server certificate, if the system does not trust it");
  cmd.heading("");
}

Result<DaemonClient> DaemonOptions::connect() const {
  SMARTMIG_TRY(ClientTarget target, DaemonClient::target(socket, server, token_file, cacert));
  return DaemonClient::open(std::move(target));
}

std::string shown_text(const Json& value) {
  return value.is_string() ? printable(value.get_ref<const std::string&>()) : std::string();
}

std::string text_at(const Json& object, const char* key, std::string_view fallback) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? shown_text(*found) : std::string(fallback);
}

std::optional<double> number_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<double> job_joules(const Json& job) {
  const Json& energy = object_at(job, "energy");
  const auto joules = number_at(energy, "energy_j");
  return joules ? joules : number_at(energy, "joules_j");
}

std::uint64_t id_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

const Json& list_at(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? *found : empty;
}

const Json& object_at(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_object() ? *found : empty;
}

bool yes_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Result<std::vector<std::uint64_t>> read_ids(const std::vector<std::string>& words) {
  std::vector<std::uint64_t> ids;
  std::set<std::uint64_t> seen;
  for (const std::string& word : words) {
    const auto dash = word.find('-');
    const auto first = parse_int(word.substr(0, dash)),
               last = dash == word.npos ? first : parse_int(word.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first)
      return invalid("'{}' is not a job number; smartmig queue lists jobs", word);
    if (*last - *first >= 100'000) return invalid("'{}' names more than 100,000 jobs", word);
    for (auto id = std::uint64_t(*first); id <= std::uint64_t(*last); ++id)
      if (seen.insert(id).second) ids.push_back(id);
  }
  return ids;
}

bool is_final(const Json& job) {
  const std::string state = text_at(job, "state");
  return state == "done" || state == "failed" || state == "cancelled" || state == "timed_out";
}

Result<Json> all_jobs(DaemonClient& client, const std::string& query, std::size_t most) {
  Json all = Json::array();
  std::uint64_t after = 0;
  for (;;) {
    const std::size_t limit = std::min<std::size_t>(1000, most - all.size());
    SMARTMIG_TRY(const Json page, client.get(fmt::format("/v1/jobs?{}{}after={}&limit={}", query,
                                                         query.empty() ? "" : "&", after, limit)));
    const Json& jobs = list_at(page, "jobs");
    for (const Json& job : jobs) all.push_back(job);
    if (!yes_at(page, "more") || jobs.empty() || all.size() >= most) return all;
    const std::uint64_t next = id_at(jobs.back(), "id");
    if (next == after) return all;
    after = next;
  }
}

void print_json(const Json& json) { fmt::print("{}\n", json_dump(json)); }

}  // namespace smartmig::cli
