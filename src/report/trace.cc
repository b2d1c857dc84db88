#include "report/trace.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json.h"
#include "report/journal.h"
#include "report/quote.h"

namespace smartmig {

std::string trace_json(const RunRecord& run, const Timeline& line) {
  fmt::memory_buffer out;
  bool first = true;
  const auto put = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), "{}", first ? "" : ",\n");
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    first = false;
  };
  fmt::format_to(std::back_inserter(out), "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  const std::size_t gpus = run.platform->gpus(), fleet = gpus + 1;
  put("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"fleet\"}}}}", fleet);
  put("{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"sort_index\":0}}}}", fleet);
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuModel& model = *run.platform->model(GpuId(g)).gpu;
    put("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"GPU {} ({})\"}}}}", g + 1, g,
        model.name());
    put("{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"sort_index\":{}}}}}", g + 1, g + 1);
    for (int start = 0; start < model.memory_slices(); ++start) {
      put("{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"slice at {}\"}}}}",
          g + 1, start + 1, start);
      put("{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}}}", g + 1,
          start + 1, start);
    }
  }
  const Workload& workload = run.jobs->workload();
  constexpr const char* kHow[] = {"finished", "stopped", "still running", "withdrawn"};
  for (const JobRun& r : line.runs) {
    const GpuModel& model = *run.platform->model(r.gpu).gpu;
    const Job& job = run.jobs->job(r.job);
    const std::string kind = workload.kind_of(job);
    const std::string deadline = job.deadline == kNever ? "null" : seconds_text(job.deadline);
    put("{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{},\"args\":{{\"job\":{},"
        "\"slice\":\"{}\",\"kind\":{},"
        "\"submit_s\":{},\"deadline_s\":{},\"late_s\":{},\"end\":\"{}\"}}}}",
        json_text("job " + workload.name_of(index(r.job))), json_text(kind.empty() ? "job" : kind), r.begin.count(),
        (r.end - r.begin).count(), index(r.gpu) + 1, model.placement(r.where).start + 1, index(r.job),
        placement_name(model, r.where), json_text(kind), seconds_text(job.submit), deadline,
        seconds_text(tardiness_of(job, r.end)), kHow[r.how]);
  }
  for (const LayoutStep& step : line.layouts)
    put("{{\"name\":\"{}\",\"cat\":\"layout\",\"ph\":\"i\",\"s\":\"p\",\"ts\":{},\"pid\":{},\"tid\":1,\"args\":{{"
        "\"slices\":\"{}\",\"layout\":\"{}\"}}}}",
        name_of(step.kind), step.at.count(), index(step.gpu) + 1,
        to_string(*run.platform->model(step.gpu).gpu, step.changed),
        to_string(*run.platform->model(step.gpu).gpu, step.layout));
  for (const GpuStep& step : line.gpus)
    put("{{\"name\":\"watts\",\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{{\"W\":{:.3f}}}}}", step.at.count(),
        index(step.gpu) + 1, step.watts);
  for (const FleetStep& step : line.fleet) {
    put("{{\"name\":\"fleet watts\",\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{{\"W\":{:.3f}}}}}", step.at.count(),
        fleet, step.watts);
    put("{{\"name\":\"jobs\",\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{{\"queued\":{},\"running\":{}}}}}",
        step.at.count(), fleet, step.queued, step.running);
  }
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace smartmig
