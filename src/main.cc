#include "cli/verbs.h"

int main(int argc, char** argv) { return smartmig::cli::main(argc, argv); }
