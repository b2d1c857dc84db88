#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "base/text.h"
#include "report/journal.h"
#include "report/quote.h"
#include "report/summary_text.h"

namespace smartmig {
namespace {

std::string units_of(const GpuModel& model, PlacementId where, std::uint32_t first) {
  const std::uint32_t start = first + model.placement(where).start;
  const std::uint32_t length = std::uint32_t(model.profile_of(where).memory_slices);
  return length == 1 ? fmt::format("{}", start) : fmt::format("{}-{}", start, start + length - 1);
}

const char* state_name(JobPhase phase) {
  switch (phase) {
    case JobPhase::kAbsent:
      return "NOT_SUBMITTED";
    case JobPhase::kQueued:
      return "SUBMITTED";
    case JobPhase::kRunning:
      return "RUNNING";
    case JobPhase::kDone:
      return "COMPLETED_SUCCESSFULLY";
    case JobPhase::kWithdrawn:
      return "COMPLETED_KILLED";
  }
  return "";
}

// A job's last slice. The cluster forgets it once the job has finished; the journal does not.
std::vector<PlacementId> last_slices(const RunRecord& run) {
  std::vector<PlacementId> last(run.jobs->size(), kNoPlacement);
  if (!run.events) return last;
  for (const Event& event : *run.events)
    if (event.kind == EventKind::kStarted || event.kind == EventKind::kFoundRunning)
      last[index(event.job)] = event.where;
  return last;
}

}  // namespace

std::string jobs_csv(const RunRecord& run) {
  const Workload& workload = run.jobs->workload();
  const std::vector<std::uint32_t> first = first_units(*run.platform);
  const std::vector<PlacementId> last = last_slices(run);
  const std::string source = csv_quote(workload.source);
  fmt::memory_buffer out;
  const auto put = [&](std::string_view text) { out.append(text.data(), text.data() + text.size()); };
  put("job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
      "starting_time,"
      "execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata,"
      "kind,deadline,tardiness_s,gpu,slice,stops\n");
  for (std::size_t j = 0; j < run.jobs->size(); ++j) {
    const Job& job = run.jobs->job(JobId(j));
    const JobState& state = run.final->states()[j];
    const bool done = state.phase == JobPhase::kDone, ran = state.type != kNoType;
    const Time execution = state.finish - state.first_start, turnaround = state.finish - job.submit;
    const std::string kind = csv_quote(workload.kind_of(job));
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},-1,{},{},{},", csv_quote(workload.name_of(j)), source, kind,
                   seconds_text(job.submit), ran ? run.platform->profile(state.type).memory_slices : 0, done ? 1 : 0,
                   state_name(state.phase), ran ? seconds_text(state.first_start) : "");
    fmt::format_to(
        std::back_inserter(out), "{},{},{},{},{},{},{},,", done ? seconds_text(execution) : "",
        done ? seconds_text(state.finish) : "", ran ? seconds_text(state.first_start - job.submit) : "",
        done ? seconds_text(turnaround) : "",
        done && execution > Time{0} ? fmt::format("{}", seconds(turnaround) / seconds(execution)) : "",
        last[j] != kNoPlacement ? units_of(*run.platform->model(state.gpu).gpu, last[j], first[index(state.gpu)]) : "",
        run.final->attributed_joules(JobId(j)));
    std::string slice;
    if (last[j] != kNoPlacement)
      slice = placement_name(*run.platform->model(state.gpu).gpu, last[j]);
    else if (ran)
      slice = run.platform->profile(state.type).name;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{}\n", kind,
                   job.deadline == kNever ? "" : seconds_text(job.deadline),
                   done ? seconds_text(tardiness_of(job, state.finish)) : "",
                   ran ? fmt::format("{}", index(state.gpu)) : "", slice, state.stops);
  }
  return fmt::to_string(out);
}

