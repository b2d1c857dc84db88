#include "eval/state_json.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "eval/future_arrivals.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr int kVersion = 1;

struct GpuEntry {
  JsonObject object;
  std::shared_ptr<const GpuModel> model;
};

struct JobEntry {
  JsonObject object;
  Job job;
  std::string id, kind;
  double remaining = 1;
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
};

Result<std::vector<GpuEntry>> read_gpus(const std::string& name, const JsonObject& root) {
  SMARTMIG_TRY(const Json* list, root.list("gpus"));
  if (list->empty()) return root.error("gpus", "must hold at least one GPU");
  std::vector<GpuEntry> gpus;
  for (const Json& entry : *list) {
    SMARTMIG_TRY(const JsonObject object,
                 JsonObject::open(entry, name, fmt::format("gpus[{}]", gpus.size()), {"model", "layout", "target"}));
    SMARTMIG_TRY(const std::string model, object.text("model"));
    auto found = Catalog::builtin().find(model);
    if (!found) return object.error("model", "names no known GPU: " + found.error().what);
    gpus.push_back({object, std::move(*found)});
  }
  return gpus;
}

std::string fleet_spec(const std::vector<GpuEntry>& gpus) {
  std::string spec;
  for (std::size_t g = 0, count = 1; g < gpus.size(); ++g, ++count) {
    if (g + 1 < gpus.size() && gpus[g + 1].model->name() == gpus[g].model->name()) continue;
    spec += fmt::format("{}{}x{}", spec.empty() ? "" : ",", count, gpus[g].model->name());
    count = 0;
  }
  return spec;
}

// Fills the job's times from "work_s" (one number per size), or from "estimate_s" (on the whole GPU) and the kind's
// curve.
Result<Ok> read_work(const std::string& name, const GpuModel& reference, JobEntry& entry) {
  const JsonObject& object = entry.object;
  if (object.has("work_s") == object.has("estimate_s"))
    return object.error("work_s", "or estimate_s is required, and not both");
  if (object.has("estimate_s")) {
    SMARTMIG_TRY(const double estimate, object.number("estimate_s", 0, kMaxSeconds));
    const auto& rows = SpeedTable::builtin().rows();
    const bool measured = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.kind == entry.kind && row.gpu == reference.tables();
    });
    const auto no_curve = [&] {
      return object.error(
          "estimate_s",
          fmt::format("needs a kind that was measured on the whole {}; {}, so give work_s instead", reference.name(),
                      entry.kind.empty() ? "the job has none" : "'" + entry.kind + "' was not"));
    };
    if (!measured) return no_curve();
    const KindCurve curve = curve_of(entry.kind, reference.tables());
    if (curve.largest != reference.compute_slices()) return no_curve();
    curve.set_work(entry.job, curve.largest, estimate);
    entry.job.restart = curve.restart;
    for (const Time work : entry.job.work)
      if (work > from_seconds(kMaxSeconds)) return object.error("estimate_s", "is too long for the smallest slice");
    return Ok{};
  }
  std::vector<std::string> sizes;
  for (const Profile& profile : reference.profiles())
    if (profile.variant == Variant::kPlain) sizes.push_back(fmt::format("{}g", profile.compute_slices));
  SMARTMIG_TRY(const JsonObject work, JsonObject::open(*object.find("work_s"), name, object.path("work_s"), sizes));
  bool runs = false;
  for (const std::string& size : sizes) {
    if (!work.has(size)) continue;
    SMARTMIG_TRY(const double s, work.number(size, 0, kMaxSeconds));
    entry.job.work[std::size_t(*parse_int(std::string_view(size).substr(0, size.size() - 1)) - 1)] = from_seconds(s);
    runs = true;
  }
  if (!runs) return object.error("work_s", fmt::format("must hold at least one of {}", fmt::join(sizes, ", ")));
  return Ok{};
}

Result<Ok> read_place(const std::vector<GpuEntry>& gpus, JobEntry& entry) {
  const JsonObject& object = entry.object;
  if (!object.has("gpu") && !object.has("slice")) return Ok{};
  SMARTMIG_TRY(const std::int64_t gpu, object.integer("gpu", 0, std::int64_t(gpus.size()) - 1));
  SMARTMIG_TRY(const std::string slice, object.text("slice"));
  const auto layout = parse_layout(*gpus[std::size_t(gpu)].model, slice);
  if (!layout) return object.error("slice", "is wrong: " + layout.error().what);
  if (layout->size() != 1)
    return object.error("slice", fmt::format("must name one slice, for example 2g@4, not '{}'", slice));
  entry.gpu = GpuId(gpu);
  entry.where = *layout->begin();
  return Ok{};
}

