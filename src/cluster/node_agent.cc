#include "cluster/node_agent.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/errors.h"
#include "base/file.h"
#include "cluster/memory_failure.h"
#include "live/durable_file.h"
#include "mig/shape.h"
#include "model/power.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

constexpr const char* kAgentKeys[] = {"v",   "node",  "op",     "epoch", "leader", "job",      "uid",
                                      "gpu", "slice", "create", "id",    "logs",   "patterns", "news"};
constexpr std::chrono::seconds kOperationPatience{3};  // of a start on a GPU that is being reshaped

std::string refusal(const Error& error, std::int64_t id) {
  return json_dump(Json{{"ok", false}, {"code", code_name(error.code)}, {"error", error.what}, {"id", id}});
}

// Polls: TSan of clang 14 does not know the timed locks of pthreads.
std::unique_lock<std::mutex> locked_within(std::mutex& mutex, Time patience) {
  std::unique_lock lock(mutex, std::try_to_lock);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!lock && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (void)lock.try_lock();
  }
  return lock;
}

}  // namespace

Result<std::unique_ptr<NodeAgent>> NodeAgent::open(MigDriver& driver, Reshaper& reshaper, LiveClock& clock,
                                                   Options options) {
  SMARTMIG_TRY(SliceBook book, SliceBook::open(options.state_dir + "/jobs"));
  std::unique_ptr<NodeAgent> agent(new NodeAgent(driver, reshaper, clock, std::move(options), std::move(book)));
  SMARTMIG_TRY(auto boards, driver.inventory());
  if (boards.empty()) return not_found("this node has no GPU; try --emulate 4xa100-40gb");
  for (GpuBoard& board : boards) {
    auto gpu = std::make_unique<Gpu>();
    if (board.model) {
      gpu->model = board.model;
      if (const auto power = PowerModel::named("auto", *board.model)) gpu->idle_w = power->idle();
    }
    gpu->board = std::move(board);
    agent->gpus_.push_back(std::move(gpu));
  }
  if (const auto text = read_file(agent->options_.state_dir + "/leader.json")) {
    const auto json = parse_json("leader.json", *text);
    if (json && json->is_object()) {
      agent->epoch_ = json->value("epoch", std::uint64_t(0));
      agent->leader_ = json->value("leader", std::string());
    }
  }
  SMARTMIG_RETURN_IF_ERROR(agent->restore_energy());
  agent->heard_ = clock.now();
  return agent;
}

std::string NodeAgent::handle(const std::string& text, std::uint32_t uid) {
  const auto json = parse_json("request", text);
  const std::int64_t id = json && json->is_object() && json->contains("id") && (*json)["id"].is_number_integer()
                              ? (*json)["id"].get<std::int64_t>()
                              : 0;
  if (uid != 0 && std::find(options_.users.begin(), options_.users.end(), uid) == options_.users.end())
    return refusal(no_permission("user {} may not use the agent of {}", uid, options_.node), id);
  if (!json) return refusal(json.error(), id);
  const auto request = JsonObject::open(*json, "request", "", {std::begin(kAgentKeys), std::end(kAgentKeys)});
  if (!request) return refusal(request.error(), id);
  const auto version = request->integer("v", 1, 1);
  if (!version) return refusal(version.error(), id);
  const auto node = request->text("node");
  if (!node) return refusal(node.error(), id);
  if (*node != options_.node)
    return refusal(no_permission("the request is for node {}, this is the agent of {}", *node, options_.node), id);
  auto reply = answer(*request);
  if (!reply) return refusal(reply.error(), id);
  (*reply)["ok"] = true;
  (*reply)["id"] = id;
  return json_dump(*reply);
}

