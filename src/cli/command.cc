#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "cli/failure.h"

namespace smartmig::cli {
namespace {

template <typename Number>
Command::Setter into_number(std::string name, Number& target) {
  return [&target, name = std::move(name)](std::string_view value) -> Result<Ok> {
    const auto number = parse_double(value);
    if (!number) return invalid("{} must be a finite number, not '{}'", name, value);
    target = *number;
    return Ok{};
  };
}

// A number below 0 that no caller gives stands for "as something else says", which the help tells.
template <typename Number>
std::string default_of(Number target) {
  return target < 0 ? "" : fmt::format("{}", target);
}

constexpr std::size_t kColumns = 120;
constexpr std::size_t kNotesColumn = 21;  // where policy_help() begins its sentences

// Breaks the lines of a text that are too long; the rest of such a line stands `indent` columns to the right.
std::string filled(std::string_view text, std::size_t indent, std::size_t column = 0) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!out.empty()) out += '\n', column = 0;
    std::size_t words = 0;
    for (const std::string_view word : split(line, ' ')) {
      if (words > 0 && column + 1 + word.size() > kColumns) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
      } else if (words > 0) {
        out += ' ', ++column;
      }
      out += word;
      column += word.size();
      ++words;
    }
  }
  return out;
}

std::string option_line(const Command::OptionText& option) {
  constexpr std::size_t kHelpColumn = 31;
  std::string left = option.alias.empty() ? option.name : option.alias + ", " + option.name;
  if (!option.is_flag) left += " " + option.value_name;
  std::string help = option.help;
  if (!option.shown_default.empty()) help += fmt::format(" (default {})", option.shown_default);
  const std::string text = filled(help, kHelpColumn, kHelpColumn);
  if (left.size() + 3 > kHelpColumn) return fmt::format("  {}\n{:{}}{}\n", left, "", kHelpColumn, text);
  return fmt::format("  {:<28} {}\n", left, text);
}

}  // namespace

std::string near_miss(std::string_view text, const std::vector<std::string>& known) {
  constexpr std::size_t kTyped = 3;  // letters that tell more than a distance does
  const std::size_t least = std::min(text.find_first_not_of('-'), text.size()) + kTyped;
  std::string longer, shorter;  // the shortest that begins with the text, the longest that the text begins with
  for (const std::string& word : known) {
    if (text.size() >= least && word.starts_with(text) && (longer.empty() || word.size() < longer.size()))
      longer = word;
    if (word.size() >= least && text.starts_with(word) && word.size() > shorter.size()) shorter = word;
  }
  return !longer.empty() ? longer : !shorter.empty() ? shorter : nearest(text, known);
}

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
  option.heading = heading_;
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
        if (!number) return invalid("{} must be a whole number, not '{}'", name, value);
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

Command& Command::heading(std::string title) {
  heading_ = std::move(title);
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

std::optional<int> Command::ends(const std::vector<std::string>& arguments) {
  const auto parsed = parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  return *parsed == Outcome::kHelpShown ? std::optional(0) : std::nullopt;
}

void Command::describe_into(std::vector<Description>* into) { describing = into; }

Result<Command::Outcome> Command::parse(const std::vector<std::string>& arguments) {
  if (describing) {
    Description& text =
        describing->emplace_back(Description{verb_, synopsis_, summary_, example_, {}, rest_is_command_});
    text.options = listed();
    return Outcome::kHelpShown;
  }
  if (const Option* json = find("--json"); json && json->is_flag && !json->hidden) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    errors_as_json(std::find(arguments.begin(), end, "--json") != end);
  }
  for (Option& option : options_) {
    const std::string& name = option.variable;
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (!value || !*value) continue;
    if (option.is_flag && !is_boolean(value))
      return invalid("{} must be true or false, not '{}' (from the environment variable {})", option.name, value, name);
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
      for (const Option& known : options_)
        if (!known.hidden) names.push_back(known.name);
      const std::string near = near_miss(argument, names);
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
      if (inline_value == "--help") {  // "--html --help" asks for help; a file of that name is --html=--help
        fmt::print("{}", help());
        return Outcome::kHelpShown;
      }
    }
    SMARTMIG_RETURN_IF_ERROR(option->set(inline_value));
  }
  if (filled < positionals_.size() && positionals_[filled].second)
    return invalid("an argument is missing: smartmig {} {}", verb_, synopsis_);
  if (find("--json")) errors_as_json(given("--json"));
  return Outcome::kRun;
}

bool Command::given(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const Option& option) { return option.name == name && option.given; });
}

std::vector<Command::OptionText> Command::listed() const {
  std::vector<std::string> headings;
  for (const Option& option : options_)
    if (!option.hidden && std::find(headings.begin(), headings.end(), option.heading) == headings.end())
      headings.push_back(option.heading);
  std::vector<OptionText> out;
  for (const std::string& heading : headings)
    for (const Option& option : options_)
      if (!option.hidden && option.heading == heading) out.push_back(option);
  return out;
}

std::string Command::help() const {
  std::string out = "smartmig " + verb_;
  const std::string options = options_.empty() ? "" : "[options]";
  for (const std::string& part : {rest_is_command_ ? options : synopsis_, rest_is_command_ ? synopsis_ : options})
    if (!part.empty()) out += " " + part;
  out += fmt::format("\n\n{}\n", filled(summary_, 0));
  std::optional<std::string> heading;
  for (const OptionText& option : listed()) {
    if (heading != option.heading) out += fmt::format("\n{}:\n", option.heading.empty() ? "Options" : option.heading);
    heading = option.heading;
    out += option_line(option);
  }
  if (!notes_.empty()) out += "\n" + filled(notes_, kNotesColumn);
  if (!example_.empty()) out += fmt::format("\nExample:\n  {}\n", example_);
  return out;
}

}  // namespace smartmig::cli
