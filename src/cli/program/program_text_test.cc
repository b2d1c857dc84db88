#include "cli/program/program_text.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(ProgramText, EveryVerbIsDescribedOnceAndEachTextNamesItsOptions) {
  const auto verbs = describe_verbs();
  EXPECT_GT(verbs.size(), 30u);
  const std::string bash = bash_completion(verbs), zsh = zsh_completion(verbs), fish = fish_completion(verbs),
                    man = manual_page(verbs, "1.2");
  for (const VerbText& verb : verbs) {
    EXPECT_FALSE(verb.command.summary.empty()) << verb.name;
    const bool elsewhere = verb.name == "tune" || verb.name == "explain" || verb.name == "reproduce";
    EXPECT_EQ(verb.command.example.empty(), elsewhere) << verb.name;  // smartmig-research describes its own
    EXPECT_TRUE(says(bash, "    " + verb.name + ") options=")) << verb.name;
    EXPECT_TRUE(says(fish, "-a " + verb.name + " ")) << verb.name;
    EXPECT_TRUE(says(zsh, "'" + verb.name + ":")) << verb.name;
    for (const auto& option : verb.command.options)
      EXPECT_TRUE(says(bash, option.name) && says(fish, "-l " + option.name.substr(2))) << option.name;
  }
  EXPECT_TRUE(says(man, ".SS submit"));
  EXPECT_TRUE(says(man, "\\-\\-min\\-slices"));
  for (const std::string_view line : split(man, '\n'))
    if (line.starts_with('\'')) ADD_FAILURE() << "a request by accident: " << line;
}

}  // namespace
}  // namespace smartmig::cli
