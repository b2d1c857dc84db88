// smartmig completion: scripts for bash, zsh and fish.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/program/program_text.h"

namespace smartmig::cli {
namespace {

// Jobs as arguments, "JOB..." or "[JOB...]"; their numbers come from the daemon when it answers.
bool takes_jobs(const VerbText& verb) {
  return verb.command.synopsis.starts_with("JOB") || verb.command.synopsis.starts_with("[JOB");
}

VerbText describe(std::string group, const Verb& verb) {
  if (!verb.run)  // smartmig-research, which may not be installed
    return {
        std::move(group),
        verb.name,
        verb.summary,
        {.verb = verb.name,
         .synopsis = "[options]",
         .summary = fmt::format("smartmig-research provides this command: {}. smartmig {} --help lists its options.",
                                verb.summary, verb.name)}};
  std::vector<Command::Description> found;
  Command::describe_into(&found);
  verb.run({"--help"});
  Command::describe_into(nullptr);
  Command::Description command = found.empty() ? Command::Description{} : std::move(found.front());
  command.verb = verb.name;
  return {std::move(group), verb.name, verb.summary, std::move(command)};
}

std::vector<std::string> option_words(const Command::Description& command) {
  std::vector<std::string> out;
  for (const Command::OptionText& option : command.options) {
    out.push_back(option.name);
    if (!option.alias.empty()) out.push_back(option.alias);
  }
  out.insert(out.end(), {"--help", "-h"});
  return out;
}

std::string in_quotes(std::string_view text) {  // for sh, within '...'
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
  return out + "'";
}

std::string zsh_words(std::string_view text) {  // brackets and colons mean something to _arguments
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::vector<VerbText> describe_verbs() {
  std::vector<VerbText> out;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) {
      out.push_back(describe(group.title, verb));
      out.back().family = family_of(verb);
      out.back().last_word = last_word_of(verb);
    }
  return out;
}

std::vector<VerbText> describe_verbs_and_aliases() {
  std::vector<VerbText> out = describe_verbs();
  for (const Verb& alias : verb_aliases()) {
    out.push_back(describe("", alias));
    out.back().last_word = alias.name;
    out.back().summary = fmt::format("as {}", alias.summary);
  }
  return out;
}

namespace {

// First words after smartmig: verbs of one word, then families.
std::vector<std::pair<std::string, std::string>> first_words(const std::vector<VerbText>& verbs) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const VerbText& verb : verbs)
    if (verb.family.empty()) out.emplace_back(verb.name, verb.summary);
  for (const Family& family : verb_families()) out.emplace_back(family.name, family.summary);
  return out;
}

std::vector<std::pair<std::string, std::string>> words_of(const Family& family, const std::vector<VerbText>& verbs) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const VerbText& verb : verbs)
    if (verb.family == family.name) out.emplace_back(verb.last_word, verb.summary);
  return out;
}

std::string names_of(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string out;
  for (const auto& [name, summary] : words) out += (out.empty() ? "" : " ") + name;
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<VerbText>& verbs) {
  std::string families, cases;
  for (const Family& family : verb_families())
    families += fmt::format(
        "    {}) [ \"$COMP_CWORD\" -eq 2 ] && COMPREPLY=($(compgen -W \"{} --help\" -- \"$current\")) && return ;;\n",
        family.name, names_of(words_of(family, verbs)));
  for (const VerbText& verb : verbs) {
    std::vector<std::string> valued;
    for (const Command::OptionText& option : verb.command.options)
      if (!option.is_flag) {
        valued.push_back(option.name);
        if (!option.alias.empty()) valued.push_back(option.alias);
      }
    cases += fmt::format("    {}{}) options=\"{}\" valued=\" {} \"{} ;;\n",
                         verb.family.empty() ? "" : fmt::format("'{}'|", verb.name), verb.last_word,
                         fmt::join(option_words(verb.command), " "), fmt::join(valued, " "),
                         takes_jobs(verb) ? " jobs=1" : "");
  }
  std::string two_words;
  for (const Family& family : verb_families()) two_words += (two_words.empty() ? "" : "|") + std::string(family.name);
  return fmt::format(
      "# bash completion of smartmig; load with: source <(smartmig completion bash)\n"
      "_smartmig() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} options= valued= jobs=\n"
      "  local verb=${{COMP_WORDS[1]}}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} help --help --version\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case $verb in\n"
      "{}"
      "  esac\n"
      "  case $verb in {}) verb+=\" ${{COMP_WORDS[2]}}\" ;; esac\n"
      "  case $verb in\n"
      "{}"
      "  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  elif [[ $valued != *\" $previous \"* && -n $jobs ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$(smartmig queue --ids 2>/dev/null)\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _smartmig smartmig\n",
      names_of(first_words(verbs)), families, two_words, cases);
}

