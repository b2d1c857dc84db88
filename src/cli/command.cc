#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace smartmig::cli {
namespace {

template <typename Number>
Command::Setter into_number(std::string name, Number& target) {
  return [&target, name = std::move(name)](std::string_view value) -> Result<Ok> {
    const auto number = parse_double(value);
    if (!number) return invalid("{} needs a finite number, not '{}'", name, value);
    target = *number;
    return Ok{};
  };
}

// A number below 0 that no caller gives stands for "as something else says", which the help tells.
template <typename Number>
std::string default_of(Number target) {
  return target < 0 ? "" : fmt::format("{}", target);
}

}  // namespace

Command::Command(std::string verb, std::string synopsis, std::string summary, std::string example)
    : verb_(std::move(verb)),
      synopsis_(std::move(synopsis)),
      summary_(std::move(summary)),
      example_(std::move(example)) {}

void Command::add(std::string name, std::string value_name, std::string help, std::string shown_default, bool is_flag,
                  Setter set) {
  Option& option = options_.emplace_back();
  option.name = std::move(name);
  option.value_name = std::move(value_name);
  option.help = std::move(help);
  option.shown_default = std::move(shown_default);
  option.is_flag = is_flag;
  option.set = std::move(set);
}

Command& Command::flag(std::string name, bool& target, std::string help) {
  add(std::move(name), "", std::move(help), "", true, [&target](std::string_view value) -> Result<Ok> {
    const std::string word = lower(value);
    target = !(word == "0" || word == "false" || word == "no" || word == "f");
    return Ok{};
  });
  return *this;
}

Command& Command::flag(std::string name, Setter set, std::string help) {
  add(std::move(name), "", std::move(help), "", true, std::move(set));
  return *this;
}

Command& Command::option(std::string name, Setter set, std::string value_name, std::string help) {
  add(std::move(name), std::move(value_name), std::move(help), "", false, std::move(set));
  return *this;
}

Command& Command::option(std::string name, std::string& target, std::string value_name, std::string help) {
  add(std::move(name), std::move(value_name), std::move(help), target, false,
      [&target](std::string_view value) -> Result<Ok> {
        target = std::string(value);
        return Ok{};
      });
  return *this;
}

Command& Command::option(std::string name, double& target, std::string value_name, std::string help) {
  add(name, std::move(value_name), std::move(help), default_of(target), false, into_number(name, target));
  return *this;
}

Command& Command::option(std::string name, std::optional<double>& target, std::string value_name, std::string help) {
  add(name, std::move(value_name), std::move(help), "", false, into_number(name, target));
  return *this;
}

Command& Command::option(std::string name, std::int64_t& target, std::string value_name, std::string help) {
  add(name, std::move(value_name), std::move(help), default_of(target), false,
      [&target, name](std::string_view value) -> Result<Ok> {
        const auto number = parse_int(value);
        if (!number) return invalid("{} needs a whole number, not '{}'", name, value);
        target = *number;
        return Ok{};
      });
  return *this;
}

Command& Command::positional(std::string& target, bool required) {
  positionals_.emplace_back(&target, required);
  return *this;
}

Command& Command::positionals(std::vector<std::string>& target) {
  rest_ = &target;
  return *this;
}

Command& Command::command_line(std::vector<std::string>& target, bool& dashed) {
  rest_ = &target;
  rest_is_command_ = true;
  dashed_ = &dashed;
  return *this;
}

Command& Command::notes(std::string text) {
  notes_ = std::move(text);
  return *this;
}

Command& Command::also(std::string name) {
  options_.back().also.push_back(std::move(name));
  return *this;
}

Command& Command::hidden() {
  options_.back().hidden = true;
  return *this;
}

Command& Command::env(std::string variable) {
  options_.back().variable = std::move(variable);
  return *this;
}

Command& Command::alias(std::string short_name) {
  options_.back().alias = std::move(short_name);
  return *this;
}

Command::Option* Command::find(std::string_view name) {
  Option* found = nullptr;
  for (Option& option : options_)
    if (option.name == name || (!option.alias.empty() && option.alias == name) ||
        std::find(option.also.begin(), option.also.end(), name) != option.also.end()) {
      if (!option.hidden) return &option;
      if (!found) found = &option;
    }
  return found;
}

