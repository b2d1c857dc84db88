// What the GPUs tell: ends of operations, samples, trouble; and what operators say about them.
#include <algorithm>

#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {

void Daemon::take_lane_results() {
  std::vector<LaneResult> results;
  {
    std::lock_guard lock(mutex_);
    results.swap(lane_results_);
  }
  std::stable_sort(results.begin(), results.end());
  for (const LaneResult& result : results) {
    GpuFacts& facts = gpus_[index(result.gpu)];
    if (result.board) facts.board = *result.board;
    if (result.what == LaneResult::kSample)
      sample_done(result);
    else
      operation_done(result);
  }
}

void Daemon::operation_done(const LaneResult& result) {
  const int gpu = int(index(result.gpu));
  const GpuModel& model = *platform_->model(result.gpu).gpu;
  const Layout one = *model.with(Layout{}, result.where);
  const bool creates = result.what == LaneResult::kCreate;
  if (result.changed) {
    counts_.reconfiguration_s.observe(seconds(result.ended - result.began));
    ++counts_.reconfigurations[{creates ? "create" : "destroy", result.ok ? "ok" : "failed"}];
  }
  const Time at = belief_->inside(result.ended);
  if (result.ok) {
    if (creates)
      fleet_->created(result.gpu, at, one);
    else
      fleet_->destroyed(result.gpu);
    return;
  }
  fleet_->operation_failed(result.gpu, belief_->inside(now()));
  // A destroy was told of when it began: the slice is there still.
  if (!creates && result.board && find_instance(*result.board, result.where))
    fleet_->tell(Event::created(at, result.gpu, one));
  journal_->note(belief_->inside(now()), "operation_failed",
                 fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", gpu, slice_name(model, result.where),
                             Json(result.words).dump()));
  if (result.quarantined || result.code == Error::kLost) set_trouble(gpu, result.words);
}

void Daemon::sample_done(const LaneResult& result) {
  GpuFacts& facts = gpus_[index(result.gpu)];
  const GpuSample& sample = result.sample;
  facts.sampled = result.ended;
  facts.processes = sample.processes;
  if (sample.watts) facts.watts = *sample.watts;
  const int gpu = int(index(result.gpu));
  const EnergyInterval interval =
      meter_of(gpu).sample({result.ended, sample.joules, sample.watts, cluster().gpu(result.gpu).watts});
  facts.source = interval.source;
  credit(interval);
  std::erase_if(settling_,
                [&](const auto& entry) { return entry.second.gpu == gpu && entry.second.ended <= result.ended; });
  if (!interval.words.empty())
    journal_->note(belief_->inside(now()), "energy",
                   fmt::format("\"gpu\":{},\"words\":{}", gpu, Json(interval.words).dump()));
  see_memory(gpu);
  watch_dead(gpu);
  if (!sample.trouble.empty() && sample.code == Error::kLost) set_trouble(int(index(result.gpu)), sample.trouble);
}

// The GPU takes no work until a person says so; what runs there is stopped and goes elsewhere, where it may.
void Daemon::set_trouble(int gpu, std::string words) {
  GpuFacts& facts = gpus_[std::size_t(gpu)];
  if (!facts.trouble.empty()) return;
  facts.trouble = std::move(words);
  if (!world_.reshaper.quarantine().find(facts.board.uuid)) {
    const auto kept = world_.reshaper.quarantine().add({facts.board.uuid, "", facts.trouble});
    if (!kept) facts.trouble += "; " + kept.error().what;
  }
  fleet_->tell(Event::blocked(belief_->inside(now()), GpuId(std::uint32_t(gpu))));
  journal_->note(belief_->inside(now()), "quarantined",
                 fmt::format("\"gpu\":{},\"words\":{}", gpu, Json(facts.trouble).dump()));
  std::vector<std::uint64_t> here;
  for (const auto& [slice, id] : occupied_)
    if (int(slice.first) == gpu) here.push_back(id);
  for (const std::uint64_t id : here)
    if (JobRecord* job = find(id); job && attempts_.count({id, job->attempt}) && job->wish == JobRecord::kNothing)
      stop_job(*job, JobRecord::kQuarantine);
}

void Daemon::sample_all() {
  next_sample_ = now() + settings_.energy.sample;
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (lanes_->pending(GpuId(g)) == 0) lanes_->sample(GpuId(g));
}

void Daemon::find_overruns() {
  const Time now_inside = belief_->inside(now());
  for (const GpuState& gpu : cluster().gpus())
    for (const PlacementId p : gpu.busy) {
      const JobId row = gpu.job_at[index(p)];
      if (cluster().state(row).finish + kOverrunGrace > now_inside) continue;
      JobRecord* job = find(belief_->record(row));
      if (!job || belief_->row(job->id) != row) continue;  // its end is being told
      ++job->overruns;
      changed(*job);
      fleet_->tell(Event::overrun(now_inside, row));
    }
}

