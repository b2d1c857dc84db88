#include "eval/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/csv.h"
#include "base/math.h"
#include "base/units.h"
#include "eval/time_fit.h"
#include "mig/catalog.h"
#include "model/power.h"
#include "model/speed.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostPredicted = 400;  // per kind: more runs are thinned out evenly
constexpr double kUnknownExponent = 0.5;     // the daemon's value for an unknown kind

struct Sized {
  std::string name;
  const Profile* profile = nullptr;
};

// The runs of one kind on one GPU model.
struct Group {
  const GpuModel* gpu = nullptr;
  std::vector<const MeasuredRun*> runs;
  std::vector<Sized> sizes;  // by increasing size
  std::vector<FitPoint> points;
  std::size_t tasks = 0;
};

// Soft slices count as the model's own slices, and halves of the smallest count as the smallest: they have the same
// SMs.
struct Measured {
  std::shared_ptr<const GpuModel> gpu;
  int profile = -1;
};
Result<Measured> measured_on(const MeasuredRun& run) {
  SMARTMIG_TRY(const auto named, Catalog::builtin().find(run.gpu));
  const int own = named->find_profile(run.profile);
  if (own < 0)
    return invalid("{} has no profile '{}'; smartmig geometry {} lists them", run.gpu, run.profile, named->name());
  const Profile& p = named->profiles()[std::size_t(own)];
  SMARTMIG_TRY(const auto gpu, Catalog::builtin().find(named->tables()));
  return Measured{gpu,
                  gpu->find_profile(p.variant == Variant::kHalfMemory ? fmt::format("{}g", p.compute_slices) : p.name)};
}

Result<Ok> add_run(std::map<std::pair<std::string, std::string>, Group>& groups, const MeasuredRun& run) {
  SMARTMIG_TRY(const Measured on, measured_on(run));
  const auto& [gpu, profile] = on;
  Group& group = groups[{run.kind, gpu->name()}];
  group.gpu = gpu.get();  // points into the catalogue, which stays
  group.runs.push_back(&run);
  const Profile& p = gpu->profiles()[std::size_t(profile)];
  if (std::none_of(group.sizes.begin(), group.sizes.end(), [&](const Sized& s) { return s.name == p.name; }))
    group.sizes.push_back({p.name, &p});
  return Ok{};
}

void number_points(Group& group) {
  const auto key = [](const Sized& s) {
    return std::tuple(s.profile->compute_slices, s.profile->sms, s.profile->memory_mib, s.name);
  };
  std::sort(group.sizes.begin(), group.sizes.end(), [&](const Sized& a, const Sized& b) { return key(a) < key(b); });
  std::map<std::string, std::size_t> tasks;
  for (const MeasuredRun* run : group.runs) {
    const std::string& name = group.gpu->profiles()[std::size_t(measured_on(*run)->profile)].name;
    const auto size =
        std::find_if(group.sizes.begin(), group.sizes.end(), [&](const Sized& s) { return s.name == name; });
    const std::size_t task = tasks.emplace(run->task, tasks.size()).first->second;
    group.points.push_back({task, std::size_t(size - group.sizes.begin()), run->work, run->seconds});
  }
  group.tasks = tasks.size();
}

// The logarithms of the speeds that the tables hold now.
std::vector<double> believed_speeds(const Group& group, const std::string& kind) {
  const SpeedTable& table = SpeedTable::builtin();
  const SpeedTable::Row* largest = nullptr;
  int largest_slices = 0;
  for (const SpeedTable::Row& row : table.rows()) {
    if (row.kind != kind || row.gpu != group.gpu->name()) continue;
    const int slices = group.gpu->profiles()[std::size_t(group.gpu->find_profile(row.profile))].compute_slices;
    if (slices > largest_slices) largest = &row, largest_slices = slices;
  }
  std::vector<double> speeds;
  for (const Sized& size : group.sizes) {
    const auto known = table.throughput(kind, group.gpu->name(), size.name);
    const double slices = size.profile->compute_slices;
    speeds.push_back(known     ? deterministic_log(*known)
                     : largest ? deterministic_log(largest->throughput) +
                                     kUnknownExponent * deterministic_log(slices / largest_slices)
                               : kUnknownExponent * deterministic_log(slices));
  }
  return speeds;
}

// Watts above idle: least squares of joules on seconds, without run `left_out`. Negative: no run gives joules.
double fitted_watts(const Group& group, std::size_t size, std::size_t left_out) {
  double jt = 0, tt = 0;
  for (std::size_t i = 0; i < group.runs.size(); ++i) {
    if (i == left_out || group.points[i].size != size || group.runs[i]->joules < 0) continue;
    jt += group.runs[i]->joules * group.runs[i]->seconds;
    tt += group.runs[i]->seconds * group.runs[i]->seconds;
  }
  return tt > 0 ? jt / tt : -1;
}

