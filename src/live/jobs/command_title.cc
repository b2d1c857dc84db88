#include "live/jobs/command_title.h"

#include <algorithm>
#include <string_view>

namespace smartmig {
namespace {

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool runs_scripts(std::string_view program) {
  static constexpr std::string_view kNames[] = {"bash", "sh",   "dash", "zsh",   "ksh",        "perl",
                                                "ruby", "node", "lua",  "julia", "Rscript",    "torchrun",
                                                "uv",   "php",  "pypy", "pypy3", "accelerate", "deepspeed"};
  if (program.starts_with("python"))
    return program.substr(6).find_first_not_of("0123456789.") == std::string_view::npos;
  return std::find(std::begin(kNames), std::end(kNames), program) != std::end(kNames);
}

bool is_script(std::string_view word) {
  static constexpr std::string_view kEndings[] = {".py",  ".sh", ".pl", ".rb", ".js", ".mjs",
                                                  ".lua", ".jl", ".R",  ".r",  ".php"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) {
    return word.size() > ending.size() && word.ends_with(ending) && word[0] != '-';
  });
}

}  // namespace

std::string command_title(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  const std::string_view program = last_part(command[0]);
  if (!runs_scripts(program)) return std::string(program);
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (word == "-c" || word == "-e") return std::string(program);  // the program stands in the command line
    if (word == "-m" && i + 1 < command.size()) return command[i + 1];
    if (is_script(word)) return std::string(last_part(word));
  }
  const bool plain = command.size() > 1 && !command[1].empty() && command[1][0] != '-';
  return std::string(plain ? last_part(command[1]) : program);
}

}  // namespace smartmig
