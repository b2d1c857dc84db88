#include "cli/queue/srun_call.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/queue/sbatch_options.h"

namespace smartmig::cli {
namespace {

// Of srun alone; those that sbatch has, too, stand in sbatch_options().
struct SrunOption {
  enum Value { kNone, kNeeded, kAfterEquals } value;  // kAfterEquals: "-K" or "--kill-on-bad-exit=1"
  const char* name;
  const char* alias;
  const char* refused = "";  // why; empty: it means nothing for one task
};

constexpr SrunOption kSrunOptions[] = {
    {SrunOption::kNeeded, "--accel-bind", ""},
    {SrunOption::kNeeded, "--bcast", "", "the files are already there; leave it out"},
    {SrunOption::kNeeded, "--cpu-bind", ""},
    {SrunOption::kNone, "--disable-status", "-X"},
    {SrunOption::kNeeded, "--epilog", ""},
    {SrunOption::kNone, "--exact", ""},
    {SrunOption::kNeeded, "--het-group", "", "a job has only one component"},
    {SrunOption::kAfterEquals, "--immediate", "-I"},
    {SrunOption::kNeeded, "--jobid", ""},
    {SrunOption::kAfterEquals, "--kill-on-bad-exit", "-K"},
    {SrunOption::kNone, "--label", "-l"},
    {SrunOption::kNeeded, "--mpi", ""},
    {SrunOption::kNeeded, "--msg-timeout", ""},
    {SrunOption::kNone, "--multi-prog", "", "a job has one task"},
    {SrunOption::kNone, "--overlap", ""},
    {SrunOption::kNone, "--preserve-env", "-E"},
    {SrunOption::kNeeded, "--prolog", ""},
    {SrunOption::kAfterEquals, "--pty", ""},
    {SrunOption::kNone, "--quit-on-interrupt", ""},
    {SrunOption::kNeeded, "--relative", "-r"},
    {SrunOption::kNeeded, "--task-epilog", ""},
    {SrunOption::kNeeded, "--task-prolog", ""},
    {SrunOption::kNeeded, "--threads", "-T"},
    {SrunOption::kNone, "--unbuffered", "-u"},
    {SrunOption::kNeeded, "--wait", "-W"},
    {SrunOption::kNone, "--whole", ""},
};

const SrunOption* find_srun_option(std::string_view name) {
  const auto at = std::find_if(std::begin(kSrunOptions), std::end(kSrunOptions), [&](const SrunOption& option) {
    return name == option.name || (*option.alias && name == option.alias);
  });
  return at == std::end(kSrunOptions) ? nullptr : at;
}

class SrunReader {
 public:
  explicit SrunReader(const std::vector<std::string>& words) : words_(words) {}

  Result<SrunCall> read() {
    while (next_ < words_.size() && words_[next_].starts_with('-') && words_[next_] != "-") {
      const std::string word = words_[next_++];
      if (word == "--") break;
      SMARTMIG_RETURN_IF_ERROR(option(word));
    }
    call_.command.assign(words_.begin() + std::ptrdiff_t(next_), words_.end());
    if (call_.command.empty()) return invalid("no command: srun [options] COMMAND [ARGUMENT...]");
    return std::move(call_);
  }

 private:
  Result<Ok> option(const std::string& word) {
    std::string name = word;
    std::optional<std::string> value;
    if (word.starts_with("--")) {
      if (const auto equals = word.find('='); equals != word.npos) {
        value = word.substr(equals + 1);
        name.resize(equals);
      }
    } else if (word.size() > 2) {
      value = word.substr(word[2] == '=' ? 3 : 2);
      name.resize(2);
    }
    if (const SrunOption* own = find_srun_option(name)) {
      if (own->value == SrunOption::kNeeded && !value) SMARTMIG_RETURN_IF_ERROR(take(name, value));
      if (*own->refused) return invalid("{} is not supported: {}", own->name, own->refused);
      const bool together = own->value == SrunOption::kNone && value && !word.starts_with("--");  // "-ul"
      return together ? option("-" + *value) : Ok{};
    }
    const SbatchOption* slurms = find_sbatch_option(name);
    if (!slurms) return invalid("{} is not an option of srun", name);
    if (slurms->takes_value && !value) SMARTMIG_RETURN_IF_ERROR(take(name, value));
    return apply(*slurms, value.value_or(""));
  }

  Result<Ok> take(const std::string& name, std::optional<std::string>& value) {
    if (next_ == words_.size()) return invalid("{} needs a value", name);
    value = words_[next_++];
    return Ok{};
  }

  Result<Ok> apply(const SbatchOption& option, const std::string& value) {
    const std::string_view name = option.name;
    // "all", "0" and "none" are of the one task: its files go where they go anyway.
    const std::string file = value == "all" || value == "0" || value == "none" ? "" : value;
    if (name == "--chdir")
      call_.directory = value;
    else if (name == "--output")
      call_.output = file;
    else if (name == "--error")
      call_.error = file;
    else if (name == "--input")
      call_.input = file;
    else if (name == "--export")
      call_.export_list = value == "ALL" ? "" : value;
    else if (name == "--open-mode")
      call_.append = value == "append";
    else if (name.starts_with("--container"))
      return invalid("{} is an option of smartmig submit: the whole job runs in the image", name);
    else if (name == "--ntasks" || name == "--nodes" || name == "--ntasks-per-node")
      return value == "1" || value == "1-1"
                 ? Result<Ok>(Ok{})
                 : invalid("{}={} is not supported: a job has one task; start more processes in the script", name,
                           value);
    else if (option.verdict == SbatchOption::kOnly && value != option.only)
      return invalid("{}={} is not supported: {}", name, value, option.words);
    return Ok{};  // else: the job has its size, time and place already
  }

  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  SrunCall call_;
};

}  // namespace

Result<SrunCall> parse_srun(const std::vector<std::string>& arguments) { return SrunReader(arguments).read(); }

std::string expand_srun_file(const std::string& pattern, const std::function<std::string(const char*)>& value) {
  static const std::pair<char, const char*> kVariables[] = {{'j', "SLURM_JOB_ID"},       {'J', "SLURM_JOB_ID"},
                                                            {'A', "SLURM_ARRAY_JOB_ID"}, {'a', "SLURM_ARRAY_TASK_ID"},
                                                            {'x', "SLURM_JOB_NAME"},     {'u', "USER"}};
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::size_t letter = i + 1;
    while (letter < pattern.size() && pattern[letter] >= '0' && pattern[letter] <= '9') ++letter;  // "%4j"
    const char next = pattern[i] == '%' && letter < pattern.size() ? pattern[letter] : '\0';
    const auto at =
        std::find_if(std::begin(kVariables), std::end(kVariables), [&](const auto& one) { return one.first == next; });
    if (at != std::end(kVariables)) {
      out += value(at->second);
    } else if (next == 't' || next == 'n' || next == 's') {
      out += '0';
    } else if (next == '%') {
      out += '%';
    } else {
      out += pattern[i];
      continue;
    }
    i = letter;
  }
  return out;
}

}  // namespace smartmig::cli
