// smartmig-demo: `smartmig demo` without the rest, which ./smartmig builds first on a new machine.
#include <algorithm>

#include "cli/verbs.h"

int main(int argc, char** argv) { return smartmig::cli::run_demo({argv + std::min(argc, 1), argv + argc}); }
