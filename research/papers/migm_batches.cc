#include "research/papers/migm_batches.h"

#include <algorithm>
#include <map>

#include "base/csv.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/speed.h"
#include "research/research_files.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

using Speeds = std::array<double, kMaxComputeSlices>;
constexpr int kWhole = 7;
constexpr double kShortest_s = 60, kLongest_s = 300;  // seconds on the whole GPU: kernels of milliseconds are repeated
constexpr const char* kGpu = "a100-40gb";

// Watts without a record on an A100: the H200's share of its range above idle (88.2 to 700 W), times the 210 W of an
// A100, and the nearest row of the power table:
//   decoding              427.6 W there, 156.5 W here
//   ResNet-50 inference   183.8 W there,  72.8 W here
//   kernels               not recorded; assumed as light as inference
constexpr const char *kLightWatts = "mobilenet-train-64", *kInferenceWatts = "mobilenet-train-64",
                     *kDecodeWatts = "gnn-train-512";
constexpr double kDecodeMib = 3904;  // measured with data/speeds.csv's llm-decode-8

struct Fact {
  std::string kind, gpu;
  int slices = 0, copies = 0;
  double throughput = 0;
};

Result<std::vector<Fact>> read_facts(LineReader lines) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int kind, csv.require("kind"));
  SMARTMIG_TRY(const int gpu, csv.require("gpu"));
  SMARTMIG_TRY(const int profile, csv.require("profile"));
  SMARTMIG_TRY(const int copies, csv.require("copies"));
  SMARTMIG_TRY(const int throughput, csv.require("throughput"));
  std::vector<Fact> facts;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return facts;
    Fact fact{std::string(csv.text(kind)), std::string(csv.text(gpu))};
    const auto slices = parse_int(csv.text(profile).substr(0, csv.text(profile).find('g')));
    if (!slices || *slices < 1 || *slices > kWhole) return csv.error(profile, "no size");
    fact.slices = int(*slices);
    SMARTMIG_TRY(const std::int64_t n, csv.integer(copies));
    fact.copies = int(n);
    SMARTMIG_TRY(fact.throughput, csv.number(throughput));
    facts.push_back(std::move(fact));
  }
}

const std::vector<Fact>& facts() {
  static const std::vector<Fact> all =
      std::move(read_facts(LineReader::over("research/data/migm.csv", research_file("migm.csv"))).value());
  return all;
}

// Completes sizes 1, 2, 3, 4 and 7: linear between and beyond the given ones (beyond the largest, not faster than in
// proportion and not slower than before), in proportion below the smallest.
Speeds complete(Speeds given, bool rising) {
  std::vector<std::pair<int, double>> known;
  for (int k = 1; k <= kWhole; ++k)
    if (double v = given[std::size_t(k - 1)]; v > 0) {
      if (rising && !known.empty()) v = std::max(v, known.back().second);
      known.push_back({k, v});
    }
  SMARTMIG_CHECK(!known.empty(), "a kind without speeds");
  Speeds out{};
  for (const int k : {1, 2, 3, 4, kWhole}) {
    double& v = out[std::size_t(k - 1)];
    const auto above = std::find_if(known.begin(), known.end(), [&](const auto& p) { return p.first >= k; });
    if (above == known.begin()) {
      v = above->second * k / above->first;
    } else if (above != known.end()) {
      const auto below = above - 1;
      v = below->second + (above->second - below->second) * (k - below->first) / (above->first - below->first);
    } else {
      const auto [last, speed] = known.back();
      double slope = 0;
      if (known.size() > 1) {
        const auto [before, slower] = known[known.size() - 2];
        slope = std::max(0.0, (speed - slower) / (last - before));
      }
      v = std::min(speed + slope * (k - last), speed * k / last);
    }
  }
  const double whole = out[kWhole - 1];
  for (double& v : out) v /= whole;
  return out;
}

Speeds table_speeds(const std::string& kind, const char* gpu, bool rising) {
  const KindCurve curve = curve_of(kind, gpu);
  Speeds given{};
  for (int k = 1; k <= kWhole; ++k) given[std::size_t(k - 1)] = curve.throughput[std::size_t(k - 1)];
  return complete(given, rising);
}

Speeds kernel_speeds(const std::string& kind) {
  Speeds given{};
  for (const Fact& fact : facts())
    if (fact.kind == kind) given[std::size_t(fact.slices - 1)] = fact.throughput;
  return complete(given, true);
}

