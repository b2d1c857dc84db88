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
  std::string heading;
  for (const Command::OptionText& option : command.options) {
    if (option.heading != heading)
      out += fmt::format(".PP\n\\fI{}:\\fR\n", roff(option.heading.empty() ? "Options" : option.heading));
    heading = option.heading;
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
      ".TH SMARTMIG 1 \"\" \"smartmig {}\" \"User Commands\"\n.SH NAME\nsmartmig \\- a job queue that divides MIG GPUs into slices and balances energy use against lateness\n.SH SYNOPSIS\n.B smartmig\n.I VERB\n[options]\n"
      ".SH DESCRIPTION\nsmartmig reads options from the command line and from the variables listed under ENVIRONMENT.\n",
      roff(version));
  std::string group;
  for (const VerbText& verb : verbs) {
    if (verb.group != group) out += fmt::format(".SH {}\n", roff(group = verb.group));
    out += verb_section(verb);
  }
  out += ".SH OTHER NAMES\n";
  for (const Family& family : verb_families())
    out += fmt::format(".TP\n.B {}\n{}; its verbs also work without this prefix\n", family.name, roff(family.summary));
  for (const Verb& alias : verb_aliases())
    out += fmt::format(".TP\n.B {}\nas {}\n", roff(alias.name), roff(alias.summary));
  out +=
      ".SH EXIT STATUS\n0: success; 1: the work failed; 2: the command line was wrong. \\fBsmartmig run\\fR ends with the job's "
      "own "
      "code.\n.SH ENVIRONMENT\n.TP\n.B SMARTMIG_SOCKET\nthe daemon's socket\n.TP\n.B SMARTMIG_SERVER, "
      "SMARTMIG_TOKEN, SMARTMIG_CACERT\na daemon on another machine, its token, and the certificate of its authority\n.TP\n.B "
      "SMARTMIG_STATE\nstate directory of the daemon\n.TP\n.B NO_COLOR\nno colours\n";
  return out;
}

int run_man(const Arguments& arguments) {
  Command cmd("man", "", "Prints the manual page of smartmig.", "smartmig man > smartmig.1 && man -l smartmig.1");
  if (const auto end = cmd.ends(arguments)) return *end;
  fmt::print("{}", manual_page(describe_verbs(), SMARTMIG_VERSION));
  return 0;
}

}  // namespace smartmig::cli
