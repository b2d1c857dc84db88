#include "live/gpu/gpu_lanes.h"

#include <thread>

#include "base/thread.h"

namespace smartmig {

struct GpuLanes::Lane {
  GpuId gpu = kNoGpu;
  std::mutex mutex;  // of what follows
  std::condition_variable wake, changed;
  std::deque<Request> requests;
  bool working = false, idle = false, stop = false, joined = false;
  LiveClock::Worker self{};
  std::thread thread;
};

GpuLanes::GpuLanes(MigDriver& driver, Reshaper& reshaper, LiveClock& clock, std::function<void(LaneResult)> done)
    : driver_(driver), reshaper_(reshaper), clock_(clock), done_(std::move(done)) {}

GpuLanes::~GpuLanes() {
  for (const auto& lane : lanes_) {
    if (!lane) continue;
    const std::lock_guard lock(lane->mutex);
    lane->stop = true;
    lane->requests.clear();
    if (lane->idle) clock_.worker_busy(lane->self);
    lane->wake.notify_one();
  }
  // A lane may be half-way through an operation on a virtual clock, which this thread must not hold meanwhile.
  clock_.worker_idle();
  for (const auto& lane : lanes_)
    if (lane) lane->thread.join();
  clock_.worker_busy(clock_.this_worker());
}

std::size_t GpuLanes::pending(GpuId gpu) const {
  if (index(gpu) >= lanes_.size() || !lanes_[index(gpu)]) return 0;
  Lane& lane = *lanes_[index(gpu)];
  const std::lock_guard lock(lane.mutex);
  return lane.requests.size() + lane.working;
}

void GpuLanes::ask(GpuId gpu, Request request) {
  if (lanes_.size() <= index(gpu)) lanes_.resize(index(gpu) + 1);
  auto& lane = lanes_[index(gpu)];
  if (!lane) {
    auto fresh = std::make_unique<Lane>();
    fresh->gpu = gpu;
    auto thread =
        start_thread(fmt::format("operations on GPU {}", index(gpu)), [this, mine = fresh.get()] { run(*mine); });
    if (!thread) return refuse(gpu, request, thread.error());
    fresh->thread = std::move(*thread);
    lane = std::move(fresh);
  }
  std::unique_lock lock(lane->mutex);
  lane->changed.wait(lock, [&] { return lane->joined; });
  lane->requests.push_back(request);
  if (lane->idle) clock_.worker_busy(lane->self);
  lane->wake.notify_one();
}

void GpuLanes::refuse(GpuId gpu, Request request, const Error& error) {
  LaneResult result;
  result.what = request.what;
  result.gpu = gpu;
  result.where = request.where;
  result.words = result.sample.trouble = error.what;
  result.code = result.sample.code = error.code;
  result.sample.unlisted = error;
  result.began = result.ended = result.sample.listed = UnixTime(clock_.steady());  // as those of operations
  done_(std::move(result));
}

void GpuLanes::run(Lane& lane) {
  clock_.worker_joins();
  std::unique_lock lock(lane.mutex);
  lane.self = clock_.this_worker();
  lane.joined = true;
  lane.changed.notify_all();
  for (;;) {
    if (lane.requests.empty() && !lane.stop) {
      lane.idle = true;
      clock_.worker_idle();
      lane.wake.wait(lock, [&] { return !lane.requests.empty() || lane.stop; });
      lane.idle = false;
    }
    if (lane.stop) break;
    const Request request = lane.requests.front();
    lane.requests.pop_front();
    lane.working = true;
    lock.unlock();
    clock_.worker_begins();
    LaneResult result = carry_out(lane.gpu, request);
    done_(std::move(result));
    lock.lock();
    lane.working = false;
    clock_.wake();
  }
  lock.unlock();
  clock_.worker_leaves();
}

LaneResult GpuLanes::carry_out(GpuId gpu, const Request& request) {
  LaneResult result;
  result.what = request.what;
  result.gpu = gpu;
  result.where = request.where;
  result.began = UnixTime(clock_.steady());
  if (request.what == LaneResult::kSample)
    take_sample(result);
  else if (request.what == LaneResult::kLook)
    list_processes(result);
  else
    reshape(request, result);
  result.ended = UnixTime(clock_.steady());
  return result;
}

void GpuLanes::reshape(const Request& request, LaneResult& result) {
  const Operation::Kind kind = request.what == LaneResult::kCreate ? Operation::kCreate : Operation::kDestroy;
  auto outcome = reshaper_.apply(result.gpu, {kind, request.where});
  if (!outcome) {
    result.words = outcome.error().what;
    result.code = outcome.error().code;
    if (auto board = driver_.read(result.gpu)) result.board = std::move(*board);
    return;
  }
  result.ok = outcome->kind == ReshapeOutcome::kDone;
  result.changed = outcome->calls > 0;
  result.quarantined = outcome->kind == ReshapeOutcome::kQuarantined;
  result.words = std::move(outcome->words);
  if (result.quarantined) result.code = Error::kLost;
  result.board = std::move(outcome->board);
  if (result.ok && kind == Operation::kCreate && after_create_) result.note = after_create_(result.gpu);
}

void GpuLanes::list_processes(LaneResult& result) {
  GpuSample& sample = result.sample;
  sample.listed = UnixTime(clock_.steady());
  if (auto processes = driver_.processes(result.gpu))
    sample.processes = std::move(*processes);
  else
    sample.unlisted = processes.error();
  result.ok = !sample.unlisted;
  if (sample.unlisted) {
    result.words = sample.unlisted->what;
    result.code = sample.unlisted->code;
  }
}

void GpuLanes::take_sample(LaneResult& result) {
  GpuSample& sample = result.sample;
  const auto note = [&](const Error& error) {
    if (sample.trouble.empty() || error.code == Error::kLost) {
      sample.code = error.code;
      sample.trouble = error.what;
    }
  };
  const auto energy = driver_.energy(result.gpu);
  const auto power = driver_.power(result.gpu);
  if (energy) sample.joules = *energy;
  if (power) sample.watts = *power;
  list_processes(result);
  if (sample.unlisted) note(*sample.unlisted);
  if (auto board = driver_.read(result.gpu))
    result.board = std::move(*board);
  else
    note(board.error());
  if (auto sound = driver_.health(result.gpu); !sound) note(sound.error());
  result.ok = sample.trouble.empty();
  result.words = sample.trouble;
  result.code = sample.code;
}

}  // namespace smartmig