// The share of speed left when processes that would reach `total` alone run at the same time.
double contention(double total) {
  double alone = 0, low_total = 0, low = 1;
  for (const Fact& fact : facts()) {
    if (fact.kind != "llm-decode-8") continue;
    if (fact.copies == 1) alone = fact.throughput;
    const double would = alone * fact.copies, kept = fact.throughput / would;
    if (total <= would)
      return would == low_total ? kept : low + (kept - low) * (total - low_total) / (would - low_total);
    low_total = would;
    low = kept;
  }
  return low;
}

Speeds decode_speeds(bool shared) {
  Speeds speeds{};
  const KindCurve curve = curve_of("llm-decode-8", "h200-141gb");
  const auto alone = [&](int k) { return curve.throughput[std::size_t(k - 1)]; };
  // For each size, the neighbours that fill the GPU.
  const std::map<int, double> full = {
      {1, 7 * alone(1)}, {2, 3 * alone(2) + alone(1)}, {3, 2 * alone(3)}, {4, alone(4) + alone(3)}};
  for (const int k : {1, 2, 3, 4, kWhole})
    speeds[std::size_t(k - 1)] = alone(k) * (shared && k < kWhole ? contention(full.at(k)) : 1);
  return complete(speeds, false);
}

std::vector<std::pair<double, double>> plateau(Rng& rng, double peak) {
  return {{0, 0.15 * peak}, {rng.uniform(0.002, 0.01), 0.97 * peak}, {1, peak}};
}
std::vector<std::pair<double, double>> steps(Rng& rng, double peak) {
  const double first = rng.uniform(0.1, 0.25), second = rng.uniform(0.3, 0.5);
  return {{0, 0.15 * peak},
          {0.01, 0.5 * peak},
          {first, 0.5 * peak},
          {first + 0.01, 0.75 * peak},
          {second, 0.75 * peak},
          {second + 0.01, peak},
          {1, peak}};
}
std::vector<std::pair<double, double>> growth(Rng& rng, double begin, double peak) {
  return {{0, 0.1 * begin}, {rng.uniform(0.002, 0.01), begin}, {1, peak}};
}

std::vector<std::string> kernel_names(bool flat) {
  std::vector<std::string> out;
  for (const Fact& fact : facts()) {
    if (fact.gpu != "a30-24gb" || std::find(out.begin(), out.end(), fact.kind) != out.end()) continue;
    if (!flat || kernel_speeds(fact.kind)[0] >= 0.75) out.push_back(fact.kind);
  }
  return out;
}

// Inference that ran in the 80 GB board's smallest slice, batch 1 to 8.
std::vector<std::string> small_inference() {
  std::vector<std::string> out;
  for (const SpeedTable::Row& row : SpeedTable::builtin().rows()) {
    const auto batch = parse_int(split_kind(row.kind).batch);
    if (row.source.starts_with("ParvaGPU") && row.profile == "1g.10gb" && batch && *batch <= 8) out.push_back(row.kind);
  }
  return out;
}

BatchJob kernel(Rng& rng, const std::vector<std::string>& names) {
  BatchJob job;
  job.kind = names[rng.below(names.size())];
  job.speed = kernel_speeds(job.kind);
  job.watts_like = kLightWatts;
  job.memory = plateau(rng, job.kind == "lavamd" ? rng.uniform(6000, 9500) : rng.uniform(300, 2500));
  return job;
}

BatchJob training(Rng& rng) {
  static const std::vector<std::string> names = SpeedTable::builtin().kinds("MISO");
  BatchJob job;
  job.kind = names[rng.below(names.size())];
  job.profiled = true;
  job.speed = table_speeds(job.kind, kGpu, false);
  job.watts_like = job.kind;
  const double peak = double(SpeedTable::builtin().mem_mib(job.kind).value_or(4000)), draw = rng.uniform();
  job.memory = draw < 0.6 ? plateau(rng, peak) : draw < 0.8 ? steps(rng, peak) : growth(rng, 0.45 * peak, peak);
  return job;
}

BatchJob inference(Rng& rng) {
  static const std::vector<std::string> names = small_inference();
  BatchJob job;
  job.kind = names[rng.below(names.size())];
  job.speed = table_speeds(job.kind, "a100-80gb", true);
  job.watts_like = kInferenceWatts;
  const double peak = rng.uniform(1500, 4500);
  job.memory = rng.uniform() < 0.7 ? plateau(rng, peak) : growth(rng, 0.6 * peak, peak);
  return job;
}