std::string zsh_completion(const std::vector<VerbText>& verbs) {
  const auto described = [](const auto& words) {
    std::string out;
    for (const auto& [name, summary] : words)
      out += fmt::format("      {}\n", in_quotes(name + ":" + zsh_words(summary)));
    return out;
  };
  std::string out =
      "#compdef smartmig\n"
      "# zsh completion of smartmig; load with: source <(smartmig completion zsh)\n"
      "_smartmig_jobs() { local -a ids; ids=(${(f)\"$(smartmig queue --ids 2>/dev/null)\"}); compadd -a ids }\n"
      "_smartmig() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a verbs\n"
      "    verbs=(\n" +
      described(first_words(verbs)) +
      "    )\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n";
  for (const Family& family : verb_families())
    out += fmt::format(
        "  if [[ $verb == {0} ]]; then\n"
        "    if (( CURRENT == 2 )); then\n      local -a verbs\n      verbs=(\n{1}      )\n"
        "      _describe verb verbs\n      return\n    fi\n"
        "    verb+=\" $words[2]\"\n    shift words\n    (( CURRENT-- ))\n  fi\n",
        family.name, described(words_of(family, verbs)));
  out += "  case $verb in\n";
  for (const VerbText& verb : verbs) {
    out +=
        fmt::format("    {}{}) _arguments", verb.family.empty() ? "" : fmt::format("'{}'|", verb.name), verb.last_word);
    for (const Command::OptionText& option : verb.command.options)
      for (const std::string& name : {option.name, option.alias})
        if (!name.empty())
          out += fmt::format(
              " {}",
              in_quotes(fmt::format("*{}[{}]{}", name, zsh_words(option.help),
                                    option.is_flag ? "" : fmt::format(":{}:_files", zsh_words(option.value_name)))));
    out += fmt::format(" '--help[more about {}]' {} ;;\n", verb.name,
                       takes_jobs(verb) ? "'*:job:_smartmig_jobs'" : "'*:file:_files'");
  }
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = _smartmig ]; then _smartmig; else compdef _smartmig smartmig; fi\n";
}

std::string fish_completion(const std::vector<VerbText>& verbs) {
  std::string out =
      "# fish completion of smartmig; load with: smartmig completion fish | source\n"
      "function __smartmig_verb\n"  // the words after smartmig alone: a job's command line may hold any
      "    set -l words (commandline -opc)\n"
      "    set -l last (math 1 + (count $argv))\n"
      "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n"
      "function __smartmig_family\n"
      "    set -l words (commandline -opc)\n"
      "    test (count $words) -eq 2; and test $words[2] = \"$argv[1]\"\n"
      "end\n"
      "function __smartmig_no_verb\n"
      "    test (count (commandline -opc)) -eq 1\n"
      "end\n"
      "complete -c smartmig -s h -l help -d 'more about it'\n"
      "complete -c smartmig -n __smartmig_no_verb -l version -d 'the version'\n";
  for (const auto& [name, summary] : first_words(verbs))
    out += fmt::format("complete -c smartmig -f -n __smartmig_no_verb -a {} -d {}\n", name, in_quotes(summary));
  for (const Family& family : verb_families())
    for (const auto& [name, summary] : words_of(family, verbs))
      out += fmt::format("complete -c smartmig -f -n '__smartmig_family {}' -a {} -d {}\n", family.name, name,
                         in_quotes(summary));
  for (const VerbText& verb : verbs) {
    const std::string here = fmt::format("complete -c smartmig -n '__smartmig_verb {}'", verb.name);
    for (const Command::OptionText& option : verb.command.options)
      out += fmt::format("{} -l {}{}{} -d {}\n", here, option.name.substr(2),
                         option.alias.size() == 2 ? fmt::format(" -s {}", option.alias.substr(1)) : "",
                         option.is_flag ? "" : " -r", in_quotes(option.help));
    if (takes_jobs(verb)) out += here + " -f -a '(smartmig queue --ids 2>/dev/null)'\n";
  }
  return out;
}

int run_completion(const Arguments& arguments) {
  std::string shell;
  Command cmd("completion", "bash|zsh|fish",
              "Prints a script that completes verbs, options and your job numbers in the shell.",
              "source <(smartmig completion bash)");
  cmd.positional(shell);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto make = shell == "bash"   ? bash_completion
                    : shell == "zsh"  ? zsh_completion
                    : shell == "fish" ? fish_completion
                                      : nullptr;
  if (!make) return usage_error(invalid("'{}' is not bash, zsh or fish", shell));
  fmt::print("{}", make(describe_verbs_and_aliases()));
  return 0;
}

}  // namespace smartmig::cli