double mean_share(const Group& group, std::size_t size) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < group.runs.size(); ++i) {
    if (group.points[i].size != size || group.runs[i]->joules < 0) continue;
    sum += group.runs[i]->share * group.runs[i]->seconds;
    all += group.runs[i]->seconds;
  }
  return all > 0 ? sum / all : 1;
}

struct Errors {
  std::vector<double> time_before, time_after, energy_before, energy_after;
};

double relative(double predicted, double measured) { return std::abs(predicted - measured) / measured; }

void predict_each(const Group& group, const TimeFit& believed, const TimeFit& fit,
                  const std::vector<double>& watts_before, Errors& errors) {
  const std::size_t n = group.points.size(), step = (n + kMostPredicted - 1) / kMostPredicted;
  for (std::size_t i = 0; i < n; i += std::max<std::size_t>(1, step)) {
    std::vector<FitPoint> others = group.points;
    others.erase(others.begin() + std::ptrdiff_t(i));
    const FitPoint& point = group.points[i];
    const auto before = paced(others, group.tasks, believed).seconds(point);
    const auto after = fit_speeds(others, group.tasks, believed.log_speed, fit.launch_s).seconds(point);
    if (!before || !after) continue;  // the only run of its task
    errors.time_before.push_back(relative(*before, point.seconds));
    errors.time_after.push_back(relative(*after, point.seconds));
    const double joules = group.runs[i]->joules;
    if (joules <= 0 || watts_before.empty()) continue;
    const double told = watts_before[point.size], fitted = fitted_watts(group, point.size, i);
    errors.energy_before.push_back(relative(told * *before, joules));
    errors.energy_after.push_back(relative((fitted < 0 ? told : fitted) * *after, joules));
  }
}

}  // namespace

ErrorFigures error_figures(std::vector<double> errors) {
  ErrorFigures out;
  out.runs = errors.size();
  if (errors.empty()) return out;
  std::sort(errors.begin(), errors.end());
  for (const double e : errors) out.mean += e / double(errors.size());
  out.p90 = errors[(errors.size() * 9 + 9) / 10 - 1];
  return out;
}

Result<std::vector<MeasuredRun>> read_measured_runs(LineReader lines) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int kind, csv.require("kind"));
  SMARTMIG_TRY(const int gpu, csv.require("gpu"));
  SMARTMIG_TRY(const int profile, csv.require("profile"));
  SMARTMIG_TRY(const int seconds_column, csv.require("seconds"));
  const int joules_column = csv.column("joules"), work = csv.column("work"), task = csv.column("task"),
            memory = csv.column("mem_mib"), share = csv.column("share");
  std::vector<MeasuredRun> runs;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return runs;
    for (const int column : {kind, gpu, profile})
      if (csv.empty(column)) return csv.error(column, "must not be empty");
    MeasuredRun run{std::string(csv.text(kind)), std::string(csv.text(gpu)), std::string(csv.text(profile)),
                    std::string(csv.text(task))};
    SMARTMIG_TRY(run.seconds, csv.number(seconds_column));
    if (run.seconds < 1e-6 || run.seconds > kMaxSeconds)
      return csv.error(seconds_column, "must be above 0 and at most 1e10 s");
    SMARTMIG_TRY(const auto joules, csv.optional_number(joules_column));
    if (joules && (*joules < 0 || *joules > 1e15)) return csv.error(joules_column, "must be 0 to 1e15 J");
    if (joules) run.joules = *joules;
    SMARTMIG_TRY(const auto amount, csv.optional_number(work));
    if (amount && (*amount < 1e-12 || *amount > 1e15)) return csv.error(work, "must be above 0 and at most 1e15");
    if (amount) run.work = *amount;
    if (!csv.empty(memory)) {
      SMARTMIG_TRY(const std::int64_t mib, csv.integer(memory));
      if (mib < 0 || mib > 1 << 30) return csv.error(memory, "must be between 0 and 2^30 MiB");
      run.mem_mib = int(mib);
    }
    SMARTMIG_TRY(const auto part, csv.optional_number(share));
    if (part && !(*part >= 0 && *part <= 1)) return csv.error(share, "must be between 0 and 1");
    run.share = part.value_or(1);
    const auto known = Catalog::builtin().find(run.gpu);
    if (!known) return csv.error(gpu, known.error().what);
    if ((*known)->find_profile(run.profile) < 0)
      return csv.error(profile, fmt::format("{} has no profile '{}'", run.gpu, run.profile));
    runs.push_back(std::move(run));
  }
}

