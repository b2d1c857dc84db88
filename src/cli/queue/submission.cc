#include "cli/queue/submission.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/queue/exported_environment.h"
#include "cli/queue/local_start.h"
#include "cli/queue/model_memory.h"
#include "cli/queue/script_header.h"
#include "cli/time_words.h"
#include "live/jobs/command_title.h"

namespace smartmig::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxScript = 4u << 20, kMaxCommands = 100'000;

Result<std::string> present_directory() {
  std::error_code failed;
  const fs::path here = fs::current_path(failed);
  if (failed)
    return io_error("cannot read the current directory: {}; change directory or use --chdir", failed.message());
  return here.string();
}

// What goes to the daemon as JSON: `what` names it in the refusal.
Result<Ok> must_be_utf8(const std::string& what, std::string_view text) {
  const std::string shown = valid_utf8(text);
  if (shown == text) return Ok{};
  return invalid("{} '{}' is not UTF-8; rename the file, or convert the text with iconv", what, cut(shown, 200));
}

Result<Ok> must_be_utf8_lines(const std::string& name, std::string_view text) {
  if (valid_utf8(text) == text) return Ok{};
  const auto lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i)
    SMARTMIG_RETURN_IF_ERROR(must_be_utf8(fmt::format("{}:{}:", name, i + 1), lines[i]));
  return Ok{};
}

Result<Draft> start_draft(const Words& words, const ScriptHeader& header, UnixTime now) {
  Draft draft;
  SMARTMIG_TRY(draft.spec.directory, present_directory());
  SMARTMIG_RETURN_IF_ERROR(must_be_utf8("the current directory", draft.spec.directory));
  draft.spec.submit_directory = draft.spec.directory;
  draft.notes = header.warnings;
  draft.notes.insert(draft.notes.end(), words.notes.begin(), words.notes.end());
  SMARTMIG_RETURN_IF_ERROR(apply(draft, header.sbatch, Dialect::kSbatch, now));
  SMARTMIG_RETURN_IF_ERROR(apply(draft, header.smartmig, Dialect::kSmartmig, now));
  SMARTMIG_RETURN_IF_ERROR(apply(draft, words.options, Dialect::kSmartmig, now));
  draft.spec.environment = exported_environment(draft.export_list, ::environ, draft.notes);
  return draft;
}

Result<Ok> add_memory_estimate(Draft& draft) {
  if (!draft.estimate_memory) return Ok{};
  SMARTMIG_TRY(std::string note, estimate_job_memory(draft.spec, draft.model));
  if (!note.empty()) draft.notes.push_back(std::move(note));
  return Ok{};
}

// A file that exists and starts with "#!" is a script; a program is started as it is.
Result<bool> names_script(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  if (fs::file_size(path, failed) > kMaxScript) return false;
  SMARTMIG_TRY(const std::string text, read_file(path));
  if (text.starts_with("#!")) return true;
  if (path.find('/') == path.npos || ::access(path.c_str(), X_OK) != 0)
    return invalid("{} has no #! line; to run it with a program, write: smartmig submit -- PROGRAM {}", path, path);
  return false;
}

Result<Submission> list_of_commands(const Words& words, std::istream& input, UnixTime now) {
  SMARTMIG_TRY(Draft draft, start_draft(words, {}, now));
  Submission out;
  const bool named = !draft.spec.name.empty();
  std::set<std::string> said;
  for (std::string line; std::getline(input, line);) {
    const std::string_view command = trim(line);
    if (command.empty() || command.starts_with('#')) continue;
    SMARTMIG_RETURN_IF_ERROR(must_be_utf8("the command", command));
    if (out.jobs.size() == kMaxCommands) return invalid("standard input has more than {} commands", kMaxCommands);
    draft.spec.command = {"sh", "-c", std::string(command)};
    if (!named) {
      std::vector<std::string> first_words;
      for (const std::string_view word : split(command, ' '))
        if (!word.empty()) first_words.emplace_back(word);
      draft.spec.name = cut(command_title(first_words), 60);
    }
    Draft one = draft;
    if (one.estimate_memory) {
      SMARTMIG_TRY(const std::string note, estimate_job_memory(one.spec, one.model));
      if (!note.empty() && said.insert(note).second) draft.notes.push_back(note);
    }
    out.jobs.push_back(to_body(one));
  }
  if (out.jobs.empty()) return invalid("standard input has no command; write one per line");
  out.notes = std::move(draft.notes);
  return out;
}

}  // namespace

Result<Submission> make_submission(const Words& words, std::istream& input, UnixTime now) {
  const bool wraps = std::any_of(words.options.begin(), words.options.end(),
                                 [](const GivenOption& one) { return std::string_view(one.option->name) == "--wrap"; });
  if (wraps && !words.rest.empty()) return invalid("--wrap already specifies the command; remove '{}'", words.rest[0]);
  if (words.rest.empty() && !wraps)
    return invalid("no command: give -- COMMAND..., a script, or - for a list of commands");
  if (!words.dashed && !wraps && words.rest[0] == "-") {
    if (words.rest.size() > 1) return invalid("remove '{}' after -", words.rest[1]);
    return list_of_commands(words, input, now);
  }
  for (std::size_t i = 0; i < words.rest.size(); ++i)
    SMARTMIG_RETURN_IF_ERROR(must_be_utf8(fmt::format("argument {} of the command:", i + 1), words.rest[i]));
  ScriptHeader header;
  std::string script;
  bool is_script = false;
  if (!words.dashed && !wraps) {
    SMARTMIG_TRY(is_script, names_script(words.rest[0]));
    if (is_script) {
      SMARTMIG_TRY(script, read_file(words.rest[0]));
      SMARTMIG_RETURN_IF_ERROR(must_be_utf8_lines(words.rest[0], script));
      SMARTMIG_TRY(header, read_script_header(words.rest[0], script));
      if (header.interpreter.empty()) return invalid("{}: the #! line does not name a program", words.rest[0]);
    }
  }
  SMARTMIG_TRY(Draft draft, start_draft(words, header, now));
  if (!wraps && !draft.wrap.empty()) return invalid("--wrap belongs on the command line, instead of a script");
  draft.spec.command = words.rest;
  if (wraps) {
    draft.spec.script = "#!/bin/sh\n" + draft.wrap + "\n";
    draft.spec.command = {"/bin/sh"};
    if (draft.spec.name.empty()) draft.spec.name = "wrap";
  }
  if (is_script) {
    draft.spec.script = std::move(script);
    if (draft.spec.name.empty()) draft.spec.name = fs::path(words.rest[0]).filename().string();
    draft.spec.command.erase(draft.spec.command.begin());
    draft.spec.command.insert(draft.spec.command.begin(), header.interpreter.begin(), header.interpreter.end());
  }
  SMARTMIG_RETURN_IF_ERROR(add_memory_estimate(draft));
  Submission out;
  out.jobs.push_back(to_body(draft));
  if (auto good = read_job_spec(out.jobs.back(), now); !good) return good.error();
  out.notes = std::move(draft.notes);
  return out;
}

Result<Ok> check_local_start(Submission& submission, UnixTime now) {
  SMARTMIG_TRY(const JobSpec spec, read_job_spec(submission.jobs.front(), now));
  return check_local_start(spec, submission.notes);
}

}  // namespace smartmig::cli
