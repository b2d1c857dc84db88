#include "cli/queue/submission.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/model_lookup.h"
#include "cli/queue/exported_environment.h"
#include "cli/queue/script_header.h"
#include "cli/time_words.h"
#include "live/gpu/memory_size.h"
#include "live/jobs/command_title.h"
#include "live/jobs/container_command.h"
#include "live/jobs/reach.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kMostBasis = 2000;

Result<FoundModel> model_of(const ModelFacts& facts, const LookupPlace& place) {
  if (facts.find("layers") && facts.find("hidden") && facts.find("heads")) {  // a GPT by its numbers
    FoundModel out;
    NeuralModel& m = out.file.model;
    const auto size = [&](const char* key) {
      return int(std::clamp(parse_double(facts.text(key)).value_or(0), 0.0, 1e6));
    };
    m.name = facts.text("model");
    m.layers = size("layers");
    m.hidden = size("hidden");
    m.heads = m.kv_heads = size("heads");
    m.vocabulary = size("vocabulary");
    m.params = 12.0 * m.layers * m.hidden * m.hidden + double(m.vocabulary + size("context")) * m.hidden;
    out.from = facts.find("model")->from;
    return out;
  }
  return find_model_named(facts.text("model"), place);
}

}  // namespace

Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told) {
  if (spec.mem_mib) return std::string();
  ModelFacts facts = spec.script.empty() ? read_command_facts(spec.command) : read_script_facts(spec.script);
  const std::string refused = told.find("model") ? "" : facts.refused;
  facts.prefer(told);
  const LookupPlace place = lookup_place(spec.directory, spec.environment);
  Result<FoundModel> found = not_found("no model is named");
  if (facts.find("model")) {
    if (!refused.empty()) return fmt::format("no memory estimate: {}; give --mem if you know it", refused);
    found = model_of(facts, place);
    if (!found && told.find("model")) return Error{found.error().code, "--model: " + found.error().what};
    if (!found) return fmt::format("no memory estimate: {}; give --mem if you know it", found.error().what);
  } else {
    const std::string script = script_of(spec.command);
    if (script.empty() && !told.find("task")) return std::string();
    if (!holds_model(spec.directory)) {
      if (told.find("batch") || told.find("task"))
        return invalid("--batch, --task and the like need --model, or a model in {}", spec.directory);
      return std::string();
    }
    found = read_model_directory(spec.directory);
    if (!found) return fmt::format("no memory estimate: {}", found.error().what);
    if (const std::string task = task_by_name(script); !task.empty() && !told.find("task"))
      facts.set("task", task, "the name " + script);
    if (!facts.find("task"))
      return fmt::format(
          "no memory estimate: found {}, but not whether {} trains it; give --task and --batch, or "
          "--mem",
          found->from, script);
  }
  std::string from = found->from;
  if (const ModelFact* fact = facts.find("model"); fact && fact->from != from)
    from = fmt::format("{}: {}", fact->from, from);
  const auto estimate = estimate_from_facts(facts, found->file, from);
  if (!estimate && told.find("model")) return estimate.error();
  if (!estimate) return fmt::format("no memory estimate: {}", estimate.error().what);
  if (estimate->mib > kMaxMemoryMib)
    return fmt::format("no memory estimate: {:.0f} MiB is more memory than any GPU has", estimate->mib);
  spec.mem_estimate_mib = int(estimate->mib);
  spec.mem_basis = (facts.program.empty() ? "" : facts.program + ": ") + estimate->basis;
  if (spec.mem_basis.size() > kMostBasis) spec.mem_basis.resize(kMostBasis);
  for (char& c : spec.mem_basis)
    if (static_cast<unsigned char>(c) < 32) c = '?';
  return fmt::format("memory estimate: {} MiB for {}; --mem and earlier runs of the command take precedence",
                     *spec.mem_estimate_mib, spec.mem_basis);
}

namespace {

bool is_missing(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool is_directory(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) == 0 && S_ISDIR(seen.st_mode);
}

// Empty: nothing is missing, as far as this user can see.
std::string missing_program(const JobSpec& spec, const std::string& program) {
  const auto below = [&](const std::string& path) {
    return path.starts_with('/') ? path : spec.directory + "/" + path;
  };
  if (program.find('/') != program.npos) {
    if (is_missing(below(program))) return fmt::format("program {} does not exist", below(program));
    return is_directory(below(program)) ? fmt::format("{} is a directory, not a program", program) : "";
  }
  for (const std::string_view folder : split(search_path(spec), ':')) {
    const std::string path = below(folder.empty() ? program : std::string(folder) + "/" + program);
    if (!is_missing(path) && !is_directory(path) && (::access(path.c_str(), X_OK) == 0 || errno != EACCES)) return "";
    if (!folder.empty() && ::access(below(std::string(folder)).c_str(), X_OK) != 0 && errno == EACCES) return "";
  }
  return fmt::format("program {} is not in the job's PATH", program);
}

std::string missing_program(const JobSpec& spec) { return missing_program(spec, spec.command.front()); }

// Of a runtime that is named or follows from the image; the site's default is the daemon's to know.
std::string missing_runtime(const JobSpec& spec) {
  const std::string runtime = container_runtime(spec, "");
  return runtime.empty() ? "" : missing_program(spec, runtime);
}

}  // namespace

Result<Ok> check_local_start(const JobSpec& spec, std::vector<std::string>& notes) {
  std::string missing;
  if (is_missing(spec.directory))
    missing = fmt::format("directory {} does not exist; create it, or choose another with --chdir", spec.directory);
  else if (!spec.container.empty())
    missing = missing_runtime(spec);
  else if (!spec.command.empty())
    missing = missing_program(spec);
  if (missing.empty()) return Ok{};
  if (spec.dependencies.empty() && !spec.singleton && !spec.hold && !spec.begin) return invalid("{}", missing);
  notes.push_back(missing + "; the job is accepted, because this may exist when it starts");
  return Ok{};
}

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