Result<Calibration> calibrate(const std::vector<MeasuredRun>& runs, const std::string& power) {
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const MeasuredRun& run : runs) SMARTMIG_RETURN_IF_ERROR(add_run(groups, run));
  Calibration out;
  Errors errors;
  std::set<std::string> powerless;
  for (auto& [name, group] : groups) {
    number_points(group);
    KindFit kind;
    kind.kind = name.first;
    kind.gpu = name.second;
    const auto model = PowerModel::named(power, *group.gpu);
    if (!model && powerless.insert(group.gpu->name()).second) out.notes.push_back(model.error().what);
    TimeFit believed;
    believed.log_speed = believed_speeds(group, kind.kind);
    kind.launch_known = tells_launch(group.points);
    const TimeFit fit = kind.launch_known ? fit_launch(group.points, group.tasks, believed.log_speed)
                                          : fit_speeds(group.points, group.tasks, believed.log_speed, 0);
    kind.launch_s = fit.launch_s;
    std::vector<double> watts_before;
    for (std::size_t s = 0; s < group.sizes.size(); ++s) {
      const Profile& p = *group.sizes[s].profile;
      ProfileFit row{group.sizes[s].name, p.compute_slices};
      row.runs =
          int(std::count_if(group.points.begin(), group.points.end(), [&](const FitPoint& f) { return f.size == s; }));
      row.speed = deterministic_exp(fit.log_speed[s] - fit.log_speed.back());
      row.watts = fitted_watts(group, s, group.runs.size());
      row.share = mean_share(group, s);
      if (SpeedTable::builtin().throughput(kind.kind, kind.gpu, p.name)) {
        row.table_speed = deterministic_exp(believed.log_speed[s] - believed.log_speed.back());
        kind.in_table = true;
      }
      if (model) {
        row.table_watts = model->watts(p.compute_slices, model->added(kind.kind, p)) - model->idle();
        watts_before.push_back(row.table_watts);
      }
      kind.profiles.push_back(std::move(row));
    }
    for (const MeasuredRun* run : group.runs) kind.mem_mib = std::max(kind.mem_mib, run->mem_mib);
    predict_each(group, believed, fit, watts_before, errors);
    out.kinds.push_back(std::move(kind));
  }
  out.time_before = error_figures(std::move(errors.time_before));
  out.time_after = error_figures(std::move(errors.time_after));
  out.energy_before = error_figures(std::move(errors.energy_before));
  out.energy_after = error_figures(std::move(errors.energy_after));
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == text.npos && !text.starts_with('#') && !text.starts_with(' '))
    return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + '"';
}

std::string speed_rows(const Calibration& calibration, const std::string& source) {
  std::string out = "kind,gpu,profile,throughput,unit,mem_mib,launch_s,source\n";
  for (const KindFit& kind : calibration.kinds) {
    double scale = 1;
    for (const ProfileFit& row : kind.profiles)
      if (const auto known = SpeedTable::builtin().throughput(kind.kind, kind.gpu, row.profile))
        scale = *known / row.speed;
    for (const ProfileFit& row : kind.profiles)
      out += fmt::format("{},{},{},{:.6g},relative,{},{},{}\n", csv_field(kind.kind), kind.gpu, row.profile,
                         row.speed * scale, kind.mem_mib < 0 ? "" : std::to_string(kind.mem_mib),
                         kind.launch_known ? fmt::format("{:.3f}", kind.launch_s) : "", csv_field(source));
  }
  return out;
}

Result<std::string> power_rows(const Calibration& calibration, const std::string& power, const std::string& source) {
  std::string out = "model,kind,profile,watts,source\n";
  for (const KindFit& kind : calibration.kinds) {
    SMARTMIG_TRY(const auto gpu, Catalog::builtin().find(kind.gpu));
    SMARTMIG_TRY(const PowerModel model, PowerModel::named(power, *gpu));
    if (model.is_table() || model.name().starts_with("linear:"))
      return invalid(
          "power model {} of {} does not tell kinds apart, so it takes no rows: name one that does with "
          "--power, for example a100-jobs",
          model.name(), kind.gpu);
    for (const ProfileFit& row : kind.profiles)
      if (row.watts > 0)
        out += fmt::format("{},{},{},{:.2f},{}\n", model.name(), csv_field(kind.kind), row.profile,
                           model.idle() + row.watts + (1 - row.share) * (model.watts(1, 0) - model.idle()),
                           csv_field(source));
  }
  return out;
}

}  // namespace smartmig
