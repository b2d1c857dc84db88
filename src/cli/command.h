// The command line of one verb. One declaration serves for parsing, --help and completion. A value comes from the
// command line, otherwise from the environment if env() names a variable, otherwise from the default. No other variable
// is read, because jobs get variables that begin with SMARTMIG_, and a job may call smartmig.
// Conventions: "--name value" or "--name=value"; "--" ends the options; exit codes 0 ok, 1 failed, 2 usage.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

class Command {
 public:
  // `synopsis` shows the positional arguments: "[MODEL]". `example` is a line a reader can paste.
  Command(std::string verb, std::string synopsis, std::string summary, std::string example);

  Command& flag(std::string name, bool& target, std::string help);
  Command& option(std::string name, std::string& target, std::string value_name, std::string help);
  Command& option(std::string name, double& target, std::string value_name, std::string help);
  Command& option(std::string name, std::optional<double>& target, std::string value_name, std::string help);
  Command& option(std::string name, std::int64_t& target, std::string value_name, std::string help);
  // Called for each time the option is given, in order.
  using Setter = std::function<Result<Ok>(std::string_view)>;
  Command& option(std::string name, Setter set, std::string value_name, std::string help);
  Command& flag(std::string name, Setter set, std::string help);
  Command& positional(std::string& target, bool required = true);
  Command& positionals(std::vector<std::string>& target);
  // Options end at the first other argument or at "--"; all from there on is taken as it is. `dashed`: "--" was given.
  Command& command_line(std::vector<std::string>& target, bool& dashed);
  // Options declared from here on stand below this heading of --help; "" is "Options". A heading may come again.
  Command& heading(std::string title);
  // A short name for the option or flag declared last: cmd.option("--workload", ...).alias("-w").
  Command& alias(std::string short_name);
  // The variable that the option or flag declared last is read from; an empty one is not set. It must not be one that
  // jobs get (serve/attempts/job_launch.cc).
  Command& env(std::string variable);
  // Lines after the options of --help: what the values of an option can be.
  Command& notes(std::string text);
  Command& hidden();  // the option or flag declared last is understood, listed nowhere, and has no variable
  Command& also(std::string name);  // another name that is understood and not listed: "--job-name" for "--name"

  enum class Outcome { kRun, kHelpShown };
  Result<Outcome> parse(const std::vector<std::string>& arguments);  // prints the help for -h and --help
  // Parses. The exit code of a call that ends here: the help was printed, or the usage error. Nothing: the verb goes on.
  std::optional<int> ends(const std::vector<std::string>& arguments);
  std::string help() const;
  const std::string& verb() const { return verb_; }
  bool given(std::string_view name) const;  // after parse(): on the command line itself, not in the environment

  // What a command line is, as text: for the manual page and shell completion.
  struct OptionText {
    std::string name, alias, value_name, help, shown_default, heading;
    std::string variable;  // empty: none
    bool is_flag = false;
  };
  struct Description {
    std::string verb, synopsis, summary, example;
    std::vector<OptionText> options;
    bool options_first = false;  // they end where the synopsis begins
  };
  // While set, parse() adds the command's description there, reads nothing and reports kHelpShown. One thread.
  static void describe_into(std::vector<Description>* into);

 private:
  struct Option : OptionText {
    std::vector<std::string> also;
    Setter set;
    bool given = false, hidden = false;
  };
  void add(std::string name, std::string value_name, std::string help, std::string shown_default, bool is_flag,
           Setter set);
  std::vector<OptionText> listed() const;  // heading after heading
  Option* find(std::string_view name);     // a listed one before a hidden one
  std::string verb_, synopsis_, summary_, example_, notes_, heading_;
  std::vector<Option> options_;
  std::vector<std::pair<std::string*, bool>> positionals_;
  std::vector<std::string>* rest_ = nullptr;
  bool rest_is_command_ = false;
  bool* dashed_ = nullptr;
};

// The known word that was meant: nearest to `text`, or its beginning, or a word that `text` begins. Empty: none.
std::string near_miss(std::string_view text, const std::vector<std::string>& known);

}  // namespace smartmig::cli
