#include "research/explain/explain.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "eval/policy_stack.h"
#include "policy/net/meanfield.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

// The bins of a feature by their lower edges; the first begins at minus infinity.
struct Binning {
  const char* title;
  const char* key;
  const char* unit;
  int feature;
  std::vector<double> edges;
  std::size_t of(double x) const {
    return std::size_t(std::upper_bound(edges.begin(), edges.end(), x) - edges.begin());
  }
  std::string label(std::size_t bin) const {
    if (feature == kHour)
      return fmt::format("{:g}-{:g}", bin == 0 ? 0 : edges[bin - 1], bin < edges.size() ? edges[bin] : 24);
    if (feature == kLate && bin == 0) return "none";
    if (feature == kLate && bin == 1) return fmt::format("up to {:g}", edges[1]);
    if (feature == kSublinearity) return std::array{"severe", "moderate", "mild"}[bin];
    if (bin == 0) return fmt::format("< {:g}", edges[0]);
    if (bin == edges.size()) return fmt::format(">= {:g}", edges.back());
    return fmt::format("{:g}-{:g}", edges[bin - 1], edges[bin]);
  }
};

// The paper names three classes and prints scores from 0.67 to 0.84, but not the limits of the classes. These are
// thirds.
constexpr double kSevere = 0.73, kModerate = 0.78;

