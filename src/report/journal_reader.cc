#include <algorithm>
#include <map>

#include "base/errors.h"
#include "report/fold.h"
#include "report/journal.h"
#include "report/json_line.h"

namespace smartmig {

PlacementId find_placement(const GpuModel& model, std::string_view name) {
  const auto at = name.rfind('@');
  if (at == name.npos) return kNoPlacement;
  for (std::size_t p = 0; p < model.placements().size(); ++p)
    if (model.profile_of(PlacementId(p)).name == name.substr(0, at) && placement_name(model, PlacementId(p)) == name)
      return PlacementId(p);
  return kNoPlacement;
}

namespace {

constexpr std::int64_t kMaxTime = std::int64_t(kMaxSeconds * 1e6);
constexpr std::int64_t kNone = INT64_MIN;  // stands for null

class Reader {
 public:
  explicit Reader(LineReader lines) : lines_(std::move(lines)) {}

  Result<std::unique_ptr<ReplayedRun>> read(std::optional<double> a) {
    SMARTMIG_RETURN_IF_ERROR(read_header());
    for (;;) {
      SMARTMIG_TRY(const auto line, lines_.next());
      if (!line) break;
      SMARTMIG_TRY(JsonLine object, JsonLine::parse(*line, lines_.name(), lines_.line()));
      if (object.has("note")) continue;  // a daemon's note, not an event
      SMARTMIG_RETURN_IF_ERROR(read_event(object));
    }
    return replay(a);
  }

 private:
  Result<Ok> read_header() {
    SMARTMIG_TRY(const auto line, lines_.next());
    if (!line) return invalid("{} is empty; a journal starts with a header line", lines_.name());
    SMARTMIG_TRY(JsonLine header, JsonLine::parse(*line, lines_.name(), 1));
    if (!header.has("smartmig_journal"))
      return invalid("{} line 1: not a smartmig journal: the header has no field 'smartmig_journal'", lines_.name());
    SMARTMIG_TRY(const std::int64_t format, header.integer("smartmig_journal", 1, INT64_MAX));
    SMARTMIG_TRY(record_.version, header.text("version"));
    if (format > kJournalVersion)
      return unsupported(
          "{} is a journal of format {}, written by smartmig {}; this smartmig reads formats up to "
          "{}, so use a newer one",
          lines_.name(), format, record_.version, kJournalVersion);
    SMARTMIG_TRY(const std::string spec, header.text("platform"));
    SMARTMIG_TRY(const std::string power, header.text("power"));
    auto platform = Platform::parse(spec, power);
    if (!platform) return header.error("platform", platform.error().what);
    record_.platform = std::make_shared<const Platform>(std::move(*platform));
    SMARTMIG_TRY(const std::string cost, header.text("cost"));
    const auto parsed = CostModel::parse(cost);
    if (!parsed) return header.error("cost", parsed.error().what);
    record_.cost = *parsed;
    SMARTMIG_TRY(const std::int64_t reshape, header.integer_or_null("reshape", 0, kMaxTime, kNone));
    if (reshape != kNone) record_.cost.reshape = Time(reshape);
    SMARTMIG_TRY(record_.summary.a, header.number("a", 0, 1e6));
    SMARTMIG_TRY(workload_.days, header.number("days", 1e-6, 1e6));
    SMARTMIG_TRY(workload_.source, header.text("workload"));
    SMARTMIG_TRY(workload_.reference_gpu, header.text("reference_gpu"));
    if (const auto known = Catalog::builtin().find(workload_.reference_gpu); !known)
      return header.error("reference_gpu", known.error().what);
    SMARTMIG_TRY(const Json* kinds, header.array("kinds"));
    for (const Json& kind : *kinds) {
      if (!kind.is_string()) return header.error("kinds", "must be a list of texts");
      if (!kind_index_.emplace(kind.get<std::string>(), int(workload_.kinds.size())).second)
        return header.error("kinds", "names a kind twice");
      workload_.kinds.push_back(kind.get<std::string>());
    }
    SMARTMIG_TRY(const Json* config, header.array("config"));
    for (const Json& entry : *config) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
        return header.error("config", "must be a list of [name, value]");
      record_.config.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
    }
    SMARTMIG_RETURN_IF_ERROR(read_initial(header));
    return header.end();
  }

