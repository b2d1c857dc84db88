#include "cli/queue/script_header.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/queue/sbatch_options.h"

namespace smartmig::cli {
namespace {

// Words with '...' and "..." (backslash inside double quotes); nothing where a quote does not end.
std::optional<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < text.size())
        word += text[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (inside) out.push_back(std::move(word));
      word.clear();
      inside = false;
    } else if (c == '#' && !inside) {
      break;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote) return std::nullopt;
  if (inside) out.push_back(std::move(word));
  return out;
}

class Lines {
 public:
  Lines(const std::string& name, ScriptHeader& out) : name_(name), out_(out) {}

  Result<Ok> options(std::string_view text, Dialect dialect, int line) {
    const auto words = words_of(text);
    if (!words) return invalid("{} line {}: unterminated quote", name_, line);
    for (std::size_t i = 0; i < words->size();) SMARTMIG_RETURN_IF_ERROR(one(*words, i, dialect, line));
    return Ok{};
  }

 private:
  Result<Ok> one(const std::vector<std::string>& words, std::size_t& i, Dialect dialect, int line) {
    std::string_view word = words[i++];
    const char* directive = dialect == Dialect::kSbatch ? "#SBATCH" : "#SMARTMIG";
    if (!word.starts_with('-') || word.size() < 2)
      return invalid("{} line {}: {} '{}' is not an option; options start with -", name_, line, directive, word);
    std::optional<std::string_view> value;
    if (word.starts_with("--")) {
      if (const auto equals = word.find('='); equals != word.npos) {
        value = word.substr(equals + 1);
        word = word.substr(0, equals);
      }
    } else if (word.size() > 2) {  // "-c4", "-t=30"
      value = word.substr(word[2] == '=' ? 3 : 2);
      word = word.substr(0, 2);
    }
    const SubmitOption* option = find_submit_option(word);
    const SbatchOption* slurms = dialect == Dialect::kSbatch ? find_sbatch_option(word) : nullptr;
    if (slurms && slurms->verdict != SbatchOption::kHonoured) {
      if (slurms->takes_value && !value && i < words.size() && !words[i].starts_with('-')) value = words[i++];
      const auto note = read_sbatch_option(*slurms, value.value_or(""), "#SBATCH ");
      if (!note) return invalid("{} line {}: {}", name_, line, note.error().what);
      out_.warnings.push_back(fmt::format("{} line {}: {}", name_, line, *note));
      return Ok{};
    }
    if (!option) return unknown(word, dialect, line);
    if (!option->is_flag() && !value) {
      if (i == words.size())
        return invalid("{} line {}: {} {} needs a value: {}", name_, line, directive, word, option->value_name);
      value = words[i++];
    }
    (dialect == Dialect::kSbatch ? out_.sbatch : out_.smartmig).push_back({option, std::string(value.value_or("1"))});
    return Ok{};
  }

  Result<Ok> unknown(std::string_view word, Dialect dialect, int line) {
    std::vector<std::string> names;
    for (const SubmitOption& option : submit_options()) names.emplace_back(option.name);
    const bool slurm = dialect == Dialect::kSbatch;
    if (slurm)
      for (const SbatchOption& option : sbatch_options()) names.emplace_back(option.name);
    const std::string near = nearest(word, names);
    return invalid("{} line {}: {} {} is not an option of {}{}", name_, line, slurm ? "#SBATCH" : "#SMARTMIG", word,
                   slurm ? "sbatch nor of submit" : "submit", near.empty() ? "" : ", did you mean " + near + "?");
  }

  const std::string& name_;
  ScriptHeader& out_;
};

}  // namespace

Result<ScriptHeader> read_script_header(const std::string& name, std::string_view text) {
  ScriptHeader out;
  Lines lines(name, out);
  int number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (number == 1 && line.starts_with("#!")) {
      const std::string_view program = trim(line.substr(2));
      const auto space = std::min(program.find_first_of(" \t"), program.size());
      if (space > 0) out.interpreter.emplace_back(program.substr(0, space));
      if (const auto rest = trim(program.substr(space)); !rest.empty()) out.interpreter.emplace_back(rest);
      continue;
    }
    if (line.empty()) continue;
    if (!line.starts_with('#')) break;
    for (const auto& [directive, dialect] :
         {std::pair("#SBATCH", Dialect::kSbatch), std::pair("#SMARTMIG", Dialect::kSmartmig)}) {
      const std::size_t size = std::string_view(directive).size();
      if (line.starts_with(directive) && line.size() > size && (line[size] == ' ' || line[size] == '\t'))
        SMARTMIG_RETURN_IF_ERROR(lines.options(line.substr(size), dialect, number));
    }
  }
  return out;
}

}  // namespace smartmig::cli
