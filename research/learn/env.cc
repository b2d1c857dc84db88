#include "research/learn/env.h"

#include <algorithm>
#include <array>

#include "base/math.h"
#include "base/text.h"
#include "model/summary.h"
#include "policy/layouts/repartitioners.h"
#include "sched/session.h"
#include "sim/simulate.h"
#include "sim/workload_windows.h"

namespace smartmig {
namespace {
constexpr std::uint64_t kValidationSeeds = 100'000;                                      // and above
constexpr std::array<int, kForesight + 1> kWindows = {0, 5, 15, 30, 60, 120, 240, 480};  // minutes from now

Result<FileDays> days_of_file(const std::string& file, const LoadOptions& load, Time window) {
  SMARTMIG_TRY(Workload workload, load_workload(file, load));
  SMARTMIG_TRY(WorkloadWindows windows, WorkloadWindows::cut(std::move(workload), window));
  FileDays out;
  out.training = windows.training();
  if (out.training.size() < 2)
    return invalid(
        "{} has {} window{} of {} with jobs within its first half: training needs two at least, one to learn "
        "on and one to judge on; choose a shorter env.window",
        file, out.training.size(), out.training.size() == 1 ? "" : "s", windows.length_in_words());
  const std::size_t judged = std::max<std::size_t>(1, out.training.size() / 5);
  out.validation.assign(out.training.end() - std::ptrdiff_t(judged), out.training.end());
  out.training.resize(out.training.size() - judged);
  out.windows = std::make_shared<const WorkloadWindows>(std::move(windows));
  return out;
}

}  // namespace

class Env::Pushed : public Repartitioner {
 public:
  explicit Pushed(std::vector<Shape> initial) : initial_(std::move(initial)) {}
  std::vector<Shape> initial() const override { return initial_; }
  void retarget(const Cluster&, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    wanted.insert(wanted.end(), pending.begin(), pending.end());
    pending.clear();
  }
  std::vector<std::pair<GpuId, Shape>> pending;