std::string schedule_json(const RunRecord& run) {
  Time longest_wait{}, longest_turnaround{};
  double slowdowns = 0, longest_slowdown = 0;
  std::size_t done = 0, with_slowdown = 0;
  for (std::size_t j = 0; j < run.jobs->size(); ++j) {
    const JobState& state = run.final->states()[j];
    if (state.phase != JobPhase::kDone) continue;
    ++done;
    const Time submit = run.jobs->job(JobId(j)).submit;
    longest_wait = std::max(longest_wait, state.first_start - submit);
    longest_turnaround = std::max(longest_turnaround, state.finish - submit);
    if (state.finish == state.first_start) continue;
    const double slowdown = seconds(state.finish - submit) / seconds(state.finish - state.first_start);
    slowdowns += slowdown;
    longest_slowdown = std::max(longest_slowdown, slowdown);
    ++with_slowdown;
  }
  const Summary& s = run.summary;
  std::string out = "{\n";
  const auto put = [&](const char* name, const std::string& value) {
    out += fmt::format("  \"{}\": {},\n", name, value);
  };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  put("makespan", seconds_text(run.final->now()));
  put("mean_waiting_time", number(s.mean_wait_min * 60));
  put("max_waiting_time", seconds_text(longest_wait));
  put("mean_turnaround_time", number(s.mean_turnaround_min * 60));
  put("max_turnaround_time", seconds_text(longest_turnaround));
  put("mean_slowdown", number(with_slowdown ? slowdowns / double(with_slowdown) : 0));
  put("max_slowdown", number(longest_slowdown));
  put("consumed_joules", number(s.energy_joules));
  put("nb_jobs", number(s.jobs));
  put("nb_jobs_finished", number(done));
  put("nb_jobs_success", number(done));
  put("nb_jobs_killed", "0");
  put("nb_jobs_rejected", "0");
  put("success_rate", number(s.jobs ? double(done) / double(s.jobs) : 0));
  put("nb_computing_machines", number(s.gpus));
  out += "  \"smartmig\": {\n";
  const auto fields = summary_fields(s);
  for (std::size_t i = 0; i < fields.size(); ++i)
    out += fmt::format("    \"{}\": {}{}\n", fields[i].first, fields[i].second, i + 1 < fields.size() ? "," : "");
  return out + "  }\n}\n";
}

std::string config_toml(const RunRecord& run) {
  std::string out = "# The effective configuration of this run.\n";
  const auto put = [&](std::string_view key, const std::string& value) {
    // Quotes what TOML does not accept as a number (a bare point, leading zeros), and long values such as hashes.
    const bool plain_start = !value.empty() && value[0] >= '0' && value[0] <= '9' &&
                             (value.size() == 1 || value[0] != '0' || value[1] == '.');
    const bool bare =
        (value.size() < 16 || value.find('.') != value.npos) &&
        (value == "true" || value == "false" || (plain_start && value.back() != '.' && parse_double(value)));
    out += fmt::format("{} = {}\n", key, bare ? value : json_text(value));
  };
  const Workload& workload = run.jobs->workload();
  put("version", run.version);
  put("gpus", run.platform->spec());
  put("power", run.platform->power_spec());
  put("cost", run.cost.name());
  if (run.cost.reshape) put("reshape_s", seconds_text(*run.cost.reshape));
  put("a", fmt::format("{}", run.summary.a));
  put("days", fmt::format("{}", run.summary.days));
  for (const auto& [key, value] : run.config) put(key, value);
  out += "\n[workload_read]\n";
  put("source", workload.source);
  put("reference_gpu", workload.reference_gpu);
  put("jobs", fmt::format("{}", workload.jobs.size()));
  put("hash", fmt::format("{:016x}", hash_of(workload)));
  out += "\n[power_models]\n";
  for (const Platform::Model& model : run.platform->models()) {
    out += fmt::format("# {}\n", valid_utf8(model.power.source()));
    put(json_text(model.gpu->name()), model.power.name());
  }
  return out;
}

std::string timing_json(const RunRecord& run) {
  return fmt::format("{{\"wall_s\": {}, \"events_per_s\": {}}}\n", run.wall_s,
                     run.wall_s > 0 ? double(run.summary.events) / run.wall_s : 0);
}

std::string partition_changes_csv(const RunRecord& run, const Timeline& line) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "time,gpu,event,changed,layout\n");
  for (const LayoutStep& step : line.layouts) {
    const GpuModel& model = *run.platform->model(step.gpu).gpu;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{}\n", seconds_text(step.at), index(step.gpu),
                   name_of(step.kind), to_string(model, step.changed), to_string(model, step.layout));
  }
  return fmt::to_string(out);
}

std::string machine_states_csv(const RunRecord& run, const Timeline& line) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n");
  std::uint32_t before = ~0u;
  for (const FleetStep& step : line.fleet) {
    if (step.busy_gpus == before) continue;
    before = step.busy_gpus;
    fmt::format_to(std::back_inserter(out), "{},0,0,0,{},{}\n", seconds_text(step.at),
                   run.platform->gpus() - step.busy_gpus, step.busy_gpus);
  }
  return fmt::to_string(out);
}

std::string consumed_energy_csv(const RunRecord&, const Timeline& line) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "time,energy,wattmin,epower,event_type\n");
  for (std::size_t i = 0; i < line.fleet.size(); ++i) {
    const FleetStep& step = line.fleet[i];
    fmt::format_to(std::back_inserter(out), "{},{:.3f},{:.3f},{:.3f},{}\n", seconds_text(step.at), step.joules,
                   line.idle_watts, i == 0 ? step.watts : line.fleet[i - 1].watts, step.type);
  }
  return fmt::to_string(out);
}

}  // namespace smartmig