// In the order of the list.
Result<std::vector<JobEntry>> read_jobs(const std::string& name, const JsonObject& root, double now_s,
                                        const GpuModel& reference, const std::vector<GpuEntry>& gpus) {
  static const std::vector<std::string> kKeys = {"id",      "submit_s",  "deadline_s", "kind", "work_s", "estimate_s",
                                                 "mem_mib", "restart_s", "remaining",  "gpu",  "slice"};
  SMARTMIG_TRY(const Json* list, root.list("jobs"));
  std::vector<JobEntry> jobs;
  std::unordered_set<std::string> seen;
  for (const Json& json : *list) {
    SMARTMIG_TRY(const JsonObject object, JsonObject::open(json, name, fmt::format("jobs[{}]", jobs.size()), kKeys));
    JobEntry entry{object};
    SMARTMIG_TRY(entry.id, object.text("id"));
    if (!seen.insert(entry.id).second) return object.error("id", fmt::format("'{}' is given twice", entry.id));
    SMARTMIG_TRY(entry.kind, object.text("kind", ""));
    SMARTMIG_TRY(const double submit, object.number("submit_s", 0, kMaxSeconds));
    if (submit > now_s)
      return object.error("submit_s", fmt::format("is {}, after now_s; leave out jobs that have not arrived", submit));
    entry.job.submit = from_seconds(submit);
    if (object.has("deadline_s")) {
      SMARTMIG_TRY(const double deadline, object.number("deadline_s", 0, kMaxSeconds));
      entry.job.deadline = from_seconds(deadline);
    }
    SMARTMIG_RETURN_IF_ERROR(read_work(name, reference, entry));
    SMARTMIG_TRY(const std::int64_t memory, object.integer("mem_mib", 0, INT32_MAX, -1));
    entry.job.mem_mib = int(memory);
    if (object.has("restart_s")) {
      SMARTMIG_TRY(const double restart, object.number("restart_s", 0, kMaxSeconds));
      entry.job.restart = from_seconds(restart);
    }
    SMARTMIG_TRY(entry.remaining, object.number("remaining", 0, 1, 1));
    SMARTMIG_RETURN_IF_ERROR(read_place(gpus, entry));
    jobs.push_back(std::move(entry));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobEntry& a, const JobEntry& b) { return a.job.submit < b.job.submit; });
  return jobs;
}

// What runs on each GPU. A slice can hold only one job.
Result<std::vector<Layout>> busy_slices(const std::vector<JobEntry>& jobs, const std::vector<GpuEntry>& gpus) {
  std::vector<Layout> busy(gpus.size());
  for (const JobEntry& job : jobs) {
    if (job.gpu == kNoGpu) continue;
    Layout& layout = busy[index(job.gpu)];
    const auto next = gpus[index(job.gpu)].model->with(layout, job.where);
    if (!next)
      return job.object.error(
          "slice", fmt::format("{} with the slice of another job on GPU {}",
                               layout.contains(job.where) ? "is shared" : "cannot exist together", index(job.gpu)));
    layout = *next;
  }
  return busy;
}

// Takes a layout with starts as it is, and a shape or paper number as the layout that keeps the busy slices.
Result<Layout> layout_in(const JsonObject& object, const char* key, const Platform::Model& model, Layout current,
                         Layout busy) {
  SMARTMIG_TRY(const std::string text, object.text(key));
  if (text.find('@') != text.npos) {
    const auto layout = parse_layout(*model.gpu, text);
    return layout ? layout : object.error(key, "is wrong: " + layout.error().what);
  }
  const auto shape = parse_shape(*model.gpu, text);
  if (!shape) return object.error(key, "is wrong: " + shape.error().what);
  const auto layout = model.shapes->realise(*shape, current, busy);
  if (!layout)
    return object.error(
        key, fmt::format("'{}' contains profiles that jobs are not placed on; write it with starts, as profile@start",
                         text));
  return *layout;
}

Result<JobTable> bind_jobs(const std::shared_ptr<Workload>& workload, const Platform& platform,
                           const std::vector<JobEntry>& entries) {
  auto table = JobTable::bind(workload, platform);
  if (table) return table;
  for (std::size_t j = 0; j < entries.size(); ++j) {  // finds the job that is wrong
    auto alone = std::make_shared<Workload>();
    alone->reference_gpu = workload->reference_gpu;
    alone->kinds = workload->kinds;
    alone->jobs = {workload->jobs[j]};
    alone->names = {workload->names[j]};
    if (const auto fits = JobTable::bind(alone, platform); !fits)
      return entries[j].object.error("work_s", "cannot be used: " + fits.error().what);
  }
  return table;
}

}  // namespace