BatchJob decoding(Rng& rng, bool shared, double least, double most) {
  BatchJob job;
  job.kind = "llm-decode-8";
  job.speed = decode_speeds(shared);
  job.watts_like = kDecodeWatts;
  job.memory = growth(rng, 0.75 * kDecodeMib, kDecodeMib * rng.uniform(least, most));
  return job;
}

constexpr BatchKind kBatches[] = {
    {"general-flat", "general", "Rodinia kernels that keep 3/4 of their speed on one slice (A30 curves)", 6.20, 5.93},
    {"general", "general", "all Rodinia kernels (A30 curves)", 6.20, 5.93},
    {"ml", "ml", "half training (MISO), half inference (ParvaGPU)", 1.59, 1.12},
    {"ml-train", "ml", "training (MISO)", 1.59, 1.12},
    {"llm", "llm", "decoding, cache grows to 0.8 to 1.5 times the measured memory (H200 curve of one process)", 1.43,
     1.11},
    {"llm-shared", "llm", "as llm, slowed by each other as seven processes were on the H200", 1.43, 1.11},
    {"llm-long", "llm", "as llm-shared, cache grows to 1 to 4 times the measured memory", 1.43, 1.11},
};

}  // namespace

std::span<const BatchKind> batch_kinds() { return kBatches; }

double BatchJob::peak_mib() const {
  double most = 0;
  for (const auto& [share, mib] : memory) most = std::max(most, mib);
  return most;
}

EmulatedScript BatchJob::script() const {
  EmulatedScript script;
  script.memory = memory;
  script.kind = watts_like;
  for (std::size_t k = 0; k < speed.size(); ++k)
    if (speed[k] > 0) script.seconds[k] = whole_s / speed[k];
  return script;
}

Result<std::vector<BatchJob>> make_batch(std::string_view name, std::uint64_t seed, int count) {
  const auto known =
      std::find_if(std::begin(kBatches), std::end(kBatches), [&](const BatchKind& b) { return name == b.name; });
  if (known == std::end(kBatches)) {
    std::string names;
    for (const BatchKind& b : kBatches) names += (names.empty() ? "" : ", ") + std::string(b.name);
    return invalid("unknown batch '{}'; choose one of {}", name, names);
  }
  if (count < 1 || count > 10'000) return invalid("a batch has 1 to 10000 jobs, not {}", count);
  Rng rng(seed, std::uint64_t(known - std::begin(kBatches)));
  const std::vector<std::string> names = kernel_names(name == "general-flat");
  std::vector<BatchJob> jobs;
  for (int i = 0; i < count; ++i) {
    BatchJob job = known->group == std::string_view("general")          ? kernel(rng, names)
                   : name == "ml-train" || (name == "ml" && i % 2 == 0) ? training(rng)
                   : name == "ml"                                       ? inference(rng)
                   : name == "llm-long"                                 ? decoding(rng, true, 1, 4)
                                                                        : decoding(rng, name == "llm-shared", 0.8, 1.5);
    job.whole_s = rng.uniform(kShortest_s, kLongest_s);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

double throughput_bound(const std::vector<BatchJob>& jobs, const GpuModel& model) {
  // For any share x, the time is at least the sum over jobs of the least of x compute and (1 - x) memory slices.
  constexpr int kSteps = 200;
  double least_s = 0, whole_s = 0;
  for (const BatchJob& job : jobs) whole_s += job.whole_s;
  for (int step = 0; step <= kSteps; ++step) {
    const double x = double(step) / kSteps;
    double sum = 0;
    for (const BatchJob& job : jobs) {
      double least = job.whole_s;
      for (std::size_t p = 0; p < model.profiles().size(); ++p) {
        const Profile& profile = model.profiles()[p];
        if (!(model.schedulable_profiles() >> p & 1) || profile.memory_mib < job.peak_mib()) continue;
        const double speed = job.speed[std::size_t(profile.compute_slices - 1)];
        if (speed <= 0) continue;
        const double share = x * profile.compute_slices / model.compute_slices() +
                             (1 - x) * profile.memory_slices / model.spec().memory_slices;
        least = std::min(least, job.whole_s / speed * share);
      }
      sum += least;
    }
    least_s = std::max(least_s, sum);
  }
  return whole_s / least_s;
}

}  // namespace smartmig
