#include "research/papers/llm_jobs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/math.h"
#include "base/rng.h"
#include "memory/memory_estimate.h"
#include "research/papers/memory_study.h"

namespace smartmig {
namespace {

constexpr double kContextMib = 450, kMib = 1048576;
constexpr int kWeightParts = 24;

bool trains(LlmSchedule s) {
  return s == LlmSchedule::kLengths || s == LlmSchedule::kCurriculum || s == LlmSchedule::kBatchRamp ||
         s == LlmSchedule::kSteady;
}

// The choices that are equal in all runs of a command.
struct Command {
  double size_max = 0, sigma = 0, typical = 0, pause = 0;
  int stages = 0, turns = 0;
  std::int64_t requests = 0, steps_a_point = 1;
  bool doubles = false;
};

Command make_command(LlmSchedule schedule, Rng& rng) {
  Command c;
  c.size_max = schedule == LlmSchedule::kBatchRamp ? 32 * double(1 << rng.below(4)) : 512 * double(1 << rng.below(6));
  c.sigma = rng.uniform(0.3, 0.8);
  c.typical = rng.uniform(0.15, 0.5);
  c.pause = rng.uniform(0.2, 0.6);
  c.stages = schedule == LlmSchedule::kBatchRamp ? 6 + int(rng.below(20)) : 3 + int(rng.below(6));
  c.turns = 4 + int(rng.below(12));
  c.requests = 30 + std::int64_t(rng.below(100));
  c.steps_a_point = schedule == LlmSchedule::kLengths ? 1 : 1 + std::int64_t(rng.below(20));
  c.doubles = rng.below(2) == 0;
  return c;
}

// One run of it; `more`: input relative to the usual amount.
void fill_points(LlmJob& job, const Command& c, double more, Rng& rng) {
  job.points.assign(kLlmPoints, {});
  const double load = rng.uniform(0.01, 0.06);
  const auto requests = std::max<std::int64_t>(8, std::int64_t(std::round(double(c.requests) * more)));
  const double tokens = std::round(c.size_max * more);
  const bool served = job.schedule == LlmSchedule::kRequests || job.schedule == LlmSchedule::kPrefixCache;
  const bool told = job.schedule == LlmSchedule::kDecode || job.schedule == LlmSchedule::kChat;
  const auto steps = std::int64_t(std::round(double(kLlmPoints) * double(c.steps_a_point) * more));
  job.size_max = told ? tokens : c.size_max;
  job.of = told ? std::int64_t(tokens) : served ? requests : steps;
  const auto drawn = [&] {
    return std::max(
        1.0, std::min(c.size_max, std::round(c.size_max * c.typical * deterministic_exp(c.sigma * rng.normal()))));
  };
  double length = drawn(), kept = 0;
  std::int64_t request = 0;
  for (std::size_t i = 0; i < kLlmPoints; ++i) {
    const double u = (double(i + 1) / double(kLlmPoints) - load) / (1 - load);
    LlmJob::Point& p = job.points[i];
    if (u < 0) continue;
    p.done = std::max<std::int64_t>(1, std::int64_t(u * double(job.of)));
    switch (job.schedule) {
      case LlmSchedule::kDecode:
        p.size = std::round(u * tokens);
        p.done = std::int64_t(p.size);
        break;
      case LlmSchedule::kChat: {
        const double t = u * c.turns, turn = std::floor(t), part = (t - turn - c.pause) / (1 - c.pause);
        p.size = std::round(std::min(1.0, (turn + std::max(0.0, part)) / c.turns) * tokens);
        p.done = std::int64_t(p.size);
        break;
      }
      case LlmSchedule::kRequests:
      case LlmSchedule::kPrefixCache: {
        const double r = u * double(requests);
        if (std::int64_t(r) > request) {
          kept += length;
          request = std::int64_t(r);
          length = drawn();
          p.fresh = true;
        }
        p.done = request + 1;
        p.size = std::round(length * (0.2 + 0.8 * (r - std::floor(r))));
        if (job.schedule == LlmSchedule::kPrefixCache) p.size += kept;
        break;
      }
      case LlmSchedule::kLengths:
        p.size = drawn();
        break;
      case LlmSchedule::kCurriculum: {
        const int stage = std::min(c.stages - 1, int(u * c.stages));
        p.size = std::round(c.size_max *
                            (c.doubles ? 1.0 / double(1 << (c.stages - 1 - stage)) : double(stage + 1) / c.stages));
        break;
      }
      case LlmSchedule::kBatchRamp:
        p.size = std::max(1.0, std::round(c.size_max * double(std::min(c.stages, int(u * c.stages) + 1)) / c.stages));
        break;
      case LlmSchedule::kSteady:
        p.size = c.size_max;
        break;
    }
  }
}

PastWork past_of(const LlmJob& job, const LlmTrace& trace, bool asked) {
  WorkProjection watch;
  watch.set_allocator(job.family);
  for (std::size_t i = kLlmSampleEvery - 1; i < trace.device_mib.size(); i += kLlmSampleEvery)
    watch.add(sample_of(job, trace, i, asked));
  return watch.to_past(memory_ladder().back());
}

std::int64_t bytes(double mib) { return std::int64_t(mib * kMib); }

}  // namespace

const char* name_of(LlmSchedule schedule) {
  constexpr const char* names[] = {"decode",  "chat",       "requests",   "prefix-cache",
                                   "lengths", "curriculum", "batch-ramp", "steady"};
  return names[int(schedule)];
}

bool possible(LlmSchedule schedule, AllocatorKind allocator) {
  if (allocator == AllocatorKind::kPaged) return !trains(schedule);
  return allocator != AllocatorKind::kPreallocated || (trains(schedule) && schedule != LlmSchedule::kLengths);
}

LlmTrace run_on(const LlmJob& job, double slice_mib) {
  DeviceAllocator memory(job.allocator, bytes(slice_mib - kContextMib));
  LlmTrace out;
  std::vector<int> cache(std::size_t(job.parts), -1), kept, scratch;
  int loaded = 0;
  double cached = 0;
  bool first = true;
  const auto amount = [&](double size) {
    return job.per_size * size * (1 - job.squared + job.squared * size / std::max(1.0, job.size_max)) / job.parts;
  };
  const auto load = [&](double mib) {
    for (int k = 0; k < kWeightParts / 2; ++k)
      if (memory.take(bytes(mib / (kWeightParts / 2))) < 0) return false;
    return true;
  };
  for (const LlmJob::Point& p : job.points) {
    std::int64_t highest = memory.held(), shown = 0;
    const auto take = [&](double mib, bool of_cache) {
      const int at = memory.take(bytes(mib), of_cache);
      highest = std::max(highest, memory.held());
      shown = std::max(shown, memory.device());
      return at;
    };
    bool fits = true;
    if (loaded == 0) fits = load(job.weights_mib / 2), ++loaded;
    if (fits && p.size >= 0 && first) fits = load(job.weights_mib / 2), first = false;
    if (fits && p.size >= 0 && trains(job.schedule)) {
      scratch.clear();
      for (int k = 0; k < job.parts && fits; ++k) {
        scratch.push_back(take(amount(p.size), false));
        fits = scratch.back() >= 0;
      }
      if (fits)
        for (auto at = scratch.rbegin(); at != scratch.rend(); ++at) memory.give(*at);
    } else if (fits && p.size >= 0) {
      if (p.fresh && job.schedule == LlmSchedule::kRequests) {
        for (int& at : cache) {
          if (at >= 0) memory.give(at);
          at = -1;
        }
        for (const int at : kept) memory.give(at);
        kept.clear();
        cached = 0;
      }
      const double grown = amount(p.size) - cached;
      const bool grows = grown >= 8 || cached == 0;
      if (job.joins)
        for (std::size_t k = 0; k < cache.size() && fits; ++k) {
          const int longer = take(amount(p.size), true);
          fits = longer >= 0;
          if (fits && cache[k] >= 0) memory.give(cache[k]);
          if (fits) cache[k] = longer;
        }
      else if (grows)
        for (int k = 0; k < job.parts && fits && grown > 0; ++k) {
          kept.push_back(take(grown, true));
          fits = kept.back() >= 0;
        }
      if (job.joins || grows) cached = amount(p.size);
    }
    if (!fits) {
      out.failed = true;
      return out;
    }
    out.held_mib.push_back(kContextMib + double(std::max(highest, memory.held())) / kMib);
    out.held_peak_mib.push_back(
        std::max(out.held_mib.back(), out.held_peak_mib.empty() ? 0 : out.held_peak_mib.back()));
    out.device_mib.push_back(kContextMib + double(std::max(shown, memory.device())) / kMib);
  }
  return out;
}

WorkSample sample_of(const LlmJob& job, const LlmTrace& trace, std::size_t i, bool asked) {
  WorkSample s;
  s.at_s = job.at(i);
  s.device_mib = trace.device_mib[i];
  if (asked && job.allocator != AllocatorKind::kPaged) s.held_peak_mib = trace.held_peak_mib[i] - kContextMib;
  const LlmJob::Point& p = job.points[i];
  if (p.size < 0) return s;
  if (job.says_memory) s.held_mib = trace.held_mib[i] - kContextMib;
  if (job.says_size) s.size = p.size;
  if (job.says_max) s.size_max = job.size_max;
  if (job.says_done) s.done = double(p.done);
  if (job.says_of) s.of = double(job.of);
  return s;
}

LlmJob make_llm_job(LlmSchedule schedule, AllocatorKind allocator, std::uint64_t seed) {
  Rng rng(seed, 90);
  LlmJob job;
  job.schedule = schedule;
  job.allocator = allocator;
  job.seed = seed;
  const std::vector<double> ladder = memory_ladder();
  double peak = 0;
  const double usable = allocator == AllocatorKind::kPreallocated ? 0.75 : allocator == AllocatorKind::kPaged ? 0.9 : 1;
  do {  // half of the jobs do not fit
    job.first_slice = rng.below(ladder.size() - 1);
    peak = usable * ladder[job.first_slice] * (rng.below(2) ? rng.uniform(0.5, 0.95) : rng.uniform(1.06, 2.6));
  } while (peak > 0.85 * usable * ladder.back());
  std::vector<const NeuralModel*> fitting;
  const auto base_of = [&](const NeuralModel& m) { return m.params * (trains(schedule) ? 16 : 2) / kMib; };
  for (const NeuralModel& m : model_presets())
    if (m.vocabulary > 0 && base_of(m) < 0.75 * (peak - kContextMib)) fitting.push_back(&m);
  if (fitting.empty()) fitting.push_back(&model_presets()[0]);
  const NeuralModel& m = *fitting[rng.below(fitting.size())];
  job.model = m.name;
  job.weights_mib = std::min(base_of(m), 0.75 * (peak - kContextMib));
  job.parts = 8 << rng.below(3);
  job.joins = rng.below(2) == 0;
  job.squared = trains(schedule) && rng.below(3) == 0 ? rng.uniform(0.2, 0.8) : 0;
  const Command command = make_command(schedule, rng);
  fill_points(job, command, 1, rng);
  double largest = 0;
  for (const LlmJob::Point& p : job.points) largest = std::max(largest, p.size);
  const double curved = 1 - job.squared + job.squared * largest / job.size_max;
  const double spare = job.joins && !trains(schedule) ? 1 + 1.0 / job.parts : 1;
  job.per_size = (peak - kContextMib - job.weights_mib) / (largest * curved * spare);
  job.duration_s = deterministic_exp(rng.uniform(deterministic_log(120), deterministic_log(7200)));
  job.restart_s = deterministic_exp(rng.uniform(deterministic_log(15), deterministic_log(120)));
  if (rng.below(10) != 0) {  // one in ten prints nothing useful
    const bool counts_size = schedule == LlmSchedule::kDecode || schedule == LlmSchedule::kChat;
    job.says_done = counts_size || rng.below(8) != 0;
    job.says_of = job.says_done && rng.below(10) < 7;
    job.says_size =
        counts_size || (schedule != LlmSchedule::kSteady && schedule != LlmSchedule::kPrefixCache && rng.below(4) != 0);
    job.says_max = job.says_size && (counts_size ? job.says_of
                                                 : rng.below(10) < 6 && schedule != LlmSchedule::kBatchRamp &&
                                                       schedule != LlmSchedule::kCurriculum);
    job.says_memory = rng.below(5) == 0;
  }
  constexpr AllocatorFamily kFamilies[] = {AllocatorFamily::kPlain,    AllocatorFamily::kCaching,
                                           AllocatorFamily::kPlain,    AllocatorFamily::kDoubling,
                                           AllocatorFamily::kReserved, AllocatorFamily::kReserved};
  if (rng.below(10) != 0) job.family = kFamilies[int(allocator)];  // one in ten hides its libraries
  const int earlier = rng.below(2) ? 1 + int(rng.below(3)) : 0;
  for (int k = 0; k < earlier; ++k) {
    Rng other(mix64(seed, std::uint64_t(k)), 92);
    LlmJob past = job;
    const double more = deterministic_exp(0.25 * other.normal());
    fill_points(past, command, more, other);
    past.duration_s *= more;
    const LlmTrace trace = run_on(past, memory_ladder().back());
    if (trace.failed) continue;  // it fits no slice
    job.past.push_back(past_of(past, trace, false));
    job.past_asked.push_back(past_of(past, trace, true));
  }
  const std::uint64_t told = rng.below(4);
  if (told < 2)
    job.expected_s = job.duration_s * deterministic_exp(0.25 * rng.normal());
  else if (told == 2)
    job.expected_s = job.duration_s * deterministic_exp(rng.uniform(deterministic_log(0.3), deterministic_log(3)));
  return job;
}

}  // namespace smartmig