const std::vector<Binning>& binnings() {
  static const std::vector<Binning> all = {
      {"hour of day", "hour", "h", kHour, {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
      {"unfinished jobs per GPU", "unfinished_per_gpu", "", kUnfinished, {0.5, 1, 2, 4, 8, 16, 32}},
      {"late jobs per GPU", "late_per_gpu", "", kLate, {1e-9, 0.5, 1, 2, 4, 8}},
      {"backlog, whole-GPU minutes per GPU", "backlog_min_per_gpu", "min", kBacklog, {0.5, 1, 2, 5, 10, 20, 50}},
      {"sublinearity of the queue", "sublinearity", "", kSublinearity, {kSevere, kModerate}}};
  return all;
}

// The data of one day. Layouts are numbered by appearance.
struct DayRecord {
  std::vector<ModelShape> layouts;
  struct Call {
    QueueState state;
    std::vector<std::uint32_t> counts;  // after the decision; may be shorter than layouts
  };
  std::vector<Call> calls;
  std::vector<std::vector<std::vector<double>>> held;  // [binning][bin][layout]: GPU seconds
  double gpu_seconds = 0;
  Summary summary;
};

// A policy that observes another one.
class Watcher : public Policy {
 public:
  Watcher(Policy& inner, const Platform& platform, DayRecord& record, bool keep_calls)
      : inner_(inner), record_(record), probe_(platform), keep_calls_(keep_calls) {
    record_.held.resize(binnings().size());
    for (std::size_t b = 0; b < binnings().size(); ++b) record_.held[b].resize(binnings()[b].edges.size() + 1);
  }

  void decide(const Cluster& cluster, Plan& plan) override {
    if (of_.empty()) begin(cluster);
    const double elapsed = seconds(cluster.now() - since_);
    for (std::size_t l = 0; l < counts_.size(); ++l) pending_[l] += elapsed * counts_[l];
    since_ = cluster.now();
    const bool call = controller_due(cluster);
    if (call) {
      settle();
      state_ = probe_.look(cluster);
    }
    inner_.decide(cluster, plan);
    for (const Reshape& reshape : plan.reshapes) move(cluster, reshape.gpu, reshape.to);
    if (call && keep_calls_) record_.calls.push_back({state_, counts_});
  }
  void settle() {
    for (std::size_t b = 0; b < binnings().size(); ++b) {
      auto& held = record_.held[b][binnings()[b].of(state_[std::size_t(binnings()[b].feature)])];
      held.resize(pending_.size());
      for (std::size_t l = 0; l < pending_.size(); ++l) held[l] += pending_[l];
    }
    for (double& p : pending_) {
      record_.gpu_seconds += p;
      p = 0;
    }
  }

 private:
  void begin(const Cluster& cluster) {
    of_.assign(cluster.gpus().size(), 0);
    for (std::size_t g = 0; g < of_.size(); ++g) {
      of_[g] = number(cluster, GpuId(g), cluster.gpus()[g].target);
      ++counts_[of_[g]];
    }
    state_ = probe_.look(cluster);
    since_ = cluster.now();  // nothing was decided before the first event
  }
  std::size_t number(const Cluster& cluster, GpuId gpu, Layout layout) {
    const ModelShape key{cluster.platform().model_index(gpu), shape_of(*cluster.platform().model(gpu).gpu, layout)};
    const auto [at, fresh] = numbers_.emplace(key, record_.layouts.size());
    if (fresh) {
      record_.layouts.push_back(key);
      counts_.push_back(0);
      pending_.push_back(0);
    }
    return at->second;
  }
  void move(const Cluster& cluster, GpuId gpu, Layout to) {
    const std::size_t next = number(cluster, gpu, to);
    --counts_[of_[index(gpu)]];
    ++counts_[of_[index(gpu)] = next];
  }

  Policy& inner_;
  DayRecord& record_;
  QueueProbe probe_;
  bool keep_calls_;
  std::map<ModelShape, std::size_t> numbers_;
  std::vector<std::size_t> of_;
  std::vector<std::uint32_t> counts_;
  std::vector<double> pending_;
  QueueState state_{};
  Time since_{};
};

Result<DayRecord> watch_day(const Setting& setting, const Contender& contender, const Day& day) {
  PolicyOptions options = contender.options;
  options.rule.a = energy_weight(setting, day.jobs->workload());
  options.rule.w = per_job_weight(setting, day.jobs->workload());
  SMARTMIG_TRY(const PolicyStack named, PolicyStack::make({contender.policy, options, setting.cost}, setting.platform));
  SMARTMIG_TRY(auto initial, initial_layouts(*setting.platform, named.initial));
  DayRecord record;
  Watcher watcher(*named.policy, *setting.platform, record, true);
  SMARTMIG_TRY(const SimResult result,
               simulate({setting.platform, day.jobs, setting.cost, std::move(initial), options.rule.a}, watcher));
  watcher.settle();
  record.summary = result.summary;
  return record;
}

Result<double> run_table(const Setting& setting, const Contender& contender, const std::string& placer,
                         const Explanation& e, const DecisionTable& table, const Day& day) {
  PolicyOptions options = contender.options;
  options.rule.a = energy_weight(setting, day.jobs->workload());
  options.rule.w = per_job_weight(setting, day.jobs->workload());
  SMARTMIG_TRY(const PolicyStack named, PolicyStack::make({contender.policy, options, setting.cost}, setting.platform));
  SMARTMIG_TRY(auto initial, initial_layouts(*setting.platform, named.initial));
  SMARTMIG_TRY(auto placing, make_placer(placer, options, setting.cost));
  PairPolicy policy(std::make_unique<TableRepartitioner>(table, e.layouts, named.initial, *setting.platform),
                    std::move(placing));
  SMARTMIG_TRY(const SimResult result,
               simulate({setting.platform, day.jobs, setting.cost, std::move(initial), options.rule.a}, policy));
  return result.summary.et;
}

// First the known layouts of each model, then those that days add, by day and within a day by shape.
void number_layouts(const Platform& platform, const std::vector<DayRecord>& days, Explanation& e) {
  for (std::size_t m = 0; m < platform.models().size(); ++m)
    for (const Shape& shape : controller_shapes(platform.models()[m])) e.layouts.push_back({int(m), shape});
  std::vector<ModelShape> others;
  for (const DayRecord& day : days) others.insert(others.end(), day.layouts.begin(), day.layouts.end());
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  const std::size_t known = e.layouts.size();
  for (const ModelShape& other : others)
    if (std::find(e.layouts.begin(), e.layouts.begin() + std::ptrdiff_t(known), other) ==
        e.layouts.begin() + std::ptrdiff_t(known))
      e.layouts.push_back(other);
  for (const ModelShape& layout : e.layouts) {
    const GpuModel& gpu = *platform.models()[std::size_t(layout.model)].gpu;
    e.names.push_back((platform.models().size() > 1 ? gpu.name() + " " : "") + to_string(gpu, layout.shape));
    const auto paper = paper_shapes(gpu);
    const auto at = std::find(paper.begin(), paper.end(), layout.shape);
    e.paper.push_back(at == paper.end() ? 0 : int(at - paper.begin()) + 1);
  }
}

std::vector<std::size_t> places(const DayRecord& day, const Explanation& e) {  // indices of the day's layouts
  std::vector<std::size_t> out;
  for (const ModelShape& layout : day.layouts)
    out.push_back(std::size_t(std::find(e.layouts.begin(), e.layouts.end(), layout) - e.layouts.begin()));
  return out;
}

void add_samples(const DayRecord& day, const Explanation& e, double gpus, std::vector<TableSample>& samples) {
  const auto place = places(day, e);
  for (const DayRecord::Call& call : day.calls) {
    TableSample sample{call.state, std::vector<float>(e.layouts.size())};
    for (std::size_t l = 0; l < call.counts.size(); ++l) sample.share[place[l]] = float(call.counts[l] / gpus);
    samples.push_back(std::move(sample));
  }
}

void add_shares(const std::vector<DayRecord>& days, std::size_t first, Explanation& e) {
  const std::size_t width = e.layouts.size();
  const double count = double(days.size() - first);
  e.time_share.assign(width, 0);
  double total = 0;
  for (std::size_t b = 0; b < binnings().size(); ++b) {
    const Binning& binning = binnings()[b];
    ShareTable table{binning.title, binning.key, binning.unit, {}};
    for (std::size_t bin = 0; bin <= binning.edges.size(); ++bin) {
      std::vector<double> held(width);
      for (std::size_t d = first; d < days.size(); ++d) {
        const auto place = places(days[d], e);
        for (std::size_t l = 0; l < days[d].held[b][bin].size(); ++l) held[place[l]] += days[d].held[b][bin][l];
      }
      double sum = 0;
      for (const double h : held) sum += h;
      if (b == 0)
        for (std::size_t l = 0; l < width; ++l) e.time_share[l] += held[l];
      if (b == 0) total += sum;
      if (!(sum > 0)) continue;
      ShareBin out{binning.label(bin), sum / 3600 / count, held};
      for (double& h : out.share) h /= sum;
      table.bins.push_back(std::move(out));
    }
    e.tables.push_back(std::move(table));
  }
  for (double& share : e.time_share) share /= std::max(total, 1e-9);
}

void add_calls(const std::vector<TableSample>& samples, Explanation& e) {
  e.call_share.assign(e.layouts.size(), 0);
  std::vector<double> scores;
  for (const TableSample& s : samples) {
    for (std::size_t l = 0; l < s.share.size(); ++l) e.call_share[l] += double(s.share[l]) / double(samples.size());
    if (s.state[kUnfinished] > 0) scores.push_back(s.state[kSublinearity]);
  }
  if (scores.empty()) return;
  e.sublinearity = mean_of(scores);
  std::sort(scores.begin(), scores.end());
  e.sublinearity_low = scores[scores.size() / 20];
  e.sublinearity_high = scores[scores.size() - 1 - scores.size() / 20];
}

}  // namespace

Result<Explanation> explain_policy(const Setting& setting, const Contender& contender, const ExplainOptions& options,
                                   const std::function<void(double)>& progress) {
  Explanation e;
  e.policy = contender.label;
  SMARTMIG_TRY(const PolicyName name, parse_policy_name(contender.policy));
  e.joint = !name.placer || name.guarded;  // guard(...) has several placers
  e.placer = e.joint ? options.joint_placer : name.placer->name;

  // First the days for the fit, then those for the judgement.
  std::vector<std::uint64_t> seeds = options.fit_seeds;
  seeds.insert(seeds.end(), options.seeds.begin(), options.seeds.end());
  const std::size_t fit = options.fit_seeds.size(), judged = options.seeds.size();
  std::vector<DayRecord> days(seeds.size());
  std::vector<std::optional<Error>> errors(seeds.size());
  std::atomic<std::size_t> done{0};
  const double pieces = double(seeds.size() + judged);
  const auto told = [&] {
    if (progress) progress(double(done.fetch_add(1) + 1) / pieces);
  };
  const auto first_error = [&]() -> Result<Ok> {
    for (const auto& error : errors)
      if (error) return *error;
    return Ok{};
  };
  run_parallel(seeds.size(), options.threads, [&](std::size_t d) {
    const auto run = [&]() -> Result<Ok> {
      SMARTMIG_TRY(const Day day, make_day(setting, seeds[d]));
      SMARTMIG_TRY(days[d], watch_day(setting, contender, day));
      return Ok{};
    }();
    if (!run) errors[d] = run.error();
    told();
  });
  SMARTMIG_RETURN_IF_ERROR(first_error());

  number_layouts(*setting.platform, days, e);
  const double gpus = double(setting.platform->gpus());
  std::vector<TableSample> fit_samples, samples;
  for (std::size_t d = 0; d < days.size(); ++d) add_samples(days[d], e, gpus, d < fit ? fit_samples : samples);
  if (fit_samples.empty() || samples.empty())
    return invalid("{} made no decision on these days; give a workload with more jobs", contender.label);
  add_shares(days, fit, e);
  add_calls(samples, e);
  double gpu_hours = 0, repartitions = 0;
  for (std::size_t d = fit; d < days.size(); ++d) {
    gpu_hours += days[d].gpu_seconds / 3600;
    repartitions += double(days[d].summary.repartitions);
  }
  e.reshapes = gpu_hours > 0 ? repartitions / gpu_hours : 0;

  e.table = fit_table(fit_samples, options.table);
  TableOptions one_row = options.table;
  one_row.depth = 0;
  const DecisionTable constant = fit_table(fit_samples, one_row);
  e.fit_calls = fit_samples.size();
  e.calls = samples.size();
  e.fidelity = fidelity_of(e.table, samples);
  e.constant_fidelity = fidelity_of(constant, samples);

  Contender split = contender;  // the layouts of a joint policy, with a placer
  split.policy += "+" + e.placer;
  const bool splits = e.joint && PolicyStack::make({split.policy, split.options, setting.cost}, setting.platform);
  std::vector<double> own(judged), by_table(judged), by_constant(judged), by_split(judged);
  run_parallel(judged, options.threads, [&](std::size_t d) {
    const auto run = [&]() -> Result<Ok> {
      SMARTMIG_TRY(const Day day, make_day(setting, options.seeds[d]));
      own[d] = days[fit + d].summary.et;
      SMARTMIG_TRY(by_table[d], run_table(setting, contender, e.placer, e, e.table, day));
      SMARTMIG_TRY(by_constant[d], run_table(setting, contender, e.placer, e, constant, day));
      if (!splits) return Ok{};
      SMARTMIG_TRY(const Summary summary, run_day(setting, split, day));
      by_split[d] = summary.et;
      return Ok{};
    }();
    if (!run) errors[d] = run.error();
    told();
  });
  SMARTMIG_RETURN_IF_ERROR(first_error());
  e.et = mean_of(own);
  e.table_loss = paired_difference(by_table, own);
  e.constant_loss = paired_difference(by_constant, own);
  if (splits) e.split_et = mean_of(by_split);
  return e;
}

}  // namespace smartmig
