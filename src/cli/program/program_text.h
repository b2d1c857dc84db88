// The help of the whole program as data, for the manual page and shell completion. Each verb describes its own command
// line, so all three agree.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/verbs.h"

namespace smartmig::cli {

struct VerbText {
  std::string group, name, summary;
  Command::Description command;
  std::string family = {}, last_word = {};  // "mig" and "plan" of "mig plan"
};
std::vector<VerbText> describe_verbs();
std::vector<VerbText> describe_verbs_and_aliases();  // the aliases come last, without a group

std::string bash_completion(const std::vector<VerbText>& verbs);
std::string zsh_completion(const std::vector<VerbText>& verbs);
std::string fish_completion(const std::vector<VerbText>& verbs);
std::string manual_page(const std::vector<VerbText>& verbs, const std::string& version);  // roff, section 1

}  // namespace smartmig::cli
