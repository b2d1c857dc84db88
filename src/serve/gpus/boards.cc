#include "serve/gpus/boards.h"

#include <algorithm>

#include "base/moved.h"
#include "base/text.h"
#include "model/job.h"
#include "serve/gpus/board_discovery.h"

namespace smartmig {

void BoardLoad::began(std::uint64_t job, double share, UnixTime at) { runs_.push_back({job, share, at, kNeverUnix}); }

void BoardLoad::clock_stepped(Time by) {
  for (Run& run : runs_) {
    run.from = moved(run.from, by);
    run.until = moved(run.until, by);
  }
}

double BoardLoad::ended(std::uint64_t job, UnixTime at) {
  const auto own = std::find_if(runs_.begin(), runs_.end(),
                                [&](const Run& run) { return run.job == job && run.until == kNeverUnix; });
  if (own == runs_.end()) return 0;
  own->until = std::max(at, own->from);
  const UnixTime from = own->from, until = own->until;
  double others = 0;
  for (const Run& run : runs_)
    if (&run != &*own)
      others += run.share * seconds(std::max(Time{0}, std::min(until, run.until) - std::max(from, run.from)));
  UnixTime earliest = kNeverUnix;
  for (const Run& run : runs_)
    if (run.until == kNeverUnix) earliest = std::min(earliest, run.from);
  std::erase_if(runs_, [&](const Run& run) { return run.until <= earliest; });
  return until > from ? std::min(kMostBeside, others / seconds(until - from)) : 0;
}

Boards::Boards(MigDriver& driver, Reshaper& reshaper, LiveClock& clock, std::shared_ptr<const Platform> platform,
               std::vector<BoardState> boards, const Time& sample, PowerFit fit)
    : driver_(driver),
      reshaper_(reshaper),
      clock_(clock),
      platform_(std::move(platform)),
      boards_(std::move(boards)),
      loads_(boards_.size()),
      sample_(sample),
      fit_(std::move(fit)),
      steady_(boards_.size(), false),
      lanes_(driver, reshaper, clock, [this](LaneResult result) { came(std::move(result)); }),
      looks_(driver, reshaper, clock, [this](LaneResult result) { came(std::move(result)); }) {}

void Boards::came(LaneResult result) {
  {
    const std::lock_guard lock(mutex_);
    results_.push_back(std::move(result));
  }
  clock_.wake();
}

std::vector<Layout> Boards::layouts() const {
  std::vector<Layout> out;
  for (const BoardState& state : boards_) out.push_back(state.board.layout);
  return out;
}

int Boards::slices_in_service() const {
  int slices = 0;
  for (std::size_t g = 0; g < boards_.size(); ++g)
    if (boards_[g].in_service()) slices += platform_->model(GpuId(g)).gpu->compute_slices();
  return slices;
}

std::string Boards::device(int gpu, PlacementId where) const {
  const Instance* instance = find_instance(at(gpu).board, where);
  return instance ? instance->uuid : std::string();
}

int Boards::slice_memory_mib(int gpu, const JobSlice& slice) const {
  if (!known(gpu)) return -1;
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(gpu)));
  const PlacementId where = placement_of(*model.gpu, slice);
  return where == kNoPlacement ? -1 : platform_->type(model.type_of_placement[index(where)]).memory_mib;
}

double Boards::weight_of(const JobRecord& job) const {
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(job.place.gpu)));
  const PlacementId where = placement_of(*model.gpu, job.place.slice);
  if (where == kNoPlacement) return 1;
  const double added = model.power.is_table() ? 0 : model.power.added(job.spec.kind, model.gpu->profile_of(where));
  return model.energy_weight(where, added);
}

void Boards::sample_idle_lanes() {
  for (std::size_t g = 0; g < boards_.size(); ++g)
    if (lanes_.pending(GpuId(g)) == 0) lanes_.sample(GpuId(g));
}

