// Shared by all verbs that use the daemon: its address, --json, the selected jobs, and functions that read the API's
// JSON without trusting it (a missing or wrong value reads as the fallback). The API: docs/api.md.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/queue/http_client.h"

namespace smartmig::cli {

using Json = nlohmann::json;
using DaemonClient = HttpClient;

struct DaemonOptions {
  std::string socket, server, token_file, cacert;
  bool json = false;

  void declare(Command& cmd, bool with_json = true);
  Result<DaemonClient> connect() const;
};

std::string shown_text(const Json& value);  // of a string, as a terminal may show it (base/printable.h)
std::string text_at(const Json& object, const char* key, std::string_view fallback = "");
std::optional<double> number_at(const Json& object, const char* key);
std::optional<double> job_joules(const Json& job);           // also of what an older smartmig printed
std::uint64_t id_at(const Json& object, const char* key);    // 0: none
const Json& list_at(const Json& object, const char* key);    // an empty list where there is none
const Json& object_at(const Json& object, const char* key);  // an empty object where there is none
bool yes_at(const Json& object, const char* key);

// "12", "12-15"; each once, in order.
Result<std::vector<std::uint64_t>> read_ids(const std::vector<std::string>& words);

bool is_final(const Json& job);
// Every job that matches, page by page. `query` is "state=active&user=anna".
Result<Json> all_jobs(DaemonClient& client, const std::string& query, std::size_t most = 1'000'000);

void print_json(const Json& json);  // one line

}  // namespace smartmig::cli
