#include "live/jobs/job_spec.h"

#include <algorithm>

#include "base/text.h"
#include "live/jobs/spec_reader.h"

namespace smartmig {
namespace {

// Of Linux: MAX_ARG_STRLEN with its zero byte, and a quarter of a stack of 8 MiB, less what the daemon adds itself.
constexpr std::size_t kLongestString = (128u << 10) - 1, kMostLaunched = (2u << 20) - (64u << 10);

}  // namespace

const char* name_of(MailEvent event) {
  static const char* const names[] = {"begin", "end", "fail", "requeue", "time_limit"};
  return names[int(event)];
}

std::size_t bytes_of_command(const JobSpec& spec) {
  std::size_t sum = 0;
  for (const std::string& argument : spec.command) sum += argument.size() + 1;
  return sum;
}

std::vector<std::string> shown_command(const std::vector<std::string>& command) {
  constexpr std::size_t kShown = 1024;
  std::size_t sum = 0;
  std::uint64_t hash = 0;
  for (const std::string& argument : command) sum += argument.size() + 1;
  if (sum <= kLongCommand) return command;
  std::vector<std::string> out;
  std::size_t left = kShown;
  for (const std::string& argument : command) {
    hash = hash * 0x100000001B3 ^ hash_text(argument);
    if (left == 0) continue;
    std::size_t part = std::min(left, argument.size());
    while (part > 1 && part < argument.size() && (static_cast<unsigned char>(argument[part]) & 0xC0) == 0x80) --part;
    out.push_back(argument.substr(0, part));
    left = part < argument.size() ? 0 : left - std::min(left, part + 1);
  }
  out.push_back(fmt::format("...({}_bytes_{:016x})", sum, hash));
  return out;
}

std::string launch_json(const JobSpec& spec) {
  const bool long_command = bytes_of_command(spec) > kLongCommand;
  if (spec.environment.empty() && spec.script.empty() && !long_command) return {};
  Json out = {{"environment", spec.environment}};
  if (long_command) out["command"] = spec.command;
  if (!spec.script.empty()) out["script"] = spec.script;
  return json_dump(out);
}

Result<Ok> take_launch(JobSpec& spec, std::string_view launch) {
  if (launch.empty()) return Ok{};
  SMARTMIG_TRY(const Json json, parse_json("the launch", launch));
  SMARTMIG_TRY(JsonObject object, JsonObject::open(json, "the launch", "", {"environment", "script", "command"}));
  SpecReader in(std::move(object), UnixTime{});
  spec.environment = in.texts("environment");
  if (in.has("command")) spec.command = in.texts("command");
  if (in.has("script")) spec.script = in.script("script");
  if (in.error) return *in.error;
  return Ok{};
}

Result<Ok> can_be_executed(const JobSpec& spec) {
  std::size_t sum = 0;
  for (const auto* list : {&spec.command, &spec.environment})
    for (const std::string& text : *list) {
      sum += text.size() + 1 + sizeof(char*);
      if (text.size() <= kLongestString) continue;
      if (list == &spec.command)
        return invalid("an argument has {} bytes, and the limit is {}; put it into a file", text.size(),
                       kLongestString);
      return invalid("the variable {} has {} bytes, and the limit is {}; unset it, or --export others",
                     text.substr(0, std::min<std::size_t>(60, text.find('='))), text.size(), kLongestString);
    }
  if (sum > kMostLaunched)
    return invalid("command and environment have {} bytes, and the limit is {}; --export fewer variables", sum,
                   kMostLaunched);
  return Ok{};
}

}  // namespace smartmig
