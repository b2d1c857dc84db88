// smartmig man: the manual page, from the same texts as --help.
#include <fmt/format.h>

#include "cli/program/program_text.h"

namespace smartmig::cli {
namespace {

std::string roff(std::string_view text) {  // no line of it is taken for a request, no dash for a hyphen
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

std::string verb_section(const VerbText& verb) {
  const Command::Description& command = verb.command;
  std::string out = fmt::format(".SS {}\n.B smartmig {}\n", roff(verb.name), roff(verb.name));
  const std::string options = command.options.empty() ? "" : "[options]\n";
  if (command.options_first) out += options;
  if (!command.synopsis.empty()) out += fmt::format("{}\n", roff(command.synopsis));
  if (!command.options_first) out += options;
  out += fmt::format(".PP\n{}\n", roff(command.summary.empty() ? verb.summary : command.summary));
  for (const Command::OptionText& option : command.options) {
    out += fmt::format(".TP\n\\fB{}{}\\fR{}\n{}{}\n", option.alias.empty() ? "" : roff(option.alias + ", "),
                       roff(option.name), option.is_flag ? "" : fmt::format(" \\fI{}\\fR", roff(option.value_name)),
                       roff(option.help),
                       option.shown_default.empty() ? "" : roff(fmt::format(" (default {})", option.shown_default)));
  }
  if (!command.example.empty())
    out += fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(command.example));
  return out;
}

}  // namespace

std::string manual_page(const std::vector<VerbText>& verbs, const std::string& version) {
  std::string out = fmt::format(
      ".TH SMARTMIG 1 \"\" \"smartmig {}\" \"User Commands\"\n.SH NAME\nsmartmig \\- carve MIG GPUs into slices, place "
      "jobs "
      "on them, and know how much energy and lateness it costs\n.SH SYNOPSIS\n.B smartmig\n.I VERB\n[options]\n"
      ".SH DESCRIPTION\nOptions are read from the command line, and from the variables below ENVIRONMENT.\n",
      roff(version));
  std::string group;
  for (const VerbText& verb : verbs) {
    if (verb.group != group) out += fmt::format(".SH {}\n", roff(group = verb.group));
    out += verb_section(verb);
  }
  out += ".SH OTHER NAMES\n";
  for (const Verb& alias : verb_aliases())
    out += fmt::format(".TP\n.B {}\nas {}\n", roff(alias.name), roff(alias.summary));
  out +=
      ".SH EXIT STATUS\n0: done; 1: the work failed; 2: the call was wrong. \\fBsmartmig run\\fR ends with the job's "
      "own "
      "code.\n.SH ENVIRONMENT\n.TP\n.B SMARTMIG_SOCKET\nthe daemon's socket\n.TP\n.B SMARTMIG_SERVER, "
      "SMARTMIG_TOKEN, SMARTMIG_CACERT\na daemon elsewhere, its token, and who signed its certificate\n.TP\n.B "
      "SMARTMIG_STATE\nstate directory of the daemon\n.TP\n.B NO_COLOR\nno colours\n";
  return out;
}

int run_man(const Arguments& arguments) {
  Command cmd("man", "", "Prints the manual page.", "smartmig man > smartmig.1 && man -l smartmig.1");
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  fmt::print("{}", manual_page(describe_verbs(), SMARTMIG_VERSION));
  return 0;
}

}  // namespace smartmig::cli