  Result<Ok> read_initial(JsonLine& header) {
    SMARTMIG_TRY(const Json* runs, header.array("initial"));
    const std::size_t gpus = record_.platform->gpus();
    for (const Json& run : *runs) {
      if (!run.is_array() || run.size() != 2)
        return header.error("initial", "must be a list of [number of GPUs, layout]");
      SMARTMIG_TRY(const std::int64_t count, header.integer_in(run[0], "initial", 1, std::int64_t(gpus)));
      if (std::size_t(count) > gpus - record_.initial.size())
        return header.error("initial", fmt::format("has layouts for more than {} GPUs", gpus));
      for (std::int64_t i = 0; i < count; ++i) {
        const GpuId gpu{std::uint32_t(record_.initial.size())};
        const bool as_before =
            i > 0 && record_.platform->model_index(gpu) == record_.platform->model_index(GpuId(index(gpu) - 1));
        if (as_before) {
          record_.initial.push_back(record_.initial.back());
          continue;
        }
        SMARTMIG_TRY(const Layout layout, layout_in(header, "initial", run[1], gpu));
        record_.initial.push_back(layout);
      }
    }
    if (record_.initial.size() != gpus)
      return header.error("initial", fmt::format("has layouts for {} of {} GPUs", record_.initial.size(), gpus));
    return Ok{};
  }

  Result<PlacementId> slice_in(const JsonLine& line, const char* field, const std::string& name, GpuId gpu) const {
    const GpuModel& model = *record_.platform->model(gpu).gpu;
    const PlacementId p = find_placement(model, name);
    if (p == kNoPlacement)
      return line.error(field, fmt::format("{} has no slice '{}'; write PROFILE@START", model.name(), name));
    return p;
  }

  Result<Layout> layout_in(const JsonLine& line, const char* field, const Json& names, GpuId gpu) const {
    if (!names.is_array()) return line.error(field, "a layout must be a list of slices");
    const GpuModel& model = *record_.platform->model(gpu).gpu;
    Layout layout;
    for (const Json& name : names) {
      if (!name.is_string()) return line.error(field, "a layout must be a list of slices");
      SMARTMIG_TRY(const PlacementId p, slice_in(line, field, name.get<std::string>(), gpu));
      const auto next = model.with(layout, p);
      if (!next)
        return line.error(field,
                          fmt::format("{} does not fit with {}", name.get<std::string>(), to_string(model, layout)));
      layout = *next;
    }
    return layout;
  }

  Result<GpuId> gpu_in(JsonLine& line) const {
    SMARTMIG_TRY(const std::int64_t gpu, line.integer("gpu", 0, std::int64_t(record_.platform->gpus()) - 1));
    return GpuId(std::uint32_t(gpu));
  }

