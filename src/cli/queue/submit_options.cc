#include "cli/queue/submit_options.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "cli/queue/sbatch_options.h"
#include "cli/queue/submit_values.h"
#include "cli/time_words.h"

namespace smartmig::cli {

namespace {

constexpr const char* kHeadings[] = {"Slice",           "Time",
                                     "Start",           "Command",
                                     "Containers",      "Servers and notebooks",
                                     "Output and mail", "Stopping and restarting",
                                     "Memory estimate", "Processes"};

SubmitOption submit_option(const JobField& field, const JobOption& option) {
  SubmitOption out{option, field.heading, find_value_reader(option.name)};
  if (!out.apply)
    out.apply = [&field, &option](Draft& draft, std::string_view value, Dialect dialect, UnixTime now) -> Result<Ok> {
      SMARTMIG_TRY(const Json json, value_of(field, option, value, dialect));
      return set_job_field(draft.spec, field, json, now);
    };
  return out;
}

}  // namespace

const std::vector<SubmitOption>& submit_options() {
  static const std::vector<SubmitOption> table = [] {
    std::vector<SubmitOption> all;
    for (const std::string_view heading : kHeadings)
      for (const JobField& field : job_fields())
        if (field.heading && field.heading == heading)
          for (const JobOption& option : field.options) all.push_back(submit_option(field, option));
    return all;
  }();
  return table;
}

const SubmitOption* find_submit_option(std::string_view name) {
  for (const SubmitOption& option : submit_options())
    if (name == option.name || (*option.alias && name == option.alias) ||
        std::any_of(option.also.begin(), option.also.end(), [&](const char* other) { return name == other; }))
      return &option;
  return nullptr;
}

namespace {

void declare_submit_option(Command& cmd, const SubmitOption& option, std::vector<GivenOption>& given) {
  const auto take = [&given, row = &option](std::string_view value) -> Result<Ok> {
    if (!(row->is_flag() && (value == "0" || value == "false" || value == "no")))
      given.push_back({row, std::string(value)});
    return Ok{};
  };
  if (option.is_flag())
    cmd.flag(option.name, Command::Setter(take), option.help);
  else
    cmd.option(option.name, Command::Setter(take), option.value_name, option.help);
  if (*option.alias) cmd.alias(option.alias);
  for (const char* other : option.also) cmd.also(other);
}

}  // namespace

void declare_submit_options(Command& cmd, std::vector<GivenOption>& given, std::vector<std::string>& notes) {
  for (const SubmitOption& option : submit_options()) {
    cmd.heading(option.heading);
    declare_submit_option(cmd, option, given);
  }
  cmd.heading("");
  for (const SbatchOption& option : sbatch_options()) {
    if (option.verdict == SbatchOption::kHonoured) continue;
    const auto take = [&notes, row = &option](std::string_view value) -> Result<Ok> {
      SMARTMIG_TRY(std::string note, read_sbatch_option(*row, row->takes_value ? value : "", ""));
      notes.push_back(std::move(note));
      return Ok{};
    };
    if (option.takes_value)
      cmd.option(option.name, Command::Setter(take), "VALUE", "");
    else
      cmd.flag(option.name, Command::Setter(take), "");
    if (*option.alias) cmd.alias(option.alias);
    cmd.hidden();
  }
}

Result<Ok> apply(Draft& draft, const std::vector<GivenOption>& given, Dialect dialect, UnixTime now) {
  for (const GivenOption& one : given) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 32; };
    if (std::any_of(one.value.begin(), one.value.end(), control))
      return invalid("{}: the value contains a control character", one.option->name);
    if (const std::string shown = valid_utf8(one.value); shown != one.value)
      return invalid("{}: '{}' is not UTF-8", one.option->name, shown);
    if (auto done = one.option->apply(draft, one.value, dialect, now); !done)
      return Error{done.error().code, fmt::format("{}: {}", one.option->name, done.error().what)};
  }
  return Ok{};
}

Json to_body(const Draft& draft) {
  Json body = spec_json(draft.spec);
  if (draft.deadline_in) body["deadline_s"] = seconds(*draft.deadline_in);
  if (draft.begin_in) body["begin_s"] = seconds(*draft.begin_in);
  if (draft.mem_per_cpu_mib > 0)
    body["host_mem_mib"] = std::int64_t(std::ceil(draft.mem_per_cpu_mib * std::max(1.0, draft.spec.cpus)));
  return body;
}

}  // namespace smartmig::cli
