// What an agent does for the jobs that have its slices: counts their joules, and keeps them from others' device files.
#include <algorithm>

#include "base/file.h"
#include "cluster/node_agent.h"

namespace smartmig {
namespace {

constexpr std::size_t kFreedKept = 1000;
constexpr Time kFenceAgain{1'000'000};

}  // namespace

std::vector<std::string> NodeAgent::fence() {
  std::vector<std::string> words;
  if (!options_.fence) return words;
  const std::lock_guard lock(mutex_);
  book_.look();
  for (const auto& [job, holder] : book_.jobs()) {
    if (holder.ended || unfenced_.contains(job)) continue;
    const auto again = fenced_.find(job);
    if (again != fenced_.end() && clock_.now() < again->second) continue;
    const auto done = options_.fence->fence(job, holder.files);
    if (!done) {
      if (done.error().code == Error::kNotFound) continue;  // it has not begun, or is just ending
      words.push_back(fmt::format("job {}: its device files are not closed: {}", job, done.error().what));
      unfenced_.insert(job);
      continue;
    }
    if (again == fenced_.end())
      if (const auto told = book_.fenced(job); !told) words.push_back(told.error().what);
    fenced_[job] = *done == DeviceFence::Kind::kRepeat ? clock_.now() + kFenceAgain : kNeverUnix;
  }
  std::erase_if(unfenced_, [&](std::uint32_t job) { return !book_.jobs().contains(job); });
  std::erase_if(fenced_, [&](const auto& one) { return !book_.jobs().contains(one.first); });
  return words;
}

void NodeAgent::mark_ended() {
  book_.look();
  for (const auto& [job, holder] : book_.jobs()) {
    if (!holder.ended || metered_.erase(job) == 0) continue;
    const auto gpu = gpu_of(holder.gpu);
    if (gpu) meter_.board((*gpu)->board.uuid, {(*gpu)->idle_w}).ended(job, clock_.now());
  }
}

Result<std::optional<double>> NodeAgent::free(std::uint32_t job) {
  SMARTMIG_RETURN_IF_ERROR(is_over(job));
  sample();
  const std::lock_guard lock(mutex_);
  const auto at = book_.jobs().find(job);
  if (at == book_.jobs().end()) {
    const auto before = std::find_if(freed_.rbegin(), freed_.rend(), [&](const auto& one) { return one.first == job; });
    return before == freed_.rend() ? std::nullopt : std::optional(before->second);
  }
  if (const auto gpu = gpu_of(at->second.gpu); gpu && metered_.erase(job) > 0)
    meter_.board((*gpu)->board.uuid, {(*gpu)->idle_w}).ended(job, clock_.now());
  SMARTMIG_RETURN_IF_ERROR(book_.forget(job));
  const double joules = joules_[job];
  joules_.erase(job);
  freed_.emplace_back(job, joules);
  if (freed_.size() > kFreedKept) freed_.pop_front();
  store_energy();
  return std::optional(joules);
}

void NodeAgent::sample() {
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const std::unique_lock operating(gpus_[g]->operating, std::try_to_lock);
    if (!operating) continue;  // after its operation
    const GpuId id{std::uint32_t(g)};
    const auto energy = driver_.energy(id);
    const auto power = driver_.power(id);
    auto board = driver_.read(id);
    const std::lock_guard lock(mutex_);
    mark_ended();
    Gpu& gpu = *gpus_[g];
    if (board)
      saw(gpu, std::move(*board));
    else
      gpu.board.trouble = board.error().what;
    EnergySample sample;
    sample.at = clock_.now();
    sample.model_w = gpu.idle_w;
    if (energy) sample.counter_j = *energy;
    if (power) sample.power_w = *power;
    gpu.watts = sample.power_w;
    for (const auto& [job, joules] : meter_.board(gpu.board.uuid, {gpu.idle_w}).sample(sample).jobs)
      if (book_.jobs().contains(std::uint32_t(job))) joules_[std::uint32_t(job)] += joules;
  }
  const std::lock_guard lock(mutex_);
  store_energy();
}

// Joules that a crash loses are those since the last sample; a file that cannot be written costs no job anything.
void NodeAgent::store_energy() {
  Json jobs = Json::object();
  for (const auto& [job, joules] : joules_) jobs[fmt::format("{}", job)] = joules;
  (void)write_file(options_.state_dir + "/energy.json", json_dump(Json{{"meter", meter_.state()}, {"jobs", jobs}}));
}

Result<Ok> NodeAgent::restore_energy() {
  for (const auto& [job, holder] : book_.jobs())
    if (!holder.ended) metered_.insert(job);
  const auto text = read_file(options_.state_dir + "/energy.json");
  if (!text) return Ok{};
  const auto json = parse_json("energy.json", *text);
  if (!json || !json->is_object()) return Ok{};  // joules so far are lost
  if (json->contains("meter") && (*json)["meter"].is_string())
    (void)meter_.restore((*json)["meter"].get<std::string>());
  if (json->contains("jobs") && (*json)["jobs"].is_object())
    for (const auto& [job, joules] : (*json)["jobs"].items())
      if (joules.is_number() && !job.empty() && job.find_first_not_of("0123456789") == std::string::npos &&
          job.size() < 10)
        joules_[std::uint32_t(std::stoul(job))] = joules.get<double>();
  return Ok{};
}

}  // namespace smartmig
