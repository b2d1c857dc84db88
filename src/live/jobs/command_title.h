// The name of a job without a given name: that of its script, if the first word is a program that runs scripts.
#pragma once
#include <string>
#include <vector>

namespace smartmig {

// "train.py" of python3 -u runs/train.py, "package.tool" of python -m package.tool, "sleep" of /bin/sleep 3.
std::string command_title(const std::vector<std::string>& command);

}  // namespace smartmig
