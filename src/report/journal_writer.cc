#include <fmt/format.h>

#include <iterator>

#include "report/journal.h"
#include "report/journal_names.h"
#include "report/quote.h"

namespace smartmig {
namespace {

using Buffer = fmt::memory_buffer;

class Writer {
 public:
  explicit Writer(const RunRecord& run) : run_(run) {
    for (const Platform::Model& model : run.platform->models()) {
      names_.emplace_back();
      for (std::size_t p = 0; p < model.gpu->placements().size(); ++p)
        names_.back().push_back(json_quote(placement_name(*model.gpu, PlacementId(p))));
    }
    for (const std::string& kind : run.jobs->workload().kinds) kinds_.push_back(json_quote(kind));
  }

  std::string text() {
    header();
    for (std::size_t seq = 0; seq < run_.events->size(); ++seq) event(seq, (*run_.events)[seq]);
    return fmt::to_string(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  const std::string& name(std::size_t gpu, PlacementId p) const {
    return names_[std::size_t(run_.platform->model_index(GpuId(gpu)))][index(p)];
  }

  void layout(std::size_t gpu, Layout slices) {  // by start
    const GpuModel& model = *run_.platform->model(GpuId(gpu)).gpu;
    const char* separator = "";
    put("[");
    for (int start = 0; start < model.memory_slices(); ++start)
      for (PlacementId p : slices)
        if (model.placement(p).start == start) {
          put("{}{}", separator, name(gpu, p));
          separator = ",";
        }
    put("]");
  }

  void header() {
    const Workload& workload = run_.jobs->workload();
    put("{{\"smartmig_journal\":{},\"version\":{},\"platform\":{},\"power\":{},\"cost\":\"{}\",\"reshape\":",
        kJournalVersion, json_quote(run_.version), json_quote(run_.platform->spec()),
        json_quote(run_.platform->power_spec()), run_.cost.name());
    time_or_null(run_.cost.reshape.value_or(Time{-1}));
    put(",\"a\":{},\"days\":{},\"workload\":{},\"reference_gpu\":{},\"kinds\":[{}],\"config\":[", run_.summary.a,
        run_.summary.days, json_quote(workload.source), json_quote(workload.reference_gpu), fmt::join(kinds_, ","));
    const char* separator = "";
    for (const auto& [key, value] : run_.config) {
      put("{}[{},{}]", separator, json_quote(key), json_quote(value));
      separator = ",";
    }
    put("],\"initial\":[");
    for (std::size_t first = 0, next = 0; first < run_.initial.size(); first = next) {  // runs of equal GPUs
      while (next < run_.initial.size() && run_.initial[next] == run_.initial[first] &&
             run_.platform->model_index(GpuId(next)) == run_.platform->model_index(GpuId(first)))
        ++next;
      put("{}[{},", first == 0 ? "" : ",", next - first);
      layout(first, run_.initial[first]);
      put("]");
    }
    put("]}}\n");
  }

  void time_or_null(Time t) {
    if (t < Time{0})
      put("null");
    else
      put("{}", t.count());
  }

  void job(JobId id) {
    const Workload& workload = run_.jobs->workload();
    const Job& job = run_.jobs->job(id);
    if (!workload.names.empty()) put(",\"name\":{}", json_quote(workload.names[index(id)]));
    put(",\"deadline\":");
    if (job.deadline == kNever)
      put("null");
    else
      put("{}", job.deadline.count());
    put(",\"kind\":{},\"work\":[", job.kind < 0 ? "null" : kinds_[std::size_t(job.kind)].c_str());
    std::size_t sizes = job.work.size();
    while (sizes > 0 && job.work[sizes - 1] < Time{0}) --sizes;
    for (std::size_t k = 0; k < sizes; ++k) {
      if (k > 0) put(",");
      time_or_null(job.work[k]);
    }
    put("],\"mem\":");
    if (job.mem_mib < 0)
      put("null");
    else
      put("{}", job.mem_mib);
    put(",\"restart\":");
    time_or_null(job.restart);
  }

  void event(std::size_t seq, const Event& event) {
    put("{{\"t\":{},\"seq\":{},\"ev\":\"{}\"", event.at.count(), seq, name_of(event.kind));
    switch (event.kind) {
      case EventKind::kSubmitted:
        put(",\"job\":{}", index(event.job));
        job(event.job);
        break;
      case EventKind::kStarted:
        put(",\"job\":{},\"gpu\":{},\"slice\":{}", index(event.job), index(event.gpu),
            name(index(event.gpu), event.where));
        break;
      case EventKind::kFinished:
      case EventKind::kStopped:
        put(",\"job\":{}", index(event.job));
        break;
      case EventKind::kReshapeAsked:
      case EventKind::kDestroyed:
      case EventKind::kCreated:
        put(",\"gpu\":{},\"slices\":", index(event.gpu));
        layout(index(event.gpu), event.layout);
        break;
    }
    put("}}\n");
  }

  const RunRecord& run_;
  Buffer out_;
  std::vector<std::vector<std::string>> names_;  // quoted, by model and placement
  std::vector<std::string> kinds_;               // quoted
};

}  // namespace

std::string journal_text(const RunRecord& run) {
  SMARTMIG_CHECK(run.events, "a run without its journal cannot be written as one");
  return Writer(run).text();
}

}  // namespace smartmig