namespace {
std::vector<Command::Description>* describing = nullptr;

bool is_boolean(std::string_view text) {  // as mig-parted reads a variable
  static constexpr std::string_view kWords[] = {"1", "t", "true", "0", "f", "false"};
  const std::string word = lower(text);
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}
}  // namespace

void Command::describe_into(std::vector<Description>* into) { describing = into; }

Result<Command::Outcome> Command::parse(const std::vector<std::string>& arguments) {
  if (describing) {
    Description& text =
        describing->emplace_back(Description{verb_, synopsis_, summary_, example_, {}, rest_is_command_});
    for (const Option& option : options_)
      if (!option.hidden) text.options.push_back(option);
    return Outcome::kHelpShown;
  }
  for (Option& option : options_) {
    const std::string& name = option.variable;
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (!value || !*value) continue;
    if (option.is_flag && !is_boolean(value))
      return invalid("{} is true or false, not '{}' (from the environment variable {})", option.name, value, name);
    if (auto set = option.set(value); !set)
      return invalid("{} (from the environment variable {})", set.error().what, name);
  }
  std::size_t filled = 0;
  bool options_over = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (!options_over && argument == "--") {
      options_over = true;
      if (dashed_) *dashed_ = true;
      continue;
    }
    if (options_over || argument.size() < 2 || argument[0] != '-') {
      if (rest_is_command_ && filled == positionals_.size()) options_over = true;
      if (filled < positionals_.size())
        *positionals_[filled++].first = std::string(argument);
      else if (rest_)
        rest_->emplace_back(argument);
      else
        return invalid("unexpected argument '{}'; see smartmig {} --help", argument, verb_);
      continue;
    }
    if (argument == "-h" || argument == "--help") {
      fmt::print("{}", help());
      return Outcome::kHelpShown;
    }
    std::string_view inline_value;
    bool has_value = false;
    if (const auto equals = argument.find('='); argument.starts_with("--") && equals != argument.npos) {
      inline_value = argument.substr(equals + 1);
      argument = argument.substr(0, equals);
      has_value = true;
    }
    Option* option = find(argument);
    if (!option && argument.size() > 2 && argument[1] != '-')  // "-c4"
      if (Option* attached = find(argument.substr(0, 2)); attached && !attached->is_flag) {
        option = attached;
        inline_value = argument.substr(2);
        has_value = true;
      }
    if (!option) {
      std::vector<std::string> names;
      for (const Option& known : options_) names.push_back(known.name);
      const std::string near = nearest(argument, names);
      return invalid("unknown option {}{}; see smartmig {} --help", argument,
                     near.empty() ? "" : ", did you mean " + near + "?", verb_);
    }
    option->given = true;
    if (option->is_flag && !has_value) {
      SMARTMIG_RETURN_IF_ERROR(option->set("1"));
      continue;
    }
    if (!has_value) {
      if (i + 1 == arguments.size())
        return invalid("{} needs a value: {} {}", option->name, option->name, option->value_name);
      inline_value = arguments[++i];
    }
    SMARTMIG_RETURN_IF_ERROR(option->set(inline_value));
  }
  if (filled < positionals_.size() && positionals_[filled].second)
    return invalid("an argument is missing: smartmig {} {}", verb_, synopsis_);
  return Outcome::kRun;
}

bool Command::given(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const Option& option) { return option.name == name && option.given; });
}

std::string Command::help() const {
  const char* options = options_.empty() ? "" : "[options]";
  const char* space = options_.empty() || synopsis_.empty() ? "" : " ";
  std::string out = fmt::format("smartmig {} {}{}{}\n\n{}\n", verb_, rest_is_command_ ? options : synopsis_, space,
                                rest_is_command_ ? synopsis_ : options, summary_);
  if (!options_.empty()) out += "\nOptions:\n";
  for (const Option& option : options_) {
    if (option.hidden) continue;
    std::string left = option.alias.empty() ? option.name : option.alias + ", " + option.name;
    if (!option.is_flag) left += " " + option.value_name;
    out += fmt::format("  {:<28} {}{}\n", left, option.help,
                       option.shown_default.empty() ? "" : fmt::format(" (default {})", option.shown_default));
  }
  if (!notes_.empty()) out += "\n" + notes_;
  if (!example_.empty()) out += fmt::format("\nExample:\n  {}\n", example_);
  return out;
}

}  // namespace smartmig::cli
