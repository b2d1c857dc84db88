// One policy against every baseline that a fair table needs: a thin front of compare.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/policy_flags.h"
#include "cli/verbs.h"
#include "policy/net/network_file.h"

namespace smartmig::cli {
namespace {

// A network is used with the placer and, where the command line names none, with the costs that it was trained with.
std::string with_its_placer(const std::string& path, Arguments& compare) {
  const auto file = load_policy_file(path);
  const auto names_cost = [](const std::string& word) { return word == "--cost" || word.starts_with("--cost="); };
  if (file && !file->cost.empty() && std::none_of(compare.begin(), compare.end(), names_cost))
    compare.insert(compare.end(), {"--cost", file->cost});
  return fmt::format("meanfield[{}]+{}", path, file && !file->placer.empty() ? file->placer : "cedf");
}

}  // namespace

int run_eval(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "-h" || arguments[0] == "--help" || arguments[0].starts_with("-")) {
    Command cmd(
        "eval", "POLICY|FILE|RUN_DIR [options of compare]",
        "Compares a policy on report days with none+edf, none+cedf, the paper's static layouts, the searched static partition and the searched twice-daily partition. FILE is a trained network. RUN_DIR is a directory of smartmig train; its best policy is used. A network is evaluated with the cost model it was trained for. --bound adds the gap to a proven bound. smartmig compare --help lists the options.",
        "smartmig eval planner --days 30 --bound");
    list_policies(cmd);
    if (const auto shown = cmd.parse({"--help"}); !shown) return usage_error(shown.error());
    return arguments.empty() ? 2 : arguments[0].starts_with("-h") || arguments[0] == "--help" ? 0 : 2;
  }
  std::string policy = arguments[0];
  std::error_code ignored;
  if (std::filesystem::is_directory(policy, ignored)) policy += "/best.policy";
  Arguments compare(arguments.begin() + 1, arguments.end());
  if (std::filesystem::exists(policy, ignored)) policy = with_its_placer(policy, compare);
  compare.insert(compare.begin(), {"--policies", "static+cedf,none+edf,none+cedf,search+cedf,twice+cedf," + policy});
  return run_compare(compare);
}

}  // namespace smartmig::cli