std::uint64_t Boards::look(int gpu) {
  BoardState& state = at(gpu);
  const auto id = GpuId(std::uint32_t(gpu));
  if (looks_.pending(id) > 1) return state.looks;  // the last of them has not begun
  looks_.look(id);
  return ++state.looks;
}

std::vector<LaneResult> Boards::take_results() {
  std::vector<LaneResult> results;
  {
    std::lock_guard lock(mutex_);
    results.swap(results_);
  }
  const Time day = clock_.now() - UnixTime(clock_.steady());  // lanes measure by what nobody sets
  for (LaneResult& result : results) {
    result.began += day;
    result.ended += day;
    result.sample.listed += day;
  }
  std::stable_sort(results.begin(), results.end());
  return results;
}

void Boards::saw(const LaneResult& result) {
  BoardState& state = boards_[index(result.gpu)];
  if (result.board) state.board = *result.board;
  if (result.what == LaneResult::kLook) ++state.looked;
  if (result.what != LaneResult::kLook && result.what != LaneResult::kSample) return;
  if (state.listed != kNotYet && result.sample.listed < state.listed) return;  // a sample that took longer than a look
  state.listed = result.sample.listed;
  state.processes = result.sample.processes;
  state.unlisted = result.sample.unlisted;
}

bool Boards::set_trouble(int gpu, GpuTrouble trouble, std::string words) {
  BoardState& state = at(gpu);
  if (state.in_trouble()) return false;
  state.trouble = trouble;
  state.words = std::move(words);
  if (!reshaper_.quarantine().find(state.board.uuid)) {
    const auto kept = reshaper_.quarantine().add({state.board.uuid, "", state.words});
    if (!kept) state.words += "; " + kept.error().what;
  }
  return true;
}

Result<Ok> Boards::drain(int gpu, bool on) {
  if (!known(gpu)) return not_found("there is no GPU {}; this machine has {}", gpu, size());
  BoardState& state = at(gpu);
  if (on) {
    state.drained = true;
    return Ok{};
  }
  // Whoever looked after it may have reset it or changed its slices, also while it was in service.
  const auto out = [&](const std::string& why) {
    return busy_error("{} {}: {}", title(state.board),
                      state.in_service() ? "is in service but cannot be read" : "stays out of service", why);
  };
  if (const auto taken = driver_.set_control(GpuId(std::uint32_t(gpu)), true); !taken) return out(taken.error().what);
  state.lent = false;
  if (const auto sound = driver_.health(GpuId(std::uint32_t(gpu))); !sound) return out(sound.error().what);
  auto board = driver_.read(GpuId(std::uint32_t(gpu)));
  if (!board) return out(board.error().what);
  if (const std::string words = unusable(*board); !words.empty()) return out(words);
  if (!board->model || board->model->name() != state.board.model->name())
    return out(fmt::format("it was {}; restart smartmig serve to use another model", state.board.model->name()));
  state.board = std::move(*board);
  state.drained = false;
  if (!state.in_trouble()) return Ok{};
  if (const auto released = reshaper_.quarantine().release(state.board.uuid); !released) return released.error();
  state.trouble = GpuTrouble::kNone;
  state.words.clear();
  return Ok{};
}

void Boards::lend(int gpu) {
  if (at(gpu).lent || lanes_.pending(GpuId(std::uint32_t(gpu))) > 0) return;
  at(gpu).lent = bool(driver_.set_control(GpuId(std::uint32_t(gpu)), false));
}

void Boards::drained_before(const std::string& list) {
  for (const std::string_view item : split(list, ','))
    if (const auto gpu = parse_int(item); gpu && *gpu >= 0 && known(int(*gpu))) at(int(*gpu)).drained = true;
}

std::string Boards::drained_list() const {
  std::string list;
  for (std::size_t g = 0; g < boards_.size(); ++g)
    if (boards_[g].drained) list += (list.empty() ? "" : ",") + std::to_string(g);
  return list;
}