  Result<Ok> read_event(JsonLine& line) {
    Event event;
    SMARTMIG_TRY(const std::int64_t t, line.integer("t", 0, kMaxTime));
    event.at = Time(t);
    SMARTMIG_TRY(const std::int64_t seq, line.integer("seq", 0, INT64_MAX));
    if (std::size_t(seq) != events_.size())
      return line.error("seq",
                        fmt::format("is {} instead of {}: a line is missing or out of order", seq, events_.size()));
    SMARTMIG_TRY(const std::string name, line.text("ev"));
    const auto kind = event_kind(name);
    if (!kind) return line.error("ev", fmt::format("'{}' is not one of {}", name, fmt::join(kEventNames, ", ")));
    event.kind = *kind;
    switch (event.kind) {
      case EventKind::kSubmitted:
        SMARTMIG_RETURN_IF_ERROR(read_job(line, event));
        break;
      case EventKind::kStarted:
        SMARTMIG_RETURN_IF_ERROR(read_job_on_slice(line, event));
        break;
      case EventKind::kFoundRunning:
      case EventKind::kFoundWaiting: {
        SMARTMIG_RETURN_IF_ERROR(read_job_on_slice(line, event));
        SMARTMIG_TRY(const std::int64_t left,
                     line.integer("left", event.kind == EventKind::kFoundRunning ? -kMaxTime : 0, kMaxTime));
        event.left = Time(left);
        break;
      }
      case EventKind::kFinished:
      case EventKind::kStopped:
      case EventKind::kWithdrawn:
      case EventKind::kOverrun:
        SMARTMIG_RETURN_IF_ERROR(read_job_id(line, event));
        if ((event.kind == EventKind::kFinished || event.kind == EventKind::kWithdrawn) && !written_names_.empty())
          bearers_[written_names_[index(event.job)]].gone = true;
        break;
      case EventKind::kReshapeAsked:
      case EventKind::kDestroyed:
      case EventKind::kCreated: {
        SMARTMIG_TRY(event.gpu, gpu_in(line));
        SMARTMIG_TRY(const Json* slices, line.array("slices"));
        SMARTMIG_TRY(event.layout, layout_in(line, "slices", *slices, event.gpu));
        break;
      }
      case EventKind::kBlocked:
      case EventKind::kUnblocked: {
        SMARTMIG_TRY(event.gpu, gpu_in(line));
        break;
      }
    }
    SMARTMIG_RETURN_IF_ERROR(line.end());
    events_.push_back(event);
    event_lines_.push_back(lines_.line());
    return Ok{};
  }

  Result<Ok> read_job_id(JsonLine& line, Event& event) const {
    SMARTMIG_TRY(const std::int64_t id, line.integer("job", 0, std::int64_t(UINT32_MAX) - 1));
    if (std::size_t(id) >= workload_.jobs.size())
      return line.error("job", fmt::format("job {} was not submitted before this line", id));
    event.job = JobId(std::uint32_t(id));
    return Ok{};
  }

  Result<Ok> read_job_on_slice(JsonLine& line, Event& event) const {
    SMARTMIG_RETURN_IF_ERROR(read_job_id(line, event));
    SMARTMIG_TRY(event.gpu, gpu_in(line));
    SMARTMIG_TRY(const std::string slice, line.text("slice"));
    SMARTMIG_TRY(event.where, slice_in(line, "slice", slice, event.gpu));
    return Ok{};
  }

  // A daemon's job that returns to the queue comes again under its name; the second one is called NAME#2.
  std::string name_for(std::string name) {
    Bearers& bearers = bearers_[name];
    written_names_.push_back(name);
    const bool returns = std::exchange(bearers.gone, false);
    ++bearers.count;
    return returns ? fmt::format("{}#{}", name, bearers.count) : name;
  }

