#include "policy/net/observation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr int kPaperBins = 10, kPaperHistograms = 4;
constexpr std::array<double, 9> kPaperEdges = {0, .05, .2, .5, 1, 5, 10, 20, 30};  // inner edges, minutes
constexpr int kClasses = 4, kSlackBins = 5, kWorkBins = 5;
constexpr std::array<double, 4> kSlackEdges = {-10, -1, 0, 0.5};  // minutes
constexpr std::array<double, 4> kWorkEdges = {0.1, 0.4, 1.5, 5};
constexpr int kRichScalars = 2 * kClasses + 4 + 2 + 4;
constexpr double kDay = 86'400e6;

template <std::size_t N>
int bin_of(const std::array<double, N>& edges, double x) {
  int bin = 0;
  for (const double edge : edges) bin += x >= edge;
  return bin;
}

// The unfinished share of a job's work.
double left_share(const Cluster& cluster, JobId job, const JobState& state, std::span<const Time> work) {
  if (state.type == kNoType) return 1;
  const Time left = cluster.time_left(job);
  const Time whole = work[index(state.type)];
  return whole > Time{0} ? double(left.count()) / double(whole.count()) : 0;
}

double log1p_of(double x) { return deterministic_log(1 + x); }

// sin and cos of 2 pi x for x in [0, 1), from the series around the nearest multiple of a quarter turn.
std::pair<double, double> sin_cos_turn(double x) {
  const int quarter = int(x * 4 + 0.5);
  const double r = (x - quarter * 0.25) * 6.283185307179586, r2 = r * r;
  double s = 0, c = 0;
  for (int k = 15; k >= 3; k -= 2) s = -(s + 1) * r2 / (k * (k - 1));
  for (int k = 16; k >= 2; k -= 2) c = -(c + 1) * r2 / (k * (k - 1));
  s = r * (s + 1);
  c = c + 1;
  switch (quarter % 4) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace

Result<Features> parse_features(std::string_view name) {
  if (name == "paper") return Features::kPaper;
  if (name == "rich") return Features::kRich;
  if (name == "hardware") return Features::kHardware;
  return invalid("features must be paper, rich or hardware, not '{}'", name);
}
const char* name_of(Features features) {
  switch (features) {
    case Features::kPaper:
      return "paper";
    case Features::kRich:
      return "rich";
    case Features::kHardware:
      return "hardware";
  }
  return "";
}

int input_count(Features features, std::size_t layouts) {
  constexpr int kRichInputs = kClasses * kSlackBins * kWorkBins + kRichScalars;
  switch (features) {
    case Features::kPaper:
      return int(layouts) + kPaperHistograms * kPaperBins + 1;
    case Features::kRich:
      return int(layouts) + kRichInputs;
    case Features::kHardware:
      return 3 * int(layouts) + kRichInputs;
  }
  return 0;
}

std::vector<Shape> controller_shapes(const Platform::Model& model) {
  auto shapes = paper_shapes(*model.gpu);
  return shapes.empty() ? model.shapes->maximal_shapes() : shapes;
}

Observer::Observer(Features features, const Platform& platform, int model, std::vector<Shape> shapes)
    : features_(features),
      inputs_(input_count(features, shapes.size())),
      shapes_(std::move(shapes)),
      sizes_(3),
      classes_(platform),
      counts_(shapes_.size()) {
  const Platform::Model& own = platform.models()[std::size_t(model)];
  const auto profiles = own.gpu->profiles();
  profiles_ = int(profiles.size());
  compute_slices_ = own.gpu->compute_slices();
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    if (profiles[p].variant != Variant::kPlain) continue;
    const TypeId type{std::uint8_t(std::size_t(own.first_type) + p)};
    const double share = double(profiles[p].compute_slices) / own.gpu->compute_slices();
    sizes_[share >= 1 ? 2 : (share > 0.3 ? 1 : 0)].push_back(type);
    if (share >= 1) whole_ = type;
  }
  for (int size : {1, 0})
    if (sizes_[std::size_t(size)].empty()) sizes_[std::size_t(size)] = sizes_[std::size_t(size) + 1];
  for (std::size_t g = 0; g < platform.gpus(); ++g)
    if (platform.model_index(GpuId(g)) == model) gpus_.push_back(GpuId(g));
  seen_.resize(gpus_.size());
  layout_of_.assign(gpus_.size(), 0xFF);
}

// A shape outside the set counts as the shape with the most similar instances.
std::uint8_t Observer::index_of(Shape shape) const {
  std::uint8_t best = 0;
  int best_distance = INT32_MAX;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    int distance = 0;
    for (int p = 0; p < profiles_; ++p) distance += std::abs(shape.count(p) - shapes_[i].count(p));
    if (distance < best_distance) {
      best_distance = distance;
      best = std::uint8_t(i);
    }
  }
  return best;
}

void Observer::count_layouts(const Cluster& cluster) {
  std::fill(counts_.begin(), counts_.end(), 0);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Layout layout = cluster.gpu(gpus_[i]).target;
    if (layout != seen_[i] || layout_of_[i] == 0xFF) {
      seen_[i] = layout;
      layout_of_[i] = index_of(shape_of(*cluster.platform().model(gpus_[i]).gpu, layout));
    }
    ++counts_[layout_of_[i]];
  }
}

