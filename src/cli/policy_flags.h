// The flags for the parameters of policies (--layouts, --weights, --network) and the list of policies in --help. All
// verbs that take a policy use them. Both come from the table in policy/policy_table.h.
#pragma once
#include "cli/command.h"
#include "policy/policy_table.h"

namespace smartmig::cli {

inline void declare_policy_parameters(Command& command, PolicyOptions& options) {
  for (const PolicyParameter& parameter : policy_parameters())
    command.option(parameter.flag, options.*parameter.text, parameter.value_name, parameter.summary);
}
inline void list_policies(Command& command) { command.notes(policy_help()); }

}  // namespace smartmig::cli