BoardMeter& Daemon::meter_of(int gpu) {
  BoardMeter::Options options;
  options.idle_w = platform_->model(GpuId(std::uint32_t(gpu))).power.idle();
  options.gap = std::max(options.gap, 3 * settings_.energy.sample);
  return meter_.board(gpus_[std::size_t(gpu)].board.uuid, options);
}

// A job's weight in the attribution of its board's energy, as the belief weighs it.
double Daemon::weight_of(const JobRecord& job) const {
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(job.gpu)));
  for (std::size_t p = 0; p < model.gpu->placements().size(); ++p)
    if (slice_name(*model.gpu, PlacementId(p)) == job.slice) {
      const double added =
          model.power.is_table() ? 0 : model.power.added(job.spec.kind, model.gpu->profile_of(PlacementId(p)));
      return model.energy_weight(PlacementId(p), added);
    }
  return 1;
}

// Joules of an interval to their jobs. One that has ended meanwhile gets its last share in its stored row.
void Daemon::credit(const EnergyInterval& interval) {
  for (const auto& [id, joules] : interval.jobs) {
    if (joules == 0) continue;
    if (JobRecord* job = find(id)) {
      job->joules += joules;
      energy_dirty_.insert(id);
      continue;
    }
    counts_.ended_joules += joules;
    auto at = settling_.find(id);
    if (at == settling_.end()) {  // ended under an earlier daemon
      const auto row = world_.store.job(id);
      if (!row || !*row) continue;
      auto job = from_row(**row);
      if (!job) continue;
      at = settling_.emplace(id, std::move(*job)).first;
    }
    at->second.joules += joules;
    batch_.jobs.push_back(to_row(at->second, false));  // and stays until the sample that covers its end (sample_done)
  }
}

Result<Ok> Daemon::drain(int gpu, bool on) {
  if (gpu < 0 || std::size_t(gpu) >= gpus_.size())
    return not_found("there is no GPU {}; this machine has {}", gpu, gpus_.size());
  GpuFacts& facts = gpus_[std::size_t(gpu)];
  const bool blocked = !facts.trouble.empty() || facts.by_operator;
  facts.by_operator = on;
  if (!on && !facts.trouble.empty()) {
    if (const auto sound = world_.driver.health(GpuId(std::uint32_t(gpu))); !sound)
      return busy_error("{} stays out of service: {}", title(facts.board), sound.error().what);
    if (const auto released = world_.reshaper.quarantine().release(facts.board.uuid); !released)
      return released.error();
    facts.trouble.clear();
  }
  const bool blocked_now = !facts.trouble.empty() || facts.by_operator;
  if (blocked != blocked_now)
    fleet_->tell(blocked_now ? Event::blocked(belief_->inside(now()), GpuId(std::uint32_t(gpu)))
                             : Event::unblocked(belief_->inside(now()), GpuId(std::uint32_t(gpu))));
  std::string drained;
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (gpus_[g].by_operator) drained += (drained.empty() ? "" : ",") + std::to_string(g);
  batch_.values["drained"] = drained;
  return Ok{};
}

void Daemon::pause(bool on) {
  paused_ = on;
  batch_.values["paused"] = on ? "1" : "0";
  admission_due_ = true;
  if (!on) decide_anyway_ = true;
}

std::string Daemon::instance_device(int gpu, PlacementId where) const {
  const Instance* instance = find_instance(gpus_[std::size_t(gpu)].board, where);
  return instance ? instance->uuid : std::string();
}

int Daemon::slice_memory_mib(int gpu, const std::string& slice) const {
  if (gpu < 0 || std::size_t(gpu) >= gpus_.size()) return -1;
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(gpu)));
  for (std::size_t p = 0; p < model.gpu->placements().size(); ++p)
    if (slice_name(*model.gpu, PlacementId(p)) == slice) return platform_->type(model.type_of_placement[p]).memory_mib;
  return -1;
}

std::optional<Time> Daemon::expected_finish(const JobRecord& job) const {
  const JobId row = belief_->row(job.id);
  if (row == kNoJob || cluster().state(row).phase != JobPhase::kRunning) return std::nullopt;
  return belief_->outside(cluster().state(row).finish);
}

std::optional<double> Daemon::cost_of(const JobRecord& job) const {
  const auto prices = settings_.priced();
  if (!prices) return std::nullopt;
  const Time end = job.ended >= Time{0} ? job.ended : std::max(now(), expected_finish(job).value_or(now()));
  const Time late = job.spec.deadline ? std::max(Time{0}, end - *job.spec.deadline) : Time{0};
  return prices->cost(job.joules, seconds(late));
}

bool Daemon::wait_for_news(std::uint64_t position, double seconds) const {
  std::unique_lock lock(news_mutex_);
  news_.wait_for(lock, std::chrono::duration<double>(seconds),
                 [&] { return stored_position_ > position || stopping_.load(); });
  return !stopping_;
}

}  // namespace smartmig
