#include "cli/queue/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/queue/daemon_options.h"
#include "cli/time_words.h"
#include "live/jobs/signal_names.h"

namespace smartmig::cli {

std::size_t columns_of(std::string_view text) {
  return std::size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Columns::text() const {
  std::vector<std::size_t> width(heads_.size());
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    width[i] = columns_of(heads_[i].title);
    for (const auto& row : rows_) width[i] = std::max(width[i], columns_of(row[i]));
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      const std::string pad(width[i] - columns_of(cell(i)), ' ');
      text += (i ? "  " : "") + (heads_[i].right ? pad + cell(i) : cell(i) + pad);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t i) -> const std::string& { return heads_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

std::string comma_list(const Json& list) {
  std::string out;
  for (const Json& one : list) out += (out.empty() ? "" : ",") + (one.is_string() ? shown_text(one) : one.dump());
  return out;
}

std::string job_title(const Json& job) {
  const std::string name = text_at(job, "name", "?");
  const auto index = number_at(job, "array_index");
  return index ? fmt::format("{}[{:.0f}]", name, *index) : name;
}

std::string place_words(const Json& job) {
  const auto gpu = number_at(job, "gpu");
  const std::string slice = text_at(job, "slice");
  return gpu && !slice.empty() ? fmt::format("{:.0f}:{}", *gpu, slice) : "-";
}

std::string time_words(const Json& job, double now) {
  const auto submitted = number_at(job, "submitted_at"), started = number_at(job, "started_at"),
             ended = number_at(job, "ended_at");
  const std::string state = text_at(job, "state");
  if (is_final(job)) return started && ended ? duration_words(*ended - *started) : "-";
  if ((state == "running" || state == "stopping") && started) return duration_words(now - *started);
  return submitted ? "waits " + duration_words(now - *submitted) : "-";
}

std::string deadline_words(const Json& job, double now) {
  const auto deadline = number_at(job, "deadline_at");
  if (!deadline) return "-";
  const std::string clock = clock_words(*deadline, now);
  const double late = number_at(job, "late_s").value_or(0);
  if (late >= 1) {
    const bool still = !is_final(job) && now < *deadline;  // it will be late by the estimate
    return fmt::format("{}, {}{} late", clock, still ? "expected " : "", duration_words(late));
  }
  if (is_final(job)) return fmt::format("{}, met", clock);
  return fmt::format("{}, {}", clock, relative_words(*deadline, now));
}

std::string estimate_words(const Json& job) {
  const auto estimate = number_at(job, "estimate_s");
  if (!estimate) return "-";
  const std::string source = text_at(job, "estimate_source");
  return duration_words(*estimate) + (source == "given" || source.empty() ? "" : " " + source);
}

std::string memory_words(const Json& job) {
  const auto memory = number_at(job, "mem_mib"), peak = number_at(job, "peak_mib"),
             tensors = number_at(job, "tensors_mib");
  const Json& spec = object_at(job, "spec");
  std::string out = memory ? mib_words(*memory) : "not known yet";
  if (peak) out += fmt::format(", at most {} were observed", mib_words(*peak));
  if (tensors) out += fmt::format(", at most {} were held by tensors", mib_words(*tensors));
  const auto estimate = number_at(spec, "mem_estimate_mib");
  if (!estimate || number_at(spec, "mem_mib")) return out;
  const std::string basis = text_at(spec, "mem_basis", "its model");
  // A job is placed by no more than the largest slice has, and by what its runs took where that is known.
  if (memory && *memory == *estimate) return fmt::format("{}, estimated: {}", out, basis);
  return fmt::format("{}; estimated were {}: {}", out, mib_words(*estimate), basis);
}

std::string ending_words(const Json& job) {
  if (const auto signal = number_at(job, "exit_signal"))
    return fmt::format("signal {:.0f} ({})", *signal, signal_name(int(*signal)));
  if (const auto code = number_at(job, "exit_code")) return fmt::format("exit {:.0f}", *code);
  return "";
}

std::string job_sentence(const Json& job, double now) {
  std::string out = fmt::format("job {} {}: {}", id_at(job, "id"), job_title(job), text_at(job, "state", "?"));
  const std::string ending = ending_words(job), place = place_words(job), reason = text_at(job, "reason");
  if (!ending.empty() && ending != "exit 0") out += fmt::format(" ({})", ending);
  if (number_at(job, "started_at")) out += fmt::format(" after {}", time_words(job, now));
  if (place != "-") out += fmt::format(" on {}", place);
  const bool said = !ending.empty() && (reason.starts_with("exit code ") || reason.starts_with("killed by signal "));
  if (!reason.empty() && !said && text_at(job, "state") != "done") out += fmt::format(", {}", reason);
  const Json& energy = object_at(job, "energy");
  if (const auto joules = number_at(energy, "energy_j"); joules && number_at(job, "started_at"))
    out += fmt::format(", {} {}", energy_words(*joules), text_at(energy, "source", "attributed"));
  if (const auto cost = number_at(job, "cost")) out += fmt::format(", cost {}", cost_words(*cost));
  if (is_final(job) && number_at(job, "deadline_at")) out += fmt::format(", deadline {}", deadline_words(job, now));
  return out;
}

std::string job_table(const Json& jobs, double now, bool with_cost) {
  std::vector<Columns::Head> heads = {{"id", true},      {"name"},       {"user"},     {"state"},
                                      {"slice"},         {"time", true}, {"deadline"}, {"energy (attributed)", true},
                                      {"estimate", true}};
  if (with_cost) heads.push_back({"cost", true});
  Columns table(heads);
  for (const Json& job : jobs) {
    std::string state = yes_at(job, "suspended") ? "suspended" : text_at(job, "state", "?");
    if (const std::string ending = ending_words(job); !ending.empty() && ending != "exit 0") state += ", " + ending;
    if (const int stops = int(number_at(job, "preemptions").value_or(0)); stops > 0 && !is_final(job))
      state += fmt::format(", stopped {}x", stops);
    const auto joules = number_at(object_at(job, "energy"), "energy_j");
    std::vector<std::string> row = {fmt::format("{}", id_at(job, "id")),
                                    cut(job_title(job), 24),
                                    cut(text_at(job, "user", "?"), 12),
                                    state,
                                    place_words(job),
                                    time_words(job, now),
                                    deadline_words(job, now),
                                    joules && number_at(job, "started_at") ? energy_words(*joules) : "-",
                                    estimate_words(job)};
    if (with_cost) {
      const auto cost = number_at(job, "cost");
      row.push_back(cost ? cost_words(*cost) : "-");
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string job_csv(const Json& jobs) {
  static constexpr const char* kNumbers[] = {"submitted_at", "started_at",  "ended_at", "deadline_at",
                                             "late_s",       "estimate_s",  "mem_mib",  "peak_mib",
                                             "exit_code",    "exit_signal", "priority", "cost"};
  std::string out = fmt::format("id,name,user,state,kind,gpu,slice,{},energy_j\n", fmt::join(kNumbers, ","));
  const auto number = [](const std::optional<double>& value) {
    if (!value) return std::string();
    return *value == std::floor(*value) ? fmt::format("{:.0f}", *value) : fmt::format("{:.3f}", *value);
  };
  for (const Json& job : jobs) {
    out += fmt::format("{},{},{},{},{},{},{}", id_at(job, "id"), csv_text(job_title(job)),
                       csv_text(text_at(job, "user")), text_at(job, "state"), csv_text(text_at(job, "kind")),
                       number(number_at(job, "gpu")), csv_text(text_at(job, "slice")));
    for (const char* key : kNumbers) out += "," + number(number_at(job, key));
    const bool began = number_at(job, "started_at").has_value();
    out += "," + (began ? number(number_at(object_at(job, "energy"), "energy_j")) : "") + "\n";
  }
  return out;
}

int exit_code_of(const Json& job) {
  if (const auto signal = number_at(job, "exit_signal")) return 128 + int(*signal) % 128;
  const auto code = number_at(job, "exit_code");
  if (text_at(job, "state") == "done") return code ? int(*code) : 0;
  return code && *code != 0 ? int(*code) : 1;
}

}  // namespace smartmig::cli
