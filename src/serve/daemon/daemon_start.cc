// How a daemon comes to be: what the GPUs show, what the store remembers, what still runs.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

Time local_midnight(Time unix) {
  const std::time_t now = std::time_t(unix.count() / 1'000'000);
  std::tm local{};
  if (!::localtime_r(&now, &local)) return unix;
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  const std::time_t midnight = std::mktime(&local);
  return midnight < 0 ? unix : Time(std::int64_t(midnight) * 1'000'000);
}

}  // namespace

std::string user_name(std::uint32_t uid) {
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_name;
  return std::to_string(uid);
}

Result<std::unique_ptr<Daemon>> Daemon::open(DaemonWorld world, Settings settings) {
  std::unique_ptr<Daemon> daemon(new Daemon(world, std::move(settings)));
  SMARTMIG_TRY(const auto repaired, world.reshaper.recover());
  SMARTMIG_TRY(const StoreStart start, world.store.start());
  SMARTMIG_RETURN_IF_ERROR(daemon->find_gpus(start));
  SMARTMIG_RETURN_IF_ERROR(daemon->load_values(start));
  SMARTMIG_RETURN_IF_ERROR(daemon->load_jobs(start));
  SMARTMIG_RETURN_IF_ERROR(daemon->make_policies());
  daemon->begin_session(start.last_event);
  for (const std::string& words : repaired)
    daemon->journal_->note(daemon->belief_->inside(daemon->now()), "repaired", "\"words\":" + Json(words).dump());
  SMARTMIG_RETURN_IF_ERROR(daemon->find_running());
  daemon->ask_for_initial_layouts();
  return daemon;
}

Daemon::~Daemon() {
  advice_.reset();
  lanes_.reset();
}

Result<Ok> Daemon::find_gpus(const StoreStart& start) {
  SMARTMIG_TRY(auto boards, world_.driver.inventory());
  if (boards.empty()) return not_found("this machine has no GPU; try smartmig serve --emulate 8xa100-40gb");
  // A board that is lost cannot say what it is: it is what was in its place before, and out of service.
  const auto kept = start.values.find("boards");
  const Json known = kept == start.values.end() ? Json::array() : Json::parse(kept->second, nullptr, false);
  for (std::size_t i = 0; i < boards.size() && known.is_array() && i < known.size(); ++i) {
    GpuBoard& board = boards[i];
    if (board.model || board.trouble.empty() || !known[i].is_object()) continue;
    if (!board.uuid.empty() && board.uuid != known[i].value("uuid", "")) continue;
    const auto model = Catalog::builtin().find(known[i].value("model", ""));
    if (!model) continue;
    board.uuid = known[i].value("uuid", "");
    board.product = known[i].value("product", "");
    board.model = *model;
  }
  Json seen = Json::array();
  for (const GpuBoard& board : boards)
    seen.push_back(
        {{"uuid", board.uuid}, {"product", board.product}, {"model", board.model ? board.model->name() : ""}});
  batch_.values["boards"] = seen.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string spec;
  for (std::size_t i = 0, next = 0; i < boards.size(); i = next) {
    if (!boards[i].model)
      return Error{Error::kUnsupported,
                   boards[i].trouble.empty()
                       ? fmt::format("{} is not in the catalogue of GPU models", title(boards[i]))
                       : fmt::format("{}, and what it is was never seen: repair or remove it", boards[i].trouble)};
    while (next < boards.size() && boards[next].model && boards[next].model->name() == boards[i].model->name()) ++next;
    spec += fmt::format("{}{}x{}", spec.empty() ? "" : ",", next - i, boards[i].model->name());
  }
  SMARTMIG_TRY(auto platform, Platform::parse(spec, world_.power_model));
  platform_ = std::make_shared<const Platform>(std::move(platform));
  for (GpuBoard& board : boards) {
    GpuFacts facts;
    facts.trouble = board.trouble;
    if (const auto entry = world_.reshaper.quarantine().find(board.uuid)) facts.trouble = entry->reason;
    if (facts.trouble.empty() && !foreign_layout(board).empty())
      facts.trouble = fmt::format("{} has slices that somebody else made ({}); start with --adopt to take them over",
                                  title(board), to_string(*board.model, foreign_layout(board)));
    facts.board = std::move(board);
    gpus_.push_back(std::move(facts));
  }
  return Ok{};
}

