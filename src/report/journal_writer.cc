#include <fmt/format.h>

#include <iterator>

#include "base/json.h"
#include "report/journal.h"

namespace smartmig {
namespace {

template <class... Args>
void put(fmt::memory_buffer& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void put_time_or_null(fmt::memory_buffer& out, Time t) {
  if (t < Time{0})
    put(out, "null");
  else
    put(out, "{}", t.count());
}

}  // namespace

JournalWriter::JournalWriter(const Platform& platform, const std::vector<std::string>& kinds) : platform_(platform) {
  for (const Platform::Model& model : platform.models()) {
    names_.emplace_back();
    for (std::size_t p = 0; p < model.gpu->placements().size(); ++p)
      names_.back().push_back(json_text(placement_name(*model.gpu, PlacementId(p))));
  }
  for (const std::string& kind : kinds) kinds_.push_back(json_text(kind));
}

void JournalWriter::put_layout(Buffer& out, std::size_t gpu, Layout slices) const {
  const GpuModel& model = *platform_.model(GpuId(gpu)).gpu;
  const auto& names = names_[std::size_t(platform_.model_index(GpuId(gpu)))];
  const char* separator = "";
  put(out, "[");
  for (int start = 0; start < model.memory_slices(); ++start)
    for (PlacementId p : slices)
      if (model.placement(p).start == start) {
        put(out, "{}{}", separator, names[index(p)]);
        separator = ",";
      }
  put(out, "]");
}

std::string JournalWriter::header(const RunRecord& run) const {
  const Workload& workload = run.jobs->workload();
  Buffer out;
  put(out, "{{\"smartmig_journal\":{},\"version\":{},\"platform\":{},\"power\":{},\"cost\":\"{}\",\"reshape\":",
      kJournalVersion, json_text(run.version), json_text(run.platform->spec()), json_text(run.platform->power_spec()),
      run.cost.name());
  put_time_or_null(out, run.cost.reshape.value_or(Time{-1}));
  put(out, ",\"a\":{},\"days\":{},\"workload\":{},\"reference_gpu\":{},\"kinds\":[{}],\"config\":[", run.summary.a,
      run.summary.days, json_text(workload.source), json_text(workload.reference_gpu), fmt::join(kinds_, ","));
  const char* separator = "";
  for (const auto& [key, value] : run.config) {
    put(out, "{}[{},{}]", separator, json_text(key), json_text(value));
    separator = ",";
  }
  put(out, "],\"initial\":[");
  for (std::size_t first = 0, next = 0; first < run.initial.size(); first = next) {  // groups equal neighbouring GPUs
    while (next < run.initial.size() && run.initial[next] == run.initial[first] &&
           run.platform->model_index(GpuId(next)) == run.platform->model_index(GpuId(first)))
      ++next;
    put(out, "{}[{},", first == 0 ? "" : ",", next - first);
    put_layout(out, first, run.initial[first]);
    put(out, "]");
  }
  put(out, "]}}");
  return fmt::to_string(out);
}

void JournalWriter::put_job(Buffer& out, const Job& job, const std::string* name) const {
  if (name) put(out, ",\"name\":{}", json_text(*name));
  put(out, ",\"deadline\":");
  if (job.has_deadline())
    put(out, "{}", job.deadline.count());
  else
    put(out, "null");
  put(out, ",\"kind\":{},\"work\":[", job.kind < 0 ? "null" : kinds_[std::size_t(job.kind)].c_str());
  std::size_t sizes = job.work.size();
  while (sizes > 0 && job.work[sizes - 1] < Time{0}) --sizes;
  for (std::size_t k = 0; k < sizes; ++k) {
    if (k > 0) put(out, ",");
    put_time_or_null(out, job.work[k]);
  }
  put(out, "],\"mem\":");
  if (job.mem_mib < 0)
    put(out, "null");
  else
    put(out, "{}", job.mem_mib);
  put(out, ",\"restart\":");
  put_time_or_null(out, job.restart);
  if (job.patient) put(out, ",\"patient\":1");
  if (job.idle) put(out, ",\"idle\":1");
  if (job.crowding.log_slowdown != 0)
    put(out, ",\"log_slowdown\":{},\"beside\":{}", job.crowding.log_slowdown, job.crowding.beside);
}

std::string JournalWriter::event(std::size_t seq, const Event& event, std::size_t number, const Job* job,
                                 const std::string* name) const {
  Buffer out;
  put(out, "{{\"t\":{},\"seq\":{},\"ev\":\"{}\"", event.at.count(), seq, name_of(event.kind));
  switch (event.kind) {
    case EventKind::kSubmitted:
      put(out, ",\"job\":{}", number);
      put_job(out, *job, name);
      break;
    case EventKind::kStarted:
      put(out, ",\"job\":{},\"gpu\":{},\"slice\":{}", number, index(event.gpu),
          names_[std::size_t(platform_.model_index(event.gpu))][index(event.where)]);
      break;
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      put(out, ",\"job\":{},\"gpu\":{},\"slice\":{},\"left\":{}", number, index(event.gpu),
          names_[std::size_t(platform_.model_index(event.gpu))][index(event.where)], event.left.count());
      break;
    case EventKind::kFinished:
    case EventKind::kStopped:
    case EventKind::kWithdrawn:
    case EventKind::kOverrun:
      put(out, ",\"job\":{}", number);
      break;
    case EventKind::kReshapeAsked:
    case EventKind::kDestroyed:
    case EventKind::kCreated:
      put(out, ",\"gpu\":{},\"slices\":", index(event.gpu));
      put_layout(out, index(event.gpu), event.layout);
      break;
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      put(out, ",\"gpu\":{}", index(event.gpu));
      break;
  }
  put(out, "}}");
  return fmt::to_string(out);
}

std::string journal_text(const RunRecord& run) {
  SMARTMIG_CHECK(run.events, "a run without its journal cannot be written as one");
  const Workload& workload = run.jobs->workload();
  const JournalWriter writer(*run.platform, workload.kinds);
  std::string text = writer.header(run) + "\n";
  for (std::size_t seq = 0; seq < run.events->size(); ++seq) {
    const Event& event = (*run.events)[seq];
    const bool arrival = event.kind == EventKind::kSubmitted;
    text += writer.event(seq, event, index(event.job), arrival ? &run.jobs->job(event.job) : nullptr,
                         arrival && !workload.names.empty() ? &workload.names[index(event.job)] : nullptr);
    text += '\n';
  }
  return text;
}

}  // namespace smartmig
