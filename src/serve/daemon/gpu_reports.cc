#include "serve/daemon/gpu_reports.h"

#include "base/json.h"
#include "serve/gpus/board_discovery.h"

namespace smartmig {
namespace {

// A board that could not even be read does not answer.
GpuTrouble trouble_of(const LaneResult& result) { return result.board ? GpuTrouble::kQuarantined : GpuTrouble::kLost; }

}  // namespace

void GpuReports::take() {
  for (const LaneResult& result : boards_.take_results()) {
    boards_.saw(result);
    if (result.what == LaneResult::kSample)
      sampled(result);
    else if (result.what == LaneResult::kLook)
      looked(result);
    else
      operation_ended(result);
  }
}

void GpuReports::was_read_again(int gpu) {
  misread_.erase(gpu);
  read_again_.insert(gpu);
  try_now_ = true;
}

void GpuReports::believe_again() {
  for (const auto& [gpu, since] : attempts_.take_misread()) misread_[gpu] = since;
  try_now_ = false;
  for (auto at = read_again_.begin(); at != read_again_.end();) {
    BoardState& state = boards_.at(*at);
    if (const std::string words = unusable(state.board); !words.empty())
      set_trouble(*at, GpuTrouble::kQuarantined, words);
    if (!session_.believe(*at, state.board.layout)) {
      ++at;
      continue;
    }
    state.reread.clear();
    session_.note("gpu_read_again",
                  fmt::format("\"gpu\":{},\"layout\":\"{}\"", *at, to_string(*state.board.model, state.board.layout)));
    if (state.in_service()) session_.tell(Event::unblocked(session_.inside_now(), GpuId(std::uint32_t(*at))));
    at = read_again_.erase(at);
  }
}

void GpuReports::sample_when_due() {
  Time pause = settings_.energy.sample;
  if (guard_.in_doubt()) {
    pause = std::min(pause, SliceGuard::kLookAgain);
    next_sample_ = std::min(next_sample_, session_.now() + pause);
  }
  if (session_.now() < next_sample_) return;
  next_sample_ = session_.now() + pause;
  boards_.sample_idle_lanes();
}

void GpuReports::operation_ended(const LaneResult& result) {
  const int gpu = int(index(result.gpu));
  const GpuModel& model = *session_.platform().model(result.gpu).gpu;
  const Layout one = *model.with(Layout{}, result.where);
  const bool creates = result.what == LaneResult::kCreate;
  if (result.changed) figures_.reconfigured(creates, result.ok, seconds(result.ended - result.began));
  const Time at = session_.belief().inside(result.ended);
  Failing& failing = boards_.at(gpu).failing;
  if (!result.note.empty())
    session_.note("hook_failed", fmt::format("\"gpu\":{},\"words\":{}", gpu, json_text(result.note)));
  if (result.ok) {
    failing = {};
    if (creates)
      session_.fleet().created(result.gpu, at, one);
    else
      session_.fleet().destroyed(result.gpu);
    return;
  }
  const Time next = session_.fleet().operation_failed(result.gpu, session_.inside_now());
  ++failing.times;
  failing.what = fmt::format("{} {}", creates ? "creating" : "destroying", slice_name(model, result.where));
  failing.error = result.words;
  failing.next_try = session_.belief().outside(next);
  // A destroy was told of when it began: the slice is there still.
  if (!creates && result.board && find_instance(*result.board, result.where))
    session_.tell(Event::created(at, result.gpu, one));
  session_.note("operation_failed", fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", gpu,
                                                slice_name(model, result.where), json_text(result.words)));
  if (result.quarantined || result.code == Error::kLost) set_trouble(gpu, trouble_of(result), result.words);
}

void GpuReports::sampled(const LaneResult& result) {
  const int gpu = int(index(result.gpu));
  const GpuState& believed = session_.cluster().gpu(result.gpu);
  const EnergyInterval interval = boards_.measure(result, believed.watts, believed.busy_slices);
  credit(interval);
  if (figures_.power.add(result.ended, interval.joules)) book_.pending().set_value("power", figures_.power.text());
  book_.settled(gpu, result.ended);
  if (!interval.words.empty())
    session_.note("energy", fmt::format("\"gpu\":{},\"words\":{}", gpu, json_text(interval.words)));
  see_memory(gpu);
  guard_.look(gpu);
  if (const auto asked = misread_.find(gpu); asked != misread_.end() && result.began >= asked->second) {
    if (!result.board)
      boards_.at(gpu).reread = "a slice of it is gone, and its slices cannot be read: " + result.sample.trouble;
    else if (guard_.silence(gpu).empty())
      was_read_again(gpu);
  }
  dead_memory_.look(gpu, boards_.at(gpu), [this](SliceKey slice) { return table_.held(slice); });
  const GpuSample& sample = result.sample;
  if (!sample.trouble.empty() && sample.code == Error::kLost) set_trouble(gpu, trouble_of(result), sample.trouble);
}