Result<Json> NodeAgent::answer(const JsonObject& request) {
  SMARTMIG_TRY(const std::string op, request.text("op"));
  if (op == "status" && !request.has("epoch")) return status();
  SMARTMIG_RETURN_IF_ERROR(lead(request));
  if (op == "status") return status();
  if (op == "free") {
    SMARTMIG_TRY(const auto job, request.integer("job", 1, 0xFFFFFFFELL));
    SMARTMIG_TRY(const std::optional<double> joules, free(std::uint32_t(job)));
    Json reply = Json::object();
    if (joules) reply["joules"] = *joules;
    if (!request.has("logs")) return reply;
    // After the slice is free: a file server that hangs keeps nobody else waiting.
    SMARTMIG_TRY(const auto logs, request.texts("logs"));
    SMARTMIG_TRY(const auto patterns, request.texts("patterns"));
    SMARTMIG_TRY(const auto uid, request.integer("uid", 0, 0xFFFFFFFELL));
    if (const auto failure = memory_failure_in(logs, std::uint32_t(uid), patterns)) {
      reply["out_of_memory"] = true;
      reply["asked_mib"] = failure->asked_mib;
    }
    return reply;
  }
  if (op != "change" && op != "reserve")
    return invalid("request: unknown operation '{}'; the operations are status, change, reserve and free", op);
  SMARTMIG_TRY(const auto index, request.integer("gpu", 0, 1 << 20));
  SMARTMIG_TRY(const Gpu* gpu, gpu_of(int(index)));
  SMARTMIG_TRY(const std::string slice, request.text("slice"));
  SMARTMIG_TRY(const PlacementId where, slice_of(*gpu, slice));
  if (op == "change") {
    SMARTMIG_TRY(const bool create, request.yes_or_no("create"));
    SMARTMIG_RETURN_IF_ERROR(change(int(index), {create ? Operation::kCreate : Operation::kDestroy, where}));
    return Json::object();
  }
  SMARTMIG_TRY(const auto job, request.integer("job", 1, 0xFFFFFFFELL));
  SMARTMIG_TRY(const auto uid, request.integer("uid", 0, 0xFFFFFFFELL));
  SMARTMIG_RETURN_IF_ERROR(reserve(std::uint32_t(job), std::uint32_t(uid), int(index), where));
  return Json::object();
}

// A higher epoch takes over, and is remembered before anything is done for it.
Result<Ok> NodeAgent::lead(const JsonObject& request) {
  SMARTMIG_TRY(const auto epoch, request.integer("epoch", 1, std::int64_t(1) << 62));
  SMARTMIG_TRY(const std::string leader, request.text("leader"));
  std::string news_to;
  if (request.has("news")) {
    SMARTMIG_TRY(news_to, request.text("news"));
  }
  const std::lock_guard lock(mutex_);
  if (std::uint64_t(epoch) < epoch_)
    return no_permission("the controller on {} has taken over from {}", leader_, leader);
  if (std::uint64_t(epoch) > epoch_) {
    SMARTMIG_RETURN_IF_ERROR(write_durably(options_.state_dir + "/leader.json",
                                           json_dump(Json{{"epoch", epoch}, {"leader", leader}}) + "\n"));
    epoch_ = std::uint64_t(epoch);
    leader_ = leader;
    news_to_.clear();
  }
  if (!news_to.empty()) news_to_ = news_to;
  heard_ = clock_.now();
  return Ok{};
}

// Whoever asked for them waits until they have no process any more.
void NodeAgent::look_at_used() {
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    std::set<PlacementId> used;
    {
      const std::lock_guard lock(mutex_);
      used = gpus_[g]->used;
    }
    if (used.empty()) continue;
    const std::unique_lock operating(gpus_[g]->operating, std::try_to_lock);
    if (!operating) continue;
    for (const PlacementId p : used) {
      if (!is_unused(*gpus_[g], GpuId(std::uint32_t(g)), p)) continue;
      const std::lock_guard lock(mutex_);
      gpus_[g]->used.erase(p);
    }
  }
}