void Observer::observe(const Cluster& cluster, std::span<float> out) {
  SMARTMIG_CHECK(int(out.size()) == inputs_, "room for {} of {} inputs", out.size(), inputs_);
  count_layouts(cluster);
  late_ = Time{0};
  for (std::size_t i = 0; i < shapes_.size(); ++i) out[i] = float(double(counts_[i]) / double(gpus_.size()));
  out = out.subspan(shapes_.size());
  if (features_ == Features::kPaper) return paper(cluster, out);
  const std::size_t idle_inputs = features_ == Features::kHardware ? 2 * shapes_.size() : 0;
  rich(cluster, out.first(out.size() - idle_inputs));
  if (idle_inputs > 0) idle(cluster, out.last(idle_inputs));
}

void Observer::idle(const Cluster& cluster, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  const float one = float(1 / double(gpus_.size()));
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const int busy = cluster.gpu(gpus_[i]).busy_slices;
    if (busy == 0) out[layout_of_[i]] += one;
    out[shapes_.size() + layout_of_[i]] += one * float(compute_slices_ - busy) / float(compute_slices_);
  }
}

void Observer::paper(const Cluster& cluster, std::span<float> out) {
  std::array<int, kPaperHistograms * kPaperBins> histogram{};
  const JobTable& jobs = cluster.jobs();
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    const JobState& state = cluster.state(id);
    const auto work = jobs.work_row(id);
    const Time deadline = jobs.job(id).deadline;
    if (deadline < cluster.now()) late_ += cluster.now() - deadline;
    const double left = left_share(cluster, id, state, work);
    const double until = deadline == kNever ? HUGE_VAL : minutes(deadline - cluster.now());
    ++histogram[std::size_t(bin_of(kPaperEdges, until))];
    for (std::size_t size = 0; size < 3; ++size) {
      double sum = 0;
      int runs = 0;
      for (const TypeId type : sizes_[size])
        if (work[index(type)] >= Time{0}) {
          sum += minutes(work[index(type)]);
          ++runs;
        }
      const double remaining = runs > 0 ? left * sum / runs : HUGE_VAL;
      ++histogram[(size + 1) * kPaperBins + std::size_t(bin_of(kPaperEdges, remaining))];
    }
  }
  const double per_job = cluster.unfinished() > 0 ? 1 / double(cluster.unfinished()) : 0;
  for (std::size_t i = 0; i < histogram.size(); ++i) out[i] = float(histogram[i] * per_job);
  out[histogram.size()] = float(double(cluster.now().count() % std::int64_t(kDay)) / kDay);
}

void Observer::rich(const Cluster& cluster, std::span<float> out) {
  constexpr int kBins = kSlackBins * kWorkBins;
  std::array<int, kClasses * kBins> histogram{};
  std::array<double, kClasses> backlog{};
  std::array<int, kClasses> waiting{};
  int late = 0;
  const JobTable& jobs = cluster.jobs();
  const Time now = cluster.now();
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    const JobState& state = cluster.state(id);
    const auto work = jobs.work_row(id);
    const Time deadline = jobs.job(id).deadline;
    if (deadline < now) {
      late_ += now - deadline;
      ++late;
    }
    const std::size_t cls = std::size_t(classes_.of(jobs, id) - 1);
    const Time whole = work[index(whole_)];
    const double remaining = whole < Time{0} ? 0 : left_share(cluster, id, state, work) * minutes(whole);
    const double slack = deadline == kNever ? HUGE_VAL : minutes(deadline - now) - remaining;
    ++histogram[cls * kBins + std::size_t(bin_of(kSlackEdges, slack) * kWorkBins + bin_of(kWorkEdges, remaining))];
    backlog[cls] += remaining;
    waiting[cls] += state.phase == JobPhase::kQueued;
  }
  const double gpus = double(cluster.gpus().size());
  std::size_t at = 0;
  const auto put = [&](double x) { out[at++] = float(x); };
  for (const int count : histogram) put(count == 0 ? 0 : log1p_of(count / gpus));
  for (const double minutes_of_class : backlog) put(log1p_of(minutes_of_class / gpus));
  for (const int count : waiting) put(log1p_of(count / gpus));
  int busy = 0;
  for (const GpuId gpu : gpus_) busy += cluster.gpu(gpu).busy_slices;
  put(log1p_of(double(cluster.unfinished()) / gpus));
  put(log1p_of(late / gpus));
  put(log1p_of(double(cluster.running()) / gpus));
  put(double(busy) / (double(compute_slices_) * double(gpus_.size())));
  const auto& all = jobs.workload().jobs;
  // Rows of jobs that have not arrived are at the end, even in a table that grows and is compacted.
  const auto& states = cluster.states();
  const auto arrived =
      all.begin() + (std::partition_point(states.begin(), states.end(),
                                          [](const JobState& s) { return s.phase != JobPhase::kAbsent; }) -
                     states.begin());
  for (const int span : {10, 60}) {
    const Time since = now - std::chrono::minutes(span);
    const auto first = std::partition_point(all.begin(), arrived, [&](const Job& job) { return job.submit < since; });
    const double elapsed = std::clamp(minutes(now), 1.0, double(span));
    put(double(arrived - first) / (elapsed * gpus));
  }
  const double day = double(now.count() % std::int64_t(kDay)) / kDay;
  for (const double turn : {day, day < 0.5 ? 2 * day : 2 * day - 1}) {
    const auto [sine, cosine] = sin_cos_turn(turn);
    put(sine);
    put(cosine);
  }
  SMARTMIG_CHECK(at == out.size(), "{} of {} inputs were filled", at, out.size());
}

}  // namespace smartmig
