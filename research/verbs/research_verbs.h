// The verbs of smartmig-research, as cli/verbs.h has those of smartmig.
#pragma once
#include "cli/verbs.h"

namespace smartmig::cli {

int run_explain(const Arguments&);
int run_reproduce(const Arguments&);
int run_tune(const Arguments&);

}  // namespace smartmig::cli
