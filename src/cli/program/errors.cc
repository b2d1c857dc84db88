// smartmig errors: what the codes of failures mean and what to do, and every message of the program.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "cli/command.h"
#include "cli/program/messages.h"
#include "cli/queue/job_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

struct CodeWords {
  const char *code, *means, *to_do;
};
constexpr CodeWords kCodes[] = {
    {"invalid", "what was asked for cannot be done as it stands", "change the option, file or value that is named"},
    {"not_found", "a job, GPU, file or name does not exist", "look at the list that the message names"},
    {"busy", "somebody else uses it, or too much is asked for at once", "try again, or stop the one that is named"},
    {"no_permission", "this user may not do it", "ask the owner or an operator, or use a token that may"},
    {"unsupported", "this machine, driver or model cannot do it", "use what the message offers instead"},
    {"lost", "the daemon, the driver or a GPU does not answer", "look whether it runs; smartmig doctor helps"},
    {"timeout", "no answer within the time allowed", "try again; look at the daemon's log if it stays so"},
    {"io", "a file, disk or pipe failed", "look at the path and the reason that are named"},
};

bool contains(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         }) != text.end();
}

bool known(const std::string& code) {
  return std::any_of(std::begin(kCodes), std::end(kCodes), [&](const CodeWords& row) { return code == row.code; });
}

void print_codes(bool json) {
  if (json) {
    Json out = Json::array();
    for (const CodeWords& row : kCodes) out.push_back({{"code", row.code}, {"means", row.means}, {"to_do", row.to_do}});
    fmt::print("{}\n", json_dump(out));
    return;
  }
  Columns table({{"code"}, {"means"}, {"what to do"}});
  for (const CodeWords& row : kCodes) table.add({row.code, row.means, row.to_do});
  fmt::print(
      "{}\nThe code stands in the API's answers and with --json; the program ends with status 2 where the command\n"
      "line is wrong, else with 1. Every message: smartmig errors --list [WORD]\n",
      table.text());
}

void print_messages(const std::string& code, const std::string& word, bool json) {
  Json out = Json::array();
  std::size_t shown = 0;
  for (const Message& message : messages()) {
    if ((!code.empty() && code != message.code) || !contains(message.text, word)) continue;
    ++shown;
    if (json)
      out.push_back({{"code", message.code}, {"text", message.text}, {"file", message.file}});
    else
      fmt::print("{:13}  {}\n", message.code, message.text);
  }
  if (json)
    fmt::print("{}\n", json_dump(out));
  else
    fmt::print("{} of {} messages; {{}} stands for the object that is named\n", shown, messages().size());
}

}  // namespace

int run_errors(const Arguments& arguments) {
  bool list = false, json = false;
  std::string code, word;
  Command cmd("errors", "[WORD]",
              "What the codes of failures mean and what to do about them; with --list every message of the program, or "
              "those that contain WORD.",
              "smartmig errors --list token");
  cmd.flag("--list", list, "every message, with its code");
  cmd.option("--code", code, "CODE", "only those of this code");
  cmd.flag("--json", json, "print JSON");
  cmd.positional(word, false);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (!code.empty() && !known(code))
    return usage_error(invalid("--code {}: no such code; smartmig errors lists them", code));
  if (list || !code.empty() || !word.empty())
    print_messages(code, word, json);
  else
    print_codes(json);
  return 0;
}

}  // namespace smartmig::cli