  Result<Ok> read_job(JsonLine& line, Event& event) {
    SMARTMIG_TRY(const std::int64_t id, line.integer("job", 0, std::int64_t(UINT32_MAX) - 1));
    const std::size_t due = workload_.jobs.size();
    if (std::size_t(id) < due) return line.error("job", fmt::format("job {} was submitted before", id));
    if (std::size_t(id) > due)
      return line.error("job", fmt::format("is {} instead of {}: jobs are numbered in order of submission", id, due));
    event.job = JobId(std::uint32_t(id));
    Job job;
    job.submit = event.at;
    if (due > 0 && job.submit < workload_.jobs.back().submit)
      return line.error("t", "is before the previous submission");
    if (line.has("name") != (due == 0 ? line.has("name") : !workload_.names.empty()))
      return line.error("name", "must be given for every job or for none");
    if (line.has("name")) {
      SMARTMIG_TRY(std::string name, line.text("name"));
      workload_.names.push_back(name_for(std::move(name)));
    }
    SMARTMIG_TRY(const std::int64_t deadline, line.integer_or_null("deadline", -kMaxTime, kMaxTime, kNone));
    if (deadline != kNone) job.deadline = Time(deadline);
    if (line.is_null("kind")) {
      SMARTMIG_RETURN_IF_ERROR(line.take_null("kind"));
    } else {
      SMARTMIG_TRY(const std::string kind, line.text("kind"));
      const auto found = kind_index_.find(kind);
      if (found == kind_index_.end())
        return line.error("kind", fmt::format("'{}' is not in the header's list of kinds", kind));
      job.kind = found->second;
    }
    SMARTMIG_TRY(const Json* work, line.array("work"));
    if (work->empty() || work->size() > job.work.size())
      return line.error("work", fmt::format("must list 1 to {} times", job.work.size()));
    for (std::size_t k = 0; k < work->size(); ++k) {
      if ((*work)[k].is_null()) continue;
      SMARTMIG_TRY(const std::int64_t us, line.integer_in((*work)[k], "work", 0, kMaxTime));
      job.work[k] = Time(us);
    }
    if (work->back().is_null()) return line.error("work", "must end with a time: trailing nulls are left out");
    SMARTMIG_TRY(const std::int64_t mem, line.integer_or_null("mem", 0, INT32_MAX, -1));
    job.mem_mib = int(mem);
    SMARTMIG_TRY(const std::int64_t restart, line.integer_or_null("restart", 0, kMaxTime, -1));
    job.restart = Time(restart);
    if (line.has("patient")) {
      SMARTMIG_TRY(const std::int64_t patient, line.integer("patient", 0, 1));
      job.patient = patient == 1;
    }
    if (line.has("idle")) {
      SMARTMIG_TRY(const std::int64_t idle, line.integer("idle", 0, 1));
      job.idle = idle == 1;
    }
    if (line.has("log_slowdown")) {
      SMARTMIG_TRY(job.crowding.log_slowdown, line.number("log_slowdown", 0, kMostSlowdown));
      SMARTMIG_TRY(job.crowding.beside, line.number("beside", 0, kMostBeside));
    }
    workload_.jobs.push_back(job);
    return Ok{};
  }

  Result<std::unique_ptr<ReplayedRun>> replay(std::optional<double> a) {
    if (const auto valid = validate(workload_); !valid) return invalid("{}: {}", lines_.name(), valid.error().what);
    const double days = workload_.days;
    auto jobs = JobTable::bind(std::make_shared<const Workload>(std::move(workload_)), *record_.platform);
    if (!jobs) return invalid("{}: {}", lines_.name(), jobs.error().what);
    record_.jobs = std::make_shared<const JobTable>(std::move(*jobs));
    Cluster cluster(record_.platform, record_.jobs, record_.cost, record_.initial);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (const std::string objection = objection_to(cluster, event); !objection.empty())
        return invalid("{} line {}: '{}' cannot happen here: {}", lines_.name(), event_lines_[i], name_of(event.kind),
                       objection);
      fold(cluster, event);
    }
    cluster.end_decision(false);
    record_.summary = summarize(cluster, a.value_or(record_.summary.a), days);
    auto run =
        std::unique_ptr<ReplayedRun>(new ReplayedRun{std::move(events_), std::move(cluster), std::move(record_)});
    run->record.events = &run->events;
    run->record.final = &run->final;
    return run;
  }

  LineReader lines_;
  RunRecord record_;
  Workload workload_;
  std::vector<Event> events_;
  std::vector<std::int64_t> event_lines_;
  std::map<std::string, int, std::less<>> kind_index_;
  struct Bearers {
    int count = 0;
    bool gone = false;  // whether the last of them has gone
  };
  std::map<std::string, Bearers> bearers_;
  std::vector<std::string> written_names_;  // by job, as written in the journal
};

}  // namespace

Result<std::unique_ptr<ReplayedRun>> replay_journal(LineReader lines, std::optional<double> a) {
  return Reader(std::move(lines)).read(a);
}

}  // namespace smartmig
