// The meaning of `srun [OPTIONS] COMMAND` in a job of smartmig: one task, in the job's own process. Options for one
// task are honoured or have no effect; options that would start several tasks are refused.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

struct SrunCall {
  std::vector<std::string> command;
  std::string directory;             // empty: the present one
  std::string input, output, error;  // files; empty: the job's
  std::string export_list;           // as of --export; empty: everything
  bool append = false;               // to the files
};

Result<SrunCall> parse_srun(const std::vector<std::string>& arguments);
// "%j" job, "%A" array, "%a" task of it, "%t", "%n" and "%s" 0, "%x" name, "%u" user, "%%"; `value`: of a variable.
std::string expand_srun_file(const std::string& pattern, const std::function<std::string(const char*)>& value);

}  // namespace smartmig::cli
