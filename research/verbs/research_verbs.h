// The verbs of smartmig-research, like those of smartmig in cli/verbs.h.
#pragma once
#include "cli/verbs.h"

namespace smartmig::cli {

int run_explain(const Arguments&);
int run_export_onnx(const Arguments&);  // export --onnx
int run_reproduce(const Arguments&);
int run_train(const Arguments&);
int run_tune(const Arguments&);

}  // namespace smartmig::cli