Result<Ok> Daemon::load_values(const StoreStart& start) {
  const auto value = [&](const char* key) {
    const auto at = start.values.find(key);
    return at == start.values.end() ? std::string() : at->second;
  };
  Time origin = world_.clock.is_virtual() ? Time{0} : local_midnight(now());
  if (const std::string text = value("origin_us"); !text.empty()) {
    const auto us = parse_int(text);
    if (!us) return invalid("the store's origin_us is '{}', no number", text);
    origin = Time(*us);
  }
  batch_.values["origin_us"] = std::to_string(origin.count());
  if (const std::string text = value("platform"); !text.empty() && text != platform_->spec())
    fleet_changed_ = fmt::format("the fleet is {} now and was {}", platform_->spec(), text);
  batch_.values["platform"] = platform_->spec();
  paused_ = value("paused") == "1";
  for (const std::string_view item : split(value("drained"), ','))
    if (const auto gpu = parse_int(item); gpu && *gpu >= 0 && std::size_t(*gpu) < gpus_.size()) {
      gpus_[std::size_t(*gpu)].by_operator = true;
      gpus_[std::size_t(*gpu)].drained = "drained by the operator";
    }
  if (const std::string text = value("accounts"); !text.empty())
    for (const std::string_view item : split(text, ',')) {
      const auto colon = item.find(':');
      const auto uid = parse_int(item.substr(0, colon));
      const auto us = colon == item.npos ? std::nullopt : parse_int(item.substr(colon + 1));
      if (uid && us) admission_.set_account(std::uint32_t(*uid), Time(*us));
    }
  if (const std::string text = value("last_without_log"); !text.empty()) {
    const auto at = parse_int(text.substr(0, text.find(':'))), job = parse_int(text.substr(text.find(':') + 1));
    if (at && job) last_without_log_ = {*at, std::uint64_t(*job)};
  }
  if (const std::string text = value("history"); !text.empty()) {
    SMARTMIG_TRY(history_, History::parse("stored history", text));
  }
  if (const std::string text = value("energy"); !text.empty()) SMARTMIG_RETURN_IF_ERROR(meter_.restore(text));
  const std::size_t slices = std::size_t(platform_->total_compute_slices());
  belief_ = std::make_unique<Belief>(platform_, origin, 4 * (std::size_t(settings_.limits.window) + slices + 64));
  started_at_ = now();
  next_sample_ = now();
  next_save_ = now() + std::chrono::seconds(60);
  next_prune_ = now() + std::chrono::minutes(1);
  return Ok{};
}

Result<Ok> Daemon::load_jobs(const StoreStart& start) {
  last_id_ = std::max(start.last_job, world_.runner.last_job());
  for (const JobRow& row : start.live) {
    SMARTMIG_TRY(JobRecord job, from_row(row));
    for (const Dependency& d : job.spec.dependencies) waiting_[d.job].push_back(job.id);
    const std::uint64_t id = job.id;
    jobs_.emplace(id, std::move(job));
  }
  return Ok{};
}

void Daemon::begin_session(std::uint64_t last_event) {
  std::vector<Layout> layouts;
  for (const GpuFacts& facts : gpus_) layouts.push_back(facts.board.layout);
  Cluster cluster(platform_, belief_->table(), cost_, layouts, belief_->inside(now()));
  journal_ = std::make_unique<LiveJournal>(platform_, belief_->origin(), last_event);
  journal_->set_table(belief_->table(), {});
  RunRecord run;
  run.platform = platform_;
  run.jobs = belief_->table();
  run.cost = cost_;
  run.initial = layouts;
  run.version = world_.version;
  run.config = {{"policy", policies_->name()}, {"world", world_.driver.name()}};
  run.summary.a = 2e-7;
  run.summary.days = 1;
  journal_->begin_run(run, cluster.now());
  fleet_ = std::make_unique<LiveFleet>(cluster);
  session_ = std::make_unique<Session>(*fleet_, std::move(cluster), journal_.get());
  lanes_ = std::make_unique<GpuLanes>(world_.driver, world_.reshaper, world_.clock, [this](LaneResult result) {
    {
      std::lock_guard lock(mutex_);
      lane_results_.push_back(std::move(result));
    }
    world_.clock.wake();
  });
  if (!fleet_changed_.empty())
    journal_->note(belief_->inside(now()), "fleet_changed", "\"words\":" + Json(fleet_changed_).dump());
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (!gpus_[g].trouble.empty() || gpus_[g].by_operator)
      fleet_->tell(Event::blocked(belief_->inside(now()), GpuId(g)));
}

