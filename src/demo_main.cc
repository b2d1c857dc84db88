// smartmig-demo: `smartmig demo` without the rest, which ./smartmig builds first on a new machine.
#include <algorithm>

#include "cli/verbs.h"
#include "model/site_tables.h"

int main(int argc, char** argv) {
  using namespace smartmig;
  if (const auto tables = check_site_tables(); !tables) return cli::failure(tables.error());
  return cli::run_demo({argv + std::min(argc, 1), argv + argc});
}
