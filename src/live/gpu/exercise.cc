#include "live/gpu/exercise.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "live/durable_file.h"
#include "live/gpu/division.h"
#include "live/gpu/intent.h"
#include "model/reconfig.h"

namespace smartmig {
namespace {

using Check = ExerciseCheck;
constexpr double kSecondsFactor = 2, kSecondsLeast = 0.1;  // what still agrees
constexpr double kWattsShare = 0.2;
constexpr int kMemoryMib = 3072;  // as check_model: drivers differ by that much
constexpr int kWattReadings = 10;
constexpr Time kPoll = Time(50'000);
constexpr const char* kMigOff = "off";  // instead of a layout

std::string note_path(const std::string& state_dir, const std::string& uuid) {
  return fmt::format("{}/exercise-{}.json", state_dir, uuid);
}

Result<Ok> reach(Reshaper& reshaper, MigDriver& driver, GpuId gpu, Layout to) {
  SMARTMIG_TRY(const GpuBoard board, driver.read(gpu));
  if (!board.model) return unsupported("{} cannot be partitioned", title(board));
  SMARTMIG_TRY(const auto running, driver.processes(gpu));
  SMARTMIG_TRY(const ReshapePlan plan, plan_reshape(*board.model, board.layout, busy_layout(board, running), to));
  SMARTMIG_TRY(const ReshapeOutcome outcome, reshaper.execute(gpu, plan));
  if (outcome.kind != ReshapeOutcome::kDone) return Error{Error::kIo, outcome.words};
  return Ok{};
}

class Exercise {
 public:
  Exercise(MigDriver& driver, Reshaper& reshaper, SliceUser& user, GpuId gpu, const ExerciseOptions& options)
      : driver_(driver), reshaper_(reshaper), user_(user), gpu_(gpu), options_(options) {}

  Result<ExerciseReport> run() {
    SMARTMIG_TRY(const GpuBoard board, driver_.read(gpu_));
    report_.version = options_.version;
    report_.product = board.product;
    report_.driver = driver_.name();
    report_.driver_version = driver_.version();
    if (!board.model) return unsupported("{} has no MIG: there is nothing to exercise", title(board));
    report_.model = board.model->name();
    for (const std::string& note : board.notes) report_.check(Check::kGeometry, report_.model, false, note);
    if (!board.trouble.empty()) {  // a geometry of its own: nothing is changed
      report_.check(Check::kGeometry, report_.model, false, board.trouble);
      report_.restored = true;
      return std::move(report_);
    }
    report_.check(Check::kGeometry, report_.model, true, "");
    SMARTMIG_RETURN_IF_ERROR(is_idle(board));
    model_ = board.model;
    SMARTMIG_TRY(const PowerModel power, PowerModel::named("auto", *model_));
    power_ = power;
    report_.power_table = power.name();
    report_.rough_watts = power.rough();
    report_.table_idle_watts = power.idle();

    const bool was_off = board.mode != MigMode::kOn;
    const Intent before{board.uuid, model_->name(), was_off ? kMigOff : to_string(*model_, board.layout), "empty"};
    SMARTMIG_RETURN_IF_ERROR(write_durably(note_path(options_.state_dir, board.uuid), to_json(before)));
    options_.checkpoint("noted");
    if (was_off)
      if (const auto on = driver_.set_mig_mode(gpu_, true); !on) {
        SMARTMIG_RETURN_IF_ERROR(remove_durably(note_path(options_.state_dir, board.uuid)));
        return on.error();
      }
    report_.finished = all_steps();
    user_.stop();
    const auto restored = restore_exercised(driver_, reshaper_, options_.state_dir, gpu_);
    report_.restored = bool(restored);
    report_.check(Check::kRestore, report_.model, bool(restored), restored ? "" : restored.error().what);
    return std::move(report_);
  }

 private:
  Result<Ok> is_idle(const GpuBoard& board) {
    if (board.mode != board.pending)
      return busy_error("{}: a change of MIG mode is pending; finish it with a reset of the GPU", title(board));
    SMARTMIG_TRY(const auto running, driver_.processes(gpu_));
    if (!running.empty())
      return busy_error("{} is not idle: pid {} ({}) uses it; wait until it ends, or stop it", title(board),
                        running[0].pid, running[0].name.empty() ? "?" : running[0].name);
    if (reshaper_.quarantine().find(board.uuid))
      return busy_error("{} is in quarantine; release it first: smartmig doctor --release {}", title(board),
                        board.index);
    for (const Instance& i : board.instances) {
      if (i.placement != kNoPlacement && !i.parts.empty())
        return busy_error("{}: {} is divided into compute instances; undo that first", title(board),
                          slice_name(*board.model, i.placement));
      if (!i.ours && !options_.adopt)
        return no_permission(
            "{} has slices that smartmig did not create; with --adopt, smartmig removes and recreates them",
            title(board));
    }
    return Ok{};
  }

  bool all_steps() {
    if (!to_layout(Layout{}, "emptying the GPU")) return false;
    report_.idle_watts = watts();
    if (report_.idle_watts) compare_watts("idle", *report_.idle_watts, report_.table_idle_watts);
    return every_placement() && every_layout() && beside_a_slice();
  }

  bool go_on() const { return !broken_ && !options_.stopped(); }

  // One reshape; what fails is noted. False: the exercise ends.
  bool to_layout(Layout to, const std::string& subject) {
    const auto reached = reach(reshaper_, driver_, gpu_, to);
    if (reached) return true;
    report_.check(Check::kReshape, subject, false, reached.error().what);
    broken_ = true;
    return false;
  }

  std::optional<double> watts() {
    double sum = 0;
    for (int i = 0; i < kWattReadings; ++i) {
      options_.sleep(Time(options_.watch.count() / kWattReadings));
      const auto power = driver_.power(gpu_);
      if (!power) return std::nullopt;
      sum += *power;
    }
    return sum / kWattReadings;
  }

  void compare_watts(const std::string& subject, double seen, double table) {
    if (report_.rough_watts) return;  // nothing was measured that could agree
    report_.check(Check::kWatts, subject, std::abs(seen - table) <= kWattsShare * table,
                  fmt::format("{:.0f} W, the table {} has {:.0f} W", seen, report_.power_table, table));
  }

  void compare_seconds(const std::string& subject, const std::vector<double>& seen, double table) {
    if (seen.empty()) return;
    const double median = median_or_zero(seen);
    const bool agrees = std::abs(median - table) <= kSecondsLeast ||
                        (median <= table * kSecondsFactor && table <= median * kSecondsFactor);
    report_.check(Check::kSeconds, subject, agrees, fmt::format("{:.2f} s, the table has {:.2f} s", median, table));
  }

  bool every_placement() {
    for (std::size_t i = 0; i < model_->profiles().size() && go_on(); ++i) {
      const Profile& profile = model_->profiles()[i];
      const ReconfigTime times = reconfig_time(*model_, int(i));
      options_.tell(profile.name);
      ExerciseProfile row;
      row.name = profile.name;
      row.table_sms = profile.sms;
      row.table_memory_mib = profile.memory_mib;
      row.table_create_s = seconds(times.create);
      row.table_destroy_s = seconds(times.destroy);
      row.table_watts = power_->watts(profile.compute_slices, power_->added("", profile));
      for (std::size_t p = 0; p < model_->placements().size() && go_on(); ++p)
        if (model_->placement(PlacementId(p)).profile == i) {
          ++row.placements;
          row.worked += one_placement(PlacementId(p), row);
        }
      compare_seconds(fmt::format("create {}", row.name), row.create_s, row.table_create_s);
      compare_seconds(fmt::format("destroy {}", row.name), row.destroy_s, row.table_destroy_s);
      if (row.watts) compare_watts(row.name, *row.watts, row.table_watts);
      report_.profiles.push_back(std::move(row));
    }
    return go_on();
  }

  bool one_placement(PlacementId p, ExerciseProfile& row) {
    const std::string slice = slice_name(*model_, p);
    const auto made = change({Operation::kCreate, p}, slice, row.create_s);
    options_.checkpoint("made");
    if (!made) return false;
    const Instance* const instance = find_instance(*made, p);
    bool good = instance && made->instances.size() == 1;
    report_.check(Check::kGeometry, slice, good, "another slice is there than the one that was made");
    if (instance) {
      row.memory_mib = instance->memory_mib;
      const bool memory =
          row.table_memory_mib <= 0 || std::abs(instance->memory_mib - row.table_memory_mib) <= kMemoryMib;
      if (!memory)
        report_.check(Check::kGeometry, slice, false,
                      fmt::format("{} MiB, the table has {} MiB", instance->memory_mib, row.table_memory_mib));
      good = memory && used(*instance, slice, row) && good;
    }
    options_.checkpoint("used");
    return bool(change({Operation::kDestroy, p}, slice, row.destroy_s)) && good;
  }

  // The board afterwards; nothing: it failed, and the exercise ends.
  std::optional<GpuBoard> change(Operation operation, const std::string& slice, std::vector<double>& took) {
    const Time begin = options_.now();
    auto outcome = reshaper_.apply(gpu_, operation);
    const double spent = seconds(options_.now() - begin);
    const bool done = outcome && outcome->kind == ReshapeOutcome::kDone;
    report_.check(Check::kReshape,
                  fmt::format("{} {}", operation.kind == Operation::kCreate ? "create" : "destroy", slice), done,
                  outcome ? outcome->words : outcome.error().what);
    if (done) {
      took.push_back(spent);
      return std::move(outcome->board);
    }
    // One that went back to what it was is a difference; a GPU that cannot be told from a broken one ends it.
    broken_ = !outcome || outcome->kind == ReshapeOutcome::kQuarantined || operation.kind == Operation::kDestroy;
    return std::nullopt;
  }

  bool start_user(const Instance& instance, const std::string& slice) {
    const auto environment = driver_.environment(gpu_, instance, 0);
    auto started = environment ? user_.start(instance, *environment) : Result<Ok>(environment.error());
    report_.check(Check::kUse, slice, bool(started), started ? "" : started.error().what);
    return bool(started);
  }

  // Whether the list of processes comes to show a user of this GPU instance alone, or (-1) nobody.
  bool comes_to_list(int gpu_instance) {
    for (Time waited{};; waited += kPoll) {
      const auto running = driver_.processes(gpu_);
      const bool as_wanted =
          running && (gpu_instance < 0 ? running->empty()
                                       : !running->empty() && std::all_of(running->begin(), running->end(),
                                                                          [&](const DeviceProcess& process) {
                                                                            return process.gpu_instance == gpu_instance;
                                                                          }));
      if (as_wanted || waited >= options_.patience) return as_wanted;
      options_.sleep(kPoll);
    }
  }

  bool used(const Instance& instance, const std::string& slice, ExerciseProfile& row) {
    if (!start_user(instance, slice)) return false;
    const std::size_t before = report_.checks.size();
    report_.check(Check::kUse, slice, comes_to_list(instance.gpu_instance),
                  "its user is not listed on this slice alone, so busy slices are not known");
    const auto in_use = reshaper_.apply(gpu_, {Operation::kDestroy, instance.placement});
    report_.check(Check::kUse, slice, !in_use && in_use.error().code == Error::kBusy,
                  "it could be destroyed while it was in use");
    if (!row.watts) row.watts = watts();
    const auto seen = user_.look();
    report_.check(Check::kUse, slice, seen && seen->devices == 1,
                  seen ? fmt::format("its user sees {} devices", seen->devices) : seen.error().what);
    if (seen && seen->sms > 0) {
      row.sms = seen->sms;
      report_.check(Check::kGeometry, slice, row.table_sms <= 0 || seen->sms == row.table_sms,
                    fmt::format("its user has {} SMs, the table has {}", seen->sms, row.table_sms));
    }
    user_.stop();
    report_.check(Check::kUse, slice, comes_to_list(-1), "a process is still listed after its end");
    return std::all_of(report_.checks.begin() + std::ptrdiff_t(before), report_.checks.end(),
                       [](const Check& c) { return c.agrees; });
  }

  std::vector<Layout> full_layouts() const {
    const ProfileMask profiles = model_->schedulable_profiles();
    std::vector<Layout> full;
    for (const Layout layout : model_->layouts(profiles))
      if (model_->maximal(layout, profiles)) full.push_back(layout);
    return full;
  }

  bool every_layout() {
    const auto full = full_layouts();
    report_.layouts = int(full.size());
    options_.tell("layouts");
    double took = 0, predicted = 0;
    for (const Layout layout : full) {
      if (!go_on()) return false;
      const auto board = driver_.read(gpu_);
      const auto plan =
          board ? plan_reshape(*model_, board->layout, Layout{}, layout) : Result<ReshapePlan>(board.error());
      if (plan) predicted += seconds(plan->predicted);
      const Time begin = options_.now();
      if (!to_layout(layout, to_string(*model_, layout))) return false;
      took += seconds(options_.now() - begin);
      report_.check(Check::kGeometry, to_string(*model_, layout), true, "");
      ++report_.layouts_reached;
      options_.checkpoint("layout");
    }
    if (predicted > 0) compare_seconds("all layouts", {took}, predicted);
    return true;
  }

  struct Around {
    PlacementId slice = kNoPlacement;
    Layout one, other;
  };
  // Two full layouts with a slice in common, the largest there is, and as little else as can be.
  Around around() const {
    const auto full = full_layouts();
    Around best;
    int most = 0;
    for (const Layout a : full)
      for (const Layout b : full) {
        if (a == b || (a & b).empty()) continue;
        for (PlacementId p : a& b) {
          const int score = 100 * model_->profile_of(p).compute_slices - (a & b).size();
          if (score <= most) continue;
          most = score;
          best = {p, a, b};
        }
      }
    return best;
  }

  bool beside_a_slice() {
    const Around plan = around();
    if (plan.slice == kNoPlacement) return true;
    const std::string slice = slice_name(*model_, plan.slice);
    options_.tell("beside " + slice);
    if (!to_layout(plan.one, to_string(*model_, plan.one))) return false;
    const auto board = driver_.read(gpu_);
    const Instance* const instance = board ? find_instance(*board, plan.slice) : nullptr;
    if (!instance || !start_user(*instance, slice)) return false;
    comes_to_list(instance->gpu_instance);
    report_.beside = slice;
    for (const Layout to : {plan.other, plan.one}) {
      if (!go_on()) return false;
      const auto before = user_.look();
      if (!to_layout(to, fmt::format("beside {}: {}", slice, to_string(*model_, to)))) return false;
      options_.sleep(options_.watch);
      const auto after = user_.look();
      const auto board_now = driver_.read(gpu_);
      const Instance* const same = board_now ? find_instance(*board_now, plan.slice) : nullptr;
      const bool went_on = before && after && after->progress > before->progress;
      report_.check(Check::kReshape, slice, went_on && same && same->uuid == instance->uuid,
                    !after ? after.error().what : "its user did not go on while its neighbours changed");
      ++report_.beside_changes;
      options_.checkpoint("beside");
    }
    user_.stop();
    report_.check(Check::kUse, slice, comes_to_list(-1), "a process is still listed after its end");
    return go_on();
  }

  MigDriver& driver_;
  Reshaper& reshaper_;
  SliceUser& user_;
  const GpuId gpu_;
  const ExerciseOptions& options_;
  ExerciseReport report_;
  std::shared_ptr<const GpuModel> model_;
  std::optional<PowerModel> power_;
  bool broken_ = false;
};

}  // namespace

Result<ExerciseReport> exercise(MigDriver& driver, Reshaper& reshaper, SliceUser& user, GpuId gpu,
                                const ExerciseOptions& options) {
  return Exercise(driver, reshaper, user, gpu, options).run();
}

Result<std::string> restore_exercised(MigDriver& driver, Reshaper& reshaper, const std::string& state_dir, GpuId gpu) {
  SMARTMIG_TRY(const GpuBoard board, driver.read(gpu));
  const std::string path = note_path(state_dir, board.uuid);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::string();
  SMARTMIG_TRY(const std::string text, read_file(path));
  SMARTMIG_TRY(const Intent before, parse_intent(path, text));
  if (!board.model) return unsupported("{} cannot be partitioned", title(board));
  const bool off = before.from == kMigOff;
  Layout layout;
  if (!off) {
    SMARTMIG_TRY(layout, parse_layout(*board.model, before.from));
  }
  if (board.mode == MigMode::kOn) SMARTMIG_RETURN_IF_ERROR(reach(reshaper, driver, gpu, layout));
  if (off) SMARTMIG_RETURN_IF_ERROR(driver.set_mig_mode(gpu, false));
  SMARTMIG_RETURN_IF_ERROR(remove_durably(path));
  return fmt::format("{}: {} again, as before an exercise", title(board), off ? "MIG off" : before.from);
}

}  // namespace smartmig