// What the records call running is compared with what runs. Jobs that are alive enter the belief where they are; those
// that ended meanwhile are told as ended by the first step; those that never began wait again.
Result<Ok> Daemon::find_running() {
  std::vector<AttemptId> expected;
  for (const auto& [id, job] : jobs_)
    if (job.status == JobStatus::kStarting || job.status == JobStatus::kRunning || job.status == JobStatus::kStopping)
      expected.push_back({id, job.attempt});
  SMARTMIG_TRY(JobRunner::Found found, world_.runner.recover(expected));
  std::set<AttemptId> alive(found.running.begin(), found.running.end());
  std::map<AttemptId, AttemptExit> ended;
  for (AttemptExit& exit : found.ended) ended[exit.id] = std::move(exit);
  for (const AttemptId& id : expected) {
    JobRecord& job = jobs_.at(id.job);
    if (!alive.count(id) && !ended.count(id)) {
      if (job.wish == JobRecord::kCancel) {
        finish(job, JobStatus::kCancelled, job.reason, false);
      } else {
        job.status = JobStatus::kQueued;
        job.wish = JobRecord::kNothing;
        job.gpu = -1;
        job.slice.clear();
        job.device.clear();
        changed(job);
      }
      continue;
    }
    attempts_[id] = id.job;
    if (job.started < Time{0}) job.started = ended.count(id) ? ended[id].started : now();
    if (job.first_started < Time{0}) job.first_started = job.started;
    resume(job);
    if (job.status == JobStatus::kStarting) job.status = JobStatus::kRunning;
    meter_of(job.gpu).started(job.id, weight_of(job), job.started);
    changed(job);
    if (!alive.count(id)) continue;
    if (job.status == JobStatus::kStopping)
      to_stop_.push_back(job.id);
    else if (const GpuFacts& facts = gpus_[std::size_t(std::clamp(job.gpu, 0, int(gpus_.size()) - 1))];
             !facts.board.trouble.empty() || world_.reshaper.quarantine().find(facts.board.uuid))
      stop_job(job, JobRecord::kQuarantine);  // the GPU failed while no daemon was there
  }
  for (auto& [id, exit] : ended) found_ended_.push_back(std::move(exit));
  // Held and queued ones: what they wait for may have ended while nobody looked.
  std::vector<std::uint64_t> held;
  for (const auto& [id, job] : jobs_)
    if (job.status == JobStatus::kHeld) held.push_back(id);
  for (const std::uint64_t id : held)
    if (JobRecord* job = find(id)) dependencies_hold(*job);
  return Ok{};
}

void Daemon::resume(JobRecord& job) {
  const auto& facts = gpus_[std::size_t(std::clamp(job.gpu, 0, int(gpus_.size()) - 1))];
  PlacementId where = kNoPlacement;
  for (const Instance& instance : facts.board.instances)
    if (!job.device.empty() && instance.uuid == job.device) where = instance.placement;
  if (where == kNoPlacement || occupied_.count({std::uint32_t(job.gpu), index(where)})) {
    // Its slice is gone under it: it cannot be placed, and its exit will tell.
    job.reason = fmt::format("its slice {} on GPU {} is gone", job.slice, job.gpu);
    return;
  }
  occupied_[{std::uint32_t(job.gpu), index(where)}] = job.id;
  const auto row = belief_->put(job, job.spec.deadline.value_or(kNever));
  if (!row) return;  // the fleet has changed: it runs where it is, unseen
  const GpuId gpu{std::uint32_t(job.gpu)};
  const Time left = belief_->table()->work(*row, platform_->type_of(gpu, where)) - (now() - job.started);
  session_->apply(Event::submitted(cluster().now(), *row));
  session_->apply(Event::found_running(cluster().now(), *row, gpu, where, std::max(Time{1'000'000}, left)));
}

Result<Ok> Daemon::make_policies() {
  std::optional<JobMapping> mapping;
  if (!settings_.places.mapping_dir.empty()) {
    SMARTMIG_TRY(mapping, JobMapping::open(settings_.places.mapping_dir));
  }
  if (!policies_) {
    policies_ = std::make_unique<Policies>(
        settings_, platform_, cost_,
        [this](const Cluster& cluster, const Start& start) { return gate(cluster, start); },
        [this] { count_running(); });
    advice_ = std::make_unique<PolicyAdvice>(settings_, *policies_, world_.clock, world_.pace.advice);
  }
  SMARTMIG_RETURN_IF_ERROR(policies_->make());
  advice_->set_shadow(policies_->take_shadow());
  belief_->set_caps(policies_->caps());
  belief_->set_user_slices(settings_.limits.user_slices);
  mapping_ = std::move(mapping);
  return Ok{};
}

// A fixed partition states its layouts for time 0 only: they are asked for once, where nothing else is.
void Daemon::ask_for_initial_layouts() {
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const Platform::Model& model = platform_->model(GpuId(g));
    const GpuState& state = cluster().gpus()[g];
    if (!gpus_[g].trouble.empty() || shape_of(*model.gpu, state.layout) == policies_->initial()[g]) continue;
    if (const auto layout = model.shapes->realise(policies_->initial()[g], state.layout, state.busy))
      first_plan_.reshapes.push_back({GpuId(g), *layout});
  }
}

// A new configuration on the run: limits and prices at once, the policy anew if it or its weights changed.
Result<Ok> Daemon::set_settings(Settings settings) {
  const Settings before = std::exchange(settings_, std::move(settings));
  settings_.limits.window = before.limits.window;  // the belief is made for it
  settings_.policy.seed = before.policy.seed;
  if (const auto made = make_policies(); !made) {
    settings_ = before;
    return made.error();
  }
  ask_for_initial_layouts();
  admission_due_ = decide_anyway_ = true;
  return Ok{};
}

}  // namespace smartmig