 private:
  std::vector<Shape> initial_;
};

struct Env::World {
  World(Cluster cluster, std::unique_ptr<Pushed> pushed_, std::unique_ptr<Placer> placer)
      : fleet(cluster),
        session(fleet, std::move(cluster)),
        pushed(pushed_.get()),
        policy(std::move(pushed_), std::move(placer)),
        loop(session, [this](const Cluster& now, Plan& plan) { policy.decide(now, plan); }) {}
  SimFleet fleet;
  Session session;
  Pushed* pushed;
  PairPolicy policy;
  DecisionLoop loop;
};

Result<std::shared_ptr<const EnvSetup>> EnvSetup::make(const TrainConfig& config) {
  auto setup = std::make_shared<EnvSetup>();
  SMARTMIG_TRY(Platform platform, Platform::parse(config.gpus, config.power));
  if (platform.models().size() != 1)
    return invalid("env.gpus {} has several GPU models, but a controller needs a fleet of one model", config.gpus);
  SMARTMIG_TRY(setup->cost, CostModel::parse(config.cost));
  if (config.reshape_s >= 0) {
    if (setup->cost.free()) return invalid("env.reshape_s needs env.cost = \"hardware\"");
    setup->cost.reshape = from_seconds(config.reshape_s);
  }
  setup->load.deadline_cut = from_seconds(config.deadline_cut_s);
  if (!config.restart.empty()) {
    SMARTMIG_TRY(setup->load.restart, parse_restart(config.restart));
  }
  setup->load.map = config.map;
  setup->load.default_kind = config.default_kind;
  if (!config.missing_slack.empty()) {
    SMARTMIG_TRY(setup->load.missing_slack, parse_slack(config.missing_slack));
  }
  setup->cut = from_seconds(config.max_hours * 3600);
  const auto window = parse_duration(config.window);
  if (!window) return invalid("env.window '{}' is not a length of time such as 1d or 6h", config.window);
  for (const std::string_view item : split(config.workload, ';')) {
    const std::string spec(trim(item));
    FileDays days;
    if (is_workload_spec(spec)) {
      SMARTMIG_TRY(const WorkloadSpec parsed, parse_workload_spec(spec));
      setup->workloads.push_back(to_string(parsed));
    } else {
      SMARTMIG_TRY(days, days_of_file(spec, setup->load, *window));
      setup->workloads.push_back(spec);
      setup->cut = std::max(setup->cut, *window + std::chrono::hours(12));
    }
    setup->files.push_back(std::move(days));
  }
  setup->weights.assign(setup->workloads.size(), 1);
  if (!config.weights.empty()) {
    const auto weights = split(config.weights, ';');
    if (weights.size() != setup->workloads.size())
      return invalid("env.weights has {} numbers for {} workloads", weights.size(), setup->workloads.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto number = parse_double(trim(weights[i]));
      if (!number || !(*number > 0 && *number <= 1e6))
        return invalid("env.weights: '{}' is not a number above 0", trim(weights[i]));
      setup->weights[i] = *number;
    }
  }
  setup->placer = config.placer;
  SMARTMIG_TRY(const auto placer, make_placer(config.placer, {}, setup->cost));
  setup->a = config.a;
  SMARTMIG_TRY(setup->features, parse_features(config.features));
  setup->foresight = config.foresight;
  setup->shapes = controller_shapes(platform.models()[0]);
  std::vector<std::string> initial;
  for (const std::string_view item : split(config.initial, ',')) initial.emplace_back(trim(item));
  SMARTMIG_TRY(setup->initial, parse_shapes(platform, initial, true));
  for (const Shape& shape : setup->initial)
    if (std::find(setup->shapes.begin(), setup->shapes.end(), shape) == setup->shapes.end())
      return invalid("env.initial: {} is not among the layouts the controller chooses from",
                     to_string(*platform.models()[0].gpu, shape));
  setup->first_seed = std::uint64_t(config.first_seed);
  setup->seeds = std::uint64_t(config.last_seed - config.first_seed + 1);
  setup->platform = std::make_shared<const Platform>(std::move(platform));
  return std::shared_ptr<const EnvSetup>(std::move(setup));
}

std::size_t EnvSetup::validation_days(std::size_t wanted) const {
  std::size_t most = 0;
  for (const FileDays& file : files) {
    if (!file.windows) return wanted;
    most = std::max(most, file.validation.size());
  }
  return std::min(wanted, most * files.size());
}

Result<TrainingDay> make_training_day(const EnvSetup& setup, std::size_t number, std::uint64_t seed) {
  const std::size_t which = number % setup.workloads.size();
  const std::string& text = setup.workloads[which];
  const FileDays& file = setup.files[which];
  LoadOptions options = setup.load;
  options.seed = seed;
  const auto window_of = [&](const std::vector<std::uint64_t>& list) {
    return file.windows->window(list[number / setup.workloads.size() % list.size()]);
  };
  SMARTMIG_TRY(Workload workload, !file.windows              ? load_workload(text, options)
                                  : seed >= kValidationSeeds ? window_of(file.validation)
                                                             : window_of(file.training));
  if (workload.jobs.empty()) return invalid("{} with seed {} has no jobs", text, seed);
  TrainingDay day;
  day.weight = setup.weights[which];
  day.a_eff = effective_a(setup.a, setup.platform->gpus(), workload.days);
  day.n = double(workload.jobs.size());
  if (!setup.actual_n && !file.windows) {
    SMARTMIG_TRY(const WorkloadSpec spec, parse_workload_spec(text));
    day.n = expected_jobs(spec);
  }
  SMARTMIG_TRY(JobTable jobs, JobTable::bind(std::make_shared<Workload>(std::move(workload)), *setup.platform));
  if (setup.foresight) {
    const auto profiles = setup.platform->models()[0].gpu->profiles();
    std::size_t whole = 0;
    for (std::size_t p = 0; p < profiles.size(); ++p)
      if (profiles[p].variant == Variant::kPlain && profiles[p].compute_slices > profiles[whole].compute_slices)
        whole = p;
    day.work_before.resize(jobs.size() + 1);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      day.work_before[i + 1] = day.work_before[i] + std::max(0.0, minutes(jobs.work(JobId(i), TypeId(whole))));
  }
  day.jobs = std::make_shared<const JobTable>(std::move(jobs));
  return day;
}

Env::Env(std::shared_ptr<const EnvSetup> setup)
    : setup_(std::move(setup)),
      observer_(setup_->features, *setup_->platform, 0, setup_->shapes),
      raw_(std::size_t(setup_->inputs())) {}
Env::~Env() = default;
Env::Env(Env&&) noexcept = default;

const Cluster& Env::cluster() const { return world_->session.cluster(); }

Result<Ok> Env::begin(std::uint64_t number, Time skip) {
  number_ = number;
  skip_ = skip;
  seed_ = setup_->first_seed + number % setup_->seeds;
  SMARTMIG_TRY(day_, make_training_day(*setup_, number, seed_));
  SMARTMIG_TRY(auto layouts, initial_layouts(*setup_->platform, setup_->initial));
  PolicyOptions options;
  options.rule.a = setup_->a;
  options.rule.w = day_.a_eff * day_.n;
  options.rule.seed = seed_;
  SMARTMIG_TRY(auto placer, make_placer(setup_->placer, options, setup_->cost));
  world_ = std::make_unique<World>(Cluster(setup_->platform, day_.jobs, setup_->cost, std::move(layouts)),
                                   std::make_unique<Pushed>(setup_->initial), std::move(placer));
  finished_late_ = Time{0};
  cost_ = return_ = 0;
  actions_.clear();
  over_ = stuck_ = false;
  const auto nothing_left = [&] {
    return invalid("the day {} with seed {} is over before its first controller call",
                   setup_->workloads[number % setup_->workloads.size()], seed_);
  };
  if (!run_to_call()) return nothing_left();
  while (cluster().now() < skip) {
    world_->loop.decide();
    if (!run_to_call()) return nothing_left();
  }
  look();
  if (skip > Time{0}) cost_ = accrued_cost();
  return Ok{};
}

// Continues to the event at which the controller is called; false once the day is over.
bool Env::run_to_call() {
  World& world = *world_;
  while (world.loop.advance()) {
    const Cluster& now = world.session.cluster();
    if (const auto news = now.news(); !news.empty() && news.back().kind == EventKind::kFinished)
      finished_late_ += tardiness_of(now.jobs().job(news.back().job), news.back().at);
    if (controller_due(now)) return true;
    world.loop.decide();
  }
  over_ = true;
  stuck_ = world.session.cluster().unfinished() > 0;
  return false;
}

void Env::look() {
  const std::size_t inputs = std::size_t(observer_.inputs());
  observer_.observe(cluster(), std::span(raw_).first(inputs));
  if (!setup_->foresight) return;
  const auto& jobs = day_.jobs->workload().jobs;
  const auto arrived = std::ptrdiff_t(cluster().counters().arrivals);
  std::size_t from = std::size_t(arrived);
  for (std::size_t w = 0; w < std::size_t(kForesight); ++w) {
    const Time until = cluster().now() + std::chrono::minutes(kWindows[w + 1]);
    const auto to = std::size_t(std::partition_point(jobs.begin() + std::ptrdiff_t(from), jobs.end(),
                                                     [&](const Job& job) { return job.submit < until; }) -
                                jobs.begin());
    const double work = (day_.work_before[to] - day_.work_before[from]) / double(setup_->platform->gpus());
    raw_[inputs + w] = float(deterministic_log(1 + work));
    from = to;
  }
}

// weight * (tardiness so far / n + a_eff * energy so far) / (1 + a_eff)
double Env::accrued_cost() const {
  Time late = finished_late_;
  if (!over_)
    late += observer_.late();
  else if (stuck_)  // jobs that fit no layout count as late until the cut
    for (JobId id = cluster().first_unfinished(); id != kNoJob; id = cluster().next_unfinished(id))
      late += tardiness_of(cluster().jobs().job(id), std::max(cluster().now(), setup_->cut));
  return day_.weight * (minutes(late) / day_.n + day_.a_eff * watt_minutes(cluster().total_joules())) /
         (1 + day_.a_eff);
}

EnvStep Env::act(std::span<const std::uint8_t> next) {
  SMARTMIG_CHECK(!over_ && next.size() == observer_.gpus().size(), "an action after the end, or for {} GPUs of {}",
                 next.size(), observer_.gpus().size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Shape shape = setup_->shapes[next[i]];
    if (next[i] != observer_.layout_of()[i] && takes_at_once(cluster(), observer_.gpus()[i], shape))
      world_->pushed->pending.emplace_back(observer_.gpus()[i], shape);
  }
  actions_.insert(actions_.end(), next.begin(), next.end());
  world_->loop.decide();
  EnvStep step;
  step.done = !run_to_call();
  if (!step.done) look();
  const double cost = accrued_cost();
  step.reward = cost_ - cost;
  cost_ = cost;
  return_ += step.reward;
  step.truncated = !step.done && cluster().now() >= setup_->cut;
  over_ = step.done || step.truncated;
  return step;
}

}  // namespace smartmig
