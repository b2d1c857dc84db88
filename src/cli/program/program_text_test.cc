#include "cli/program/program_text.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

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
    const bool elsewhere = verb.name == "lab train" || verb.name == "lab tune" || verb.name == "lab explain" ||
                           verb.name == "lab reproduce";
    EXPECT_EQ(verb.command.example.empty(), elsewhere) << verb.name;  // smartmig-research describes its own
    EXPECT_TRUE(says(bash, verb.last_word + ") options=")) << verb.name;
    EXPECT_TRUE(says(fish, "-a " + verb.last_word + " ")) << verb.name;
    EXPECT_TRUE(says(zsh, "'" + verb.last_word + ":")) << verb.name;
    for (const auto& option : verb.command.options)
      EXPECT_TRUE(says(bash, option.name) && says(fish, "-l " + option.name.substr(2))) << option.name;
  }
  EXPECT_TRUE(says(man, ".SS submit"));
  EXPECT_TRUE(says(man, "\\-\\-min\\-slices"));
  for (const std::string_view line : split(man, '\n'))
    if (line.starts_with('\'')) ADD_FAILURE() << "a request by accident: " << line;
}

// Of names that are a flag of one verb and take a value of another, these are known: the second stands for what it is.
TEST(ProgramText, AFlagMeansOneThingOverAllVerbs) {
  std::map<std::string, std::set<std::string>> long_names;           // of a short one
  std::map<std::string, std::map<bool, std::string>> verbs_by_sort;  // of a long one: flag or not, and a verb
  for (const VerbText& verb : describe_verbs())
    for (const auto& option : verb.command.options) {
      if (!option.alias.empty()) long_names[option.alias].insert(option.name);
      verbs_by_sort[option.name][option.is_flag] = verb.name;
    }
  EXPECT_GE(long_names.size(), 10u);
  for (const auto& [alias, names] : long_names)
    EXPECT_EQ(names.size(), 1u) << alias << " is " << *names.begin() << " and " << *names.rbegin();
  const std::set<std::string> known = {"--shadow"};  // serve: a policy; slurm: decides without acting
  for (const auto& [name, sorts] : verbs_by_sort)
    EXPECT_TRUE(sorts.size() == 1 || known.count(name))
        << name << " of " << sorts.begin()->second << " and of " << sorts.rbegin()->second;
}

TEST(ProgramText, SubjectsShareOneName) {
  for (const VerbText& verb : describe_verbs())
    for (const auto& option : verb.command.options) {
      EXPECT_FALSE(option.name == "--state" && option.value_name != "DIR") << verb.name;
      EXPECT_FALSE(option.name == "--jobs" || option.name == "--out" || option.name == "--output-file") << verb.name;
      EXPECT_FALSE(option.name == "--model" && option.value_name != "NAME|PATH") << verb.name;
      EXPECT_FALSE(option.name == "--for" && option.value_name != "USER") << verb.name;
      EXPECT_FALSE(option.name == "--gpu" && option.value_name != "MODEL") << verb.name;
    }
}

}  // namespace
}  // namespace smartmig::cli
