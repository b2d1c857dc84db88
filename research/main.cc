// smartmig-research: the verbs for studies. `smartmig VERB` starts it (src/cli/program/research.cc).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/verbs.h"
#include "model/site_tables.h"
#include "research/verbs/research_verbs.h"

namespace smartmig::cli {
namespace {

constexpr Verb kVerbs[] = {{"explain", "", run_explain},
                           {"export", "", run_export_onnx},
                           {"reproduce", "", run_reproduce},
                           {"train", "", run_train},
                           {"tune", "", run_tune}};

int research_main(const Arguments& arguments) {
  const auto verb = arguments.empty() ? std::end(kVerbs)
                                      : std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                                     [&](const Verb& known) { return arguments[0] == known.name; });
  if (verb == std::end(kVerbs))
    return usage_error(
        invalid("smartmig-research has the verbs explain, export, reproduce, train and tune: smartmig tune --help"));
  if (const auto tables = check_site_tables(); !tables) return failure(tables.error());
  return verb->run(Arguments(arguments.begin() + 1, arguments.end()));
}

}  // namespace
}  // namespace smartmig::cli

int main(int argc, char** argv) { return smartmig::cli::research_main({argv + std::min(argc, 1), argv + argc}); }