Result<Json> NodeAgent::status() {
  look_at_used();
  Json boards = Json::array(), jobs = Json::array();
  const std::lock_guard lock(mutex_);
  mark_ended();
  for (const auto& gpu : gpus_) {
    const GpuBoard& board = gpu->board;
    std::string trouble = board.trouble;
    if (const auto entry = reshaper_.quarantine().find(board.uuid)) trouble = entry->reason;
    if (trouble.empty() && board.model && !foreign_layout(board).empty())
      trouble = fmt::format("{} has slices that smartmig did not create", title(board));
    boards.push_back({{"uuid", board.uuid},
                      {"model", board.model ? board.model->name() : ""},
                      {"layout", board.model ? to_string(*board.model, board.layout) : ""},
                      {"trouble", trouble}});
    if (gpu->watts) boards.back()["watts_w"] = *gpu->watts;
    for (const PlacementId p : gpu->used) boards.back()["used"].push_back(slice_name(*gpu->model, p));
    const EnergyTotals& energy = meter_.board(board.uuid, {gpu->idle_w}).totals();
    boards.back()["energy"] = {{"counter_j", energy.by_source_j[0]},
                               {"power_integral_j", energy.by_source_j[1]},
                               {"model_j", energy.by_source_j[2]},
                               {"jobs_j", energy.jobs_j},
                               {"idle_j", energy.idle_j},
                               {"unattributed_j", energy.unattributed_j}};
    if (gpu->changing) boards.back()["operating_s"] = seconds(clock_.now() - *gpu->changing);
  }
  for (const auto& [job, holder] : book_.jobs())
    jobs.push_back({{"job", job},
                    {"gpu", holder.gpu},
                    {"slice", holder.slice},
                    {"ended", holder.ended},
                    {"joules", joules_[job]}});
  return Json{{"node", options_.node},
              {"boards", boards},
              {"jobs", jobs},
              {"fence", options_.fence.has_value()},
              {"epoch", epoch_},
              {"leader", leader_},
              {"since_leader_s", seconds(clock_.now() - heard_)}};
}

Result<NodeAgent::Gpu*> NodeAgent::gpu_of(int gpu) {
  if (gpu < 0 || std::size_t(gpu) >= gpus_.size()) return not_found("{} has no GPU {}", options_.node, gpu);
  if (!gpus_[std::size_t(gpu)]->model)
    return unsupported("GPU {} of {} is not in the catalogue of GPU models", gpu, options_.node);
  return gpus_[std::size_t(gpu)].get();
}

Result<PlacementId> NodeAgent::slice_of(const Gpu& gpu, const std::string& text) const {
  const PlacementId where = placement_of(*gpu.model, parse_job_slice(text));
  if (where == kNoPlacement) return invalid("{} has no slice '{}'", gpu.model->name(), text);
  return where;
}

void NodeAgent::saw(Gpu& gpu, GpuBoard board) {
  if (board.model) gpu.board = std::move(board);
}

Result<Ok> NodeAgent::change(int index, Operation operation) {
  SMARTMIG_TRY(Gpu * gpu, gpu_of(index));
  const bool create = operation.kind == Operation::kCreate;
  const std::string slice = slice_name(*gpu->model, operation.placement);
  {
    const std::lock_guard lock(mutex_);
    book_.look();
    if (const auto holder = book_.holder(index, slice); holder && !create)
      return busy_error("slice {} of GPU {} on {} belongs to job {}", slice, index, options_.node, *holder);
    if (gpu->changing)
      return busy_error("GPU {} of {} is in another operation, for {:.0f} s", index, options_.node,
                        seconds(clock_.now() - *gpu->changing));
    gpu->changing = clock_.now();
    if (!create) gpu->going.insert(slice);
  }
  const std::lock_guard operating(gpu->operating);
  auto outcome = reshaper_.apply(GpuId(std::uint32_t(index)), operation);
  const std::lock_guard lock(mutex_);
  gpu->going.erase(slice);
  gpu->changing.reset();
  if (!outcome) {
    if (auto board = driver_.read(GpuId(std::uint32_t(index)))) saw(*gpu, std::move(*board));
    return outcome.error();
  }
  saw(*gpu, outcome->board);
  if (outcome->kind != ReshapeOutcome::kDone)
    return Error{outcome->kind == ReshapeOutcome::kQuarantined ? Error::kLost : Error::kBusy, outcome->words};
  return Ok{};
}