// A GPU that was lost is out of service before something is started there.
void GpuReports::looked(const LaneResult& result) {
  if (!result.ok && result.code == Error::kLost) set_trouble(int(index(result.gpu)), GpuTrouble::kLost, result.words);
}

void GpuReports::credit(const EnergyInterval& interval) {
  for (const auto& [id, joules] : interval.jobs)
    if (joules != 0 && book_.credit(QueueId(id), joules, interval.source)) figures_.counts.ended_joules += joules;
}

void GpuReports::see_memory(int gpu) {
  const BoardState& state = boards_.at(gpu);
  for (const auto& [slice, id] : table_.slices()) {
    if (int(slice.first) != gpu) continue;
    JobRecord* job = book_.find(id);
    const Instance* instance = find_instance(state.board, PlacementId(slice.second));
    if (!job || !instance || job->status != JobStatus::kRunning || job->times.started > state.sampled) continue;
    int used = 0;
    std::vector<std::uint32_t> pids;
    for (const DeviceProcess& process : state.processes)
      if (process.gpu_instance == instance->gpu_instance) {
        used += process.memory_mib;
        pids.push_back(process.pid);
      }
    if (memory_.saw(*job, used)) book_.changed(*job);
    const auto finish = session_.expected_finish(id);
    const auto early = memory_.project(
        *job, used, seconds(state.sampled - job->times.started), finish ? seconds(*finish - job->times.started) : 0,
        boards_.slice_memory_mib(job->place.gpu, job->place.slice), session_.belief().largest_memory_mib(job->spec),
        early_restart_named(settings_.oom.early), pids);
    if (!early) continue;
    job->reason = early->words;
    job->memory.mib = early->needs_mib;
    ++job->counts.out_of_memory;
    ++figures_.counts.early_restarts;
    session_.note("early_restart", fmt::format("\"job\":{},\"slice\":\"{}\",\"words\":{}", id,
                                               to_string(job->place.slice), json_text(job->reason)));
    attempts_.stop(*job, StopReason::kLarger);
  }
}

void GpuReports::set_trouble(int gpu, GpuTrouble trouble, const std::string& words) {
  if (!boards_.set_trouble(gpu, trouble, words)) return;
  session_.tell(Event::blocked(session_.inside_now(), GpuId(std::uint32_t(gpu))));
  session_.note("quarantined", fmt::format("\"gpu\":{},\"words\":{}", gpu, json_text(boards_.at(gpu).words)));
  for (const QueueId id : table_.on_gpu(gpu))
    if (JobRecord* job = book_.find(id); job && table_.under_way(*job) && job->stop_reason == StopReason::kNone)
      attempts_.stop(*job, StopReason::kGpuFailed);
}

Result<Ok> GpuReports::drain(int gpu, bool on) {
  const bool before = boards_.known(gpu) && boards_.at(gpu).in_service();
  SMARTMIG_RETURN_IF_ERROR(boards_.drain(gpu, on));
  const bool after = boards_.at(gpu).in_service();
  if (before && !after) session_.tell(Event::blocked(session_.inside_now(), GpuId(std::uint32_t(gpu))));
  if (!on && after) {  // of one that was in service, too: its slices may not be those that are believed
    was_read_again(gpu);
    believe_again();
  }
  book_.pending().set_value("drained", boards_.drained_list());
  return Ok{};
}

void GpuReports::lend_drained() {
  for (std::size_t g = 0; g < boards_.size(); ++g)
    if (boards_.at(int(g)).drained && table_.on_gpu(int(g)).empty()) boards_.lend(int(g));
}

void GpuReports::block_unusable() {
  for (std::size_t g = 0; g < boards_.size(); ++g)
    if (!boards_.at(int(g)).in_service()) session_.tell(Event::blocked(session_.inside_now(), GpuId(g)));
}

}  // namespace smartmig