bool Boards::has_device(int gpu, const std::string& device, std::uint32_t uid) const {
  for (const Instance& instance : at(gpu).board.instances) {
    if (instance.uuid != device) continue;
    const auto found = driver_.environment(GpuId(std::uint32_t(gpu)), instance, uid);
    return found || (found.error().code != Error::kNotFound && found.error().code != Error::kLost);
  }
  return false;
}

bool Boards::failing(int gpu) const {
  const BoardState& state = at(gpu);
  return !state.board.trouble.empty() || reshaper_.quarantine().find(state.board.uuid).has_value();
}

BoardMeter& Boards::meter_of(int gpu) {
  BoardMeter::Options options;
  options.idle_w = platform_->model(GpuId(std::uint32_t(gpu))).power.idle();
  options.gap = std::max(options.gap, 3 * sample_);
  return meter_.board(at(gpu).board.uuid, options);
}

void Boards::attempt_began(const JobRecord& job) {
  meter_of(job.place.gpu).started(number(job.id), weight_of(job), job.times.started);
  steady_[std::size_t(job.place.gpu)] = false;
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(job.place.gpu)));
  const PlacementId where = placement_of(*model.gpu, job.place.slice);
  if (where == kNoPlacement) return;
  const double share = double(model.slices_of_placement[index(where)]) / model.gpu->compute_slices();
  loads_[std::size_t(job.place.gpu)].began(number(job.id), share, job.times.started);
}

double Boards::attempt_ended(const JobRecord& job, UnixTime when) {
  if (!known(job.place.gpu)) return 0;
  meter_of(job.place.gpu).ended(number(job.id), when);
  steady_[std::size_t(job.place.gpu)] = false;
  lanes_.sample(GpuId(std::uint32_t(job.place.gpu)));
  return loads_[std::size_t(job.place.gpu)].ended(number(job.id), when);
}

EnergyInterval Boards::measure(const LaneResult& result, double model_w, int busy_slices) {
  const int gpu = int(index(result.gpu));
  BoardState& state = at(gpu);
  const UnixTime before = std::exchange(state.sampled, result.ended);
  const EnergySource source_before = state.source;
  if (result.sample.watts) state.watts = *result.sample.watts;
  const EnergyInterval interval =
      meter_of(gpu).sample({result.ended, result.sample.joules, result.sample.watts, model_w});
  state.source = interval.source;
  const bool steady = steady_[std::size_t(gpu)];
  steady_[std::size_t(gpu)] = true;
  if (steady && source_before == EnergySource::kCounter) fit_watts(gpu, interval, before, result.ended, busy_slices);
  return interval;
}

// What nobody of ours caused (somebody else's work, a counter that jumped) is no reading.
void Boards::fit_watts(int gpu, const EnergyInterval& interval, UnixTime from, UnixTime to, int busy_slices) {
  constexpr Time kSaveEvery = std::chrono::minutes(10);
  if (interval.source != EnergySource::kCounter || !interval.words.empty() || from == kNotYet || to <= from) return;
  if (busy_slices == 0 && !at(gpu).processes.empty()) return;
  const Platform::Model& model = platform_->model(GpuId(std::uint32_t(gpu)));
  fit_.add(model.gpu->name(), std::min(busy_slices, model.gpu->compute_slices()), seconds(to - from), interval.joules,
           model.power.cap());
  if (fit_saved_ != kNotYet && to - fit_saved_ < kSaveEvery) return;
  fit_saved_ = to;
  static_cast<void>(fit_.save());  // a full disk costs readings, nothing else
}

EnergyTotals Boards::energy(int gpu) const {
  const auto found = meter_.boards().find(at(gpu).board.uuid);
  return found == meter_.boards().end() ? EnergyTotals() : found->second.totals();
}

void Boards::clock_stepped(Time by) {
  for (BoardState& state : boards_) {
    state.sampled = moved(state.sampled, by);
    state.listed = moved(state.listed, by);
  }
  for (BoardLoad& load : loads_) load.clock_stepped(by);
  meter_.clock_stepped(by);
  fit_saved_ = moved(fit_saved_, by);
}

}  // namespace smartmig