Result<Ok> NodeAgent::reserve(std::uint32_t job, std::uint32_t uid, int index, PlacementId where) {
  SMARTMIG_TRY(Gpu * gpu, gpu_of(index));
  const std::string slice = slice_name(*gpu->model, where);
  SMARTMIG_RETURN_IF_ERROR(is_over(job));  // a run of it before
  const std::unique_lock operating = locked_within(gpu->operating, kOperationPatience);
  if (!operating) return busy_error("GPU {} of {} is in another operation", index, options_.node);
  const auto unused = is_unused(*gpu, GpuId(std::uint32_t(index)), where);
  const std::lock_guard lock(mutex_);
  if (!unused && unused.error().code == Error::kBusy) gpu->used.insert(where);
  SMARTMIG_RETURN_IF_ERROR(unused);
  const Instance* instance = find_instance(gpu->board, where);
  if (!instance || instance->uuid.empty() || gpu->going.contains(slice))
    return not_found("GPU {} of {} has no slice {}", index, options_.node, slice);
  SMARTMIG_TRY(Environment environment, driver_.environment(GpuId(std::uint32_t(index)), *instance, uid));
  environment.insert(environment.end(), options_.environment.begin(), options_.environment.end());
  if (const auto nodes = driver_.device_nodes(GpuId(std::uint32_t(index)), *instance); !nodes.empty())
    environment.emplace_back("SMARTMIG_DEVICES", fmt::format("{}", fmt::join(nodes, ":")));
  if (options_.fence) environment.emplace_back("SMARTMIG_FENCE", "1");  // TaskProlog waits until it stands
  SMARTMIG_RETURN_IF_ERROR(book_.give(job, index, slice, instance->uuid, environment));
  unfenced_.erase(job);
  fenced_.erase(job);
  const double weight = gpu->model->profile_of(where).compute_slices;
  meter_.board(gpu->board.uuid, {gpu->idle_w}).started(job, weight, clock_.now());
  metered_.insert(job);
  return Ok{};
}

Result<Ok> NodeAgent::is_over(std::uint32_t job) {
  if (!options_.lives) return Ok{};
  std::string slice;
  {
    const std::lock_guard lock(mutex_);
    book_.look();
    const auto at = book_.jobs().find(job);
    if (at == book_.jobs().end() || at->second.ended) return Ok{};
    slice = at->second.slice;
  }
  const std::string words = options_.lives(job);
  if (words.empty()) return Ok{};
  return busy_error("job {} is not over on {}: {}; it keeps its slice {}", job, options_.node, words, slice);
}

// REQUIRES: gpu.operating is held.
Result<Ok> NodeAgent::is_unused(Gpu& gpu, GpuId id, PlacementId p) {
  auto processes = driver_.processes(id);
  if (processes) std::erase_if(*processes, [](const DeviceProcess& one) { return is_monitor(one.name); });
  if (!processes)
    return io_error("cannot check for processes on {} of GPU {}: {}", slice_name(*gpu.model, p), index(id),
                    processes.error().what);
  const auto board = driver_.read(id);
  if (!board) return board.error();
  const Instance* instance = find_instance(*board, p);
  if (!instance || !busy_layout(*board, *processes).contains(p)) return Ok{};
  std::string pids;
  for (const DeviceProcess& process : *processes)
    if (process.gpu_instance == instance->gpu_instance || process.gpu_instance < 0)
      pids += fmt::format("{}{} {}", pids.empty() ? "" : ", ", process.pid, process.name);
  return busy_error("slice {} of GPU {} on {} is used by a process: {}", slice_name(*gpu.model, p), index(id),
                    options_.node, pids);
}

void NodeAgent::tell_ended() {
  std::string to;
  std::vector<std::uint32_t> jobs;
  {
    const std::lock_guard lock(mutex_);
    mark_ended();
    to = news_to_;
    std::erase_if(told_, [&](std::uint32_t job) {
      const auto at = book_.jobs().find(job);
      return at == book_.jobs().end() || !at->second.ended;
    });
    if (to.empty() || !options_.tell) return;
    for (const auto& [job, holder] : book_.jobs())
      if (holder.ended && told_.insert(job).second) jobs.push_back(job);
  }
  if (!jobs.empty()) options_.tell(to, jobs);
}

Time NodeAgent::since_leader() {
  const std::lock_guard lock(mutex_);
  return clock_.now() - heard_;
}

std::vector<GpuBoard> NodeAgent::boards() {
  const std::lock_guard lock(mutex_);
  std::vector<GpuBoard> out;
  for (const auto& gpu : gpus_) out.push_back(gpu->board);
  return out;
}

std::map<std::uint32_t, SliceHolder> NodeAgent::jobs() {
  const std::lock_guard lock(mutex_);
  book_.look();
  return book_.jobs();
}

}  // namespace smartmig