Result<FleetState> parse_state(const std::string& name, std::string_view text, const CostModel& cost) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, name, "",
                                                       {"smartmig_state", "now_s", "gpus", "jobs", "power", "days",
                                                        "reference_gpu", "span_jobs"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_state", INT64_MIN, INT64_MAX));
  if (version != kVersion)
    return root.error("smartmig_state", fmt::format("is version {}, this program reads version {}", version, kVersion));
  SMARTMIG_TRY(const double now_s, root.number("now_s", 0, kMaxSeconds));
  const Time now = from_seconds(now_s);

  auto workload = std::make_shared<Workload>();
  workload->source = name;
  SMARTMIG_TRY(workload->days, root.number("days", 1e-6, 1e6, 1));
  SMARTMIG_TRY(const std::string reference_name, root.text("reference_gpu", workload->reference_gpu));
  const auto reference = Catalog::builtin().find(reference_name);
  if (!reference) return root.error("reference_gpu", "names no known GPU: " + reference.error().what);
  workload->reference_gpu = (*reference)->name();

  SMARTMIG_TRY(const std::vector<GpuEntry> gpus, read_gpus(name, root));
  SMARTMIG_TRY(const std::string power, root.text("power", "auto"));
  auto parsed = Platform::parse(fleet_spec(gpus), power);
  if (!parsed && power != "auto") return root.error("power", "cannot be used: " + parsed.error().what);
  const std::string no_power = parsed ? "" : parsed.error().what;
  if (!parsed) parsed = Platform::parse(fleet_spec(gpus), "linear:0:0:0");
  if (!parsed) return root.error("gpus", "cannot be used: " + parsed.error().what);
  const auto platform = std::make_shared<Platform>(std::move(*parsed));

  SMARTMIG_TRY(const std::vector<JobEntry> entries, read_jobs(name, root, now_s, **reference, gpus));
  std::map<std::string, int> kinds;
  for (const JobEntry& entry : entries) {
    workload->jobs.push_back(entry.job);
    workload->names.push_back(entry.id);
    if (entry.kind.empty()) continue;
    const auto [kind, added] = kinds.emplace(entry.kind, int(workload->kinds.size()));
    if (added) workload->kinds.push_back(entry.kind);
    workload->jobs.back().kind = kind->second;
  }
  SMARTMIG_TRY(const double span_jobs,
               root.number("span_jobs", 1, 1e12, double(std::max<std::size_t>(1, entries.size()))));
  SMARTMIG_TRY(JobTable table, bind_jobs(workload, *platform, entries));

  FoundFleet fleet{platform, std::make_shared<JobTable>(std::move(table)), cost, now, {}, {}, {}};
  SMARTMIG_TRY(const std::vector<Layout> busy, busy_slices(entries, gpus));
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const Platform::Model& model = platform->model(GpuId(g));
    SMARTMIG_TRY(const Layout layout, layout_in(gpus[g].object, "layout", model, {}, busy[g]));
    fleet.layouts.push_back(layout);
    fleet.targets.push_back(layout);
    if (!gpus[g].object.has("target")) continue;
    SMARTMIG_TRY(fleet.targets.back(), layout_in(gpus[g].object, "target", model, layout, busy[g]));
    if (cost.free() && fleet.targets.back() != layout)
      return gpus[g].object.error(
          "target",
          "differs from the layout, but under paper costs a change takes no time; leave it out, or "
          "use hardware costs");
  }
  for (std::size_t j = 0; j < entries.size(); ++j) {
    const JobEntry& entry = entries[j];
    if (entry.gpu != kNoGpu && !fleet.layouts[index(entry.gpu)].contains(entry.where))
      return entry.object.error("slice",
                                fmt::format("is not in the layout of GPU {}, {}", index(entry.gpu),
                                            to_string(*gpus[index(entry.gpu)].model, fleet.layouts[index(entry.gpu)])));
    if (entry.gpu != kNoGpu && fleet.jobs->work(JobId(j), platform->type_of(entry.gpu, entry.where)) < Time{0})
      return entry.object.error(
          "slice",
          fmt::format("does not fit job {}: no work is given for its size, or its memory is too small", entry.id));
    FoundJob found{entry.gpu, entry.where, {}, entry.remaining};
    if (entry.gpu != kNoGpu) {
      const Time whole = fleet.jobs->work(JobId(j), platform->type_of(entry.gpu, entry.where));
      found.left = rounded(entry.remaining * double(whole.count()));
    }
    fleet.found.push_back(found);
  }
  return FleetState{cluster_of(fleet), span_jobs, no_power};
}

}  // namespace smartmig
