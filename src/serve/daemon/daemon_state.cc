#include "serve/daemon/daemon_state.h"

#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "live/jobs/run_program.h"
#include "serve/attempts/clock_steps.h"
#include "serve/daemon/damaged_rows.h"

namespace smartmig {
namespace {

constexpr Time kSlicesHook = std::chrono::seconds(60);

UnixTime local_midnight(UnixTime unix) {
  const std::time_t now = std::time_t(unix_us(unix) / 1'000'000);
  std::tm local{};
  if (!::localtime_r(&now, &local)) return unix;
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  const std::time_t midnight = std::mktime(&local);
  return midnight < 0 ? unix : from_unix_us(std::int64_t(midnight) * 1'000'000);
}

std::string value_of(const StoreStart& start, const char* key) {
  const auto at = start.values.find(key);
  return at == start.values.end() ? std::string() : at->second;
}

// Unix time of belief time 0: kept for as long as the store lives.
Result<UnixTime> origin_of(const std::string& text, const LiveClock& clock) {
  if (text.empty()) return clock.is_virtual() ? UnixTime{} : local_midnight(clock.now());
  const auto us = parse_int(text);
  if (!us) return invalid("the store's origin_us is '{}', which is not a number", text);
  return from_unix_us(*us);
}

// hooks.slices; on a lane's thread. Its failure fails no slice: a container that misses what it does says so itself.
std::string slices_hook(const std::string& command, GpuId gpu) {
  ProgramRun run;
  run.arguments = {"/bin/sh", "-c", command};
  run.environment = {{"SMARTMIG_GPU", std::to_string(index(gpu))}};
  run.limit = kSlicesHook;
  const auto done = run_program(run);
  if (!done) return fmt::format("hooks.slices: {}", done.error().what);
  if (done->status == 0) return {};
  return fmt::format("hooks.slices ended with {}: {}", done->status, trim(done->output).substr(0, 300));
}

}  // namespace

LiveFork DaemonState::fork(const ForkScope& scope) const {
  return fork_of(session, book, settings, {&groups, &reservations, &quotas, &admission, boards.slices_in_service()},
                 scope);
}

void DaemonState::clock_stepped(Time by) {
  session.clock_stepped(by);
  book.clock_stepped(by);
  boards.clock_stepped(by);
  figures.clock_stepped(by);
  reservations.clock_stepped(by);
  book.pending().set_value("origin_us", std::to_string(unix_us(session.belief().origin())));
  book.pending().write_energy();
}

DaemonState::DaemonState(DaemonWorld& world, Settings with, FoundBoards found, PowerFit fit, UnixTime origin,
                         std::uint64_t last_event, History history, LearnedTimes times, ForecastScores calibration)
    : settings(std::move(with)),
      figures(world.clock.now()),
      boards(world.driver, world.reshaper, world.clock, found.platform, std::move(found.boards), settings.energy.sample,
             std::move(fit)),
      session(world.clock, found.platform, origin, std::size_t(settings.limits.window), boards.layouts(),
              {world.version, settings.policy.name, world.driver.name(), mean_weight_of(settings)}, last_event),
      book(world.store),
      estimates(settings, session, std::move(history), std::move(times), std::move(calibration)),
      quotas(settings, found.platform->models()[0].gpu->compute_slices()),
      shares(settings, quotas, found.platform->total_compute_slices()),
      reservations(origin),
      memory(world.runner, [this](const JobRecord& job) { return estimates.works_of(job); }) {
  if (!settings.hooks.slices.empty())
    boards.lanes().after_create([command = settings.hooks.slices](GpuId gpu) { return slices_hook(command, gpu); });
}

Result<std::unique_ptr<DaemonState>> DaemonState::open(DaemonWorld& world, Settings settings, const StoreStart& start) {
  std::map<const char*, Error> damaged;  // named values
  PowerFit fit;                          // one that cannot be read stays where it is, and this daemon keeps none
  if (auto opened = PowerFit::open(world.power_fit))
    fit = std::move(*opened);
  else
    damaged.emplace("power_fit", opened.error());
  SMARTMIG_TRY(FoundBoards found, find_boards(world.driver, world.reshaper.quarantine(), value_of(start, "boards"),
                                              world.power_model, fit));
  UnixTime origin{};
  if (const auto stored = origin_of(value_of(start, "origin_us"), world.clock)) {
    origin = *stored;
  } else {
    damaged.emplace("origin_us", stored.error());
    origin = origin_of("", world.clock).value();
  }
  const Time stepped = step_since(value_of(start, "clock"), world.clock);
  origin += stepped;
  const BoardSharing sharing{world.driver.name() == "mps", settings.mps.overlap};
  History history;
  if (const std::string text = value_of(start, "history"); !text.empty()) {
    auto parsed = History::parse("stored history", text);
    if (parsed)
      history = std::move(*parsed);
    else
      damaged.emplace("history", parsed.error());
  }
  history.set_sharing(sharing);
  const auto read = [&]<class T>(T& into, const char* key) {
    const std::string text = value_of(start, key);
    if (text.empty()) return;
    if (auto parsed = T::parse(fmt::format("stored {}", key), text))
      into = std::move(*parsed);
    else
      damaged.emplace(key, parsed.error());
  };
  LearnedTimes times;
  read(times, "times");
  ForecastScores calibration;
  read(calibration, "calibration");
  const std::string known = found.known, platform = found.platform->spec(), before = value_of(start, "platform");
  std::unique_ptr<DaemonState> state(new DaemonState(world, std::move(settings), std::move(found), std::move(fit),
                                                     origin, start.last_event, std::move(history), std::move(times),
                                                     std::move(calibration)));
  state->session.belief().set_sharing(sharing);
  if (const std::string text = value_of(start, "energy"); !text.empty())
    if (const auto restored = state->boards.meter().restore(text); !restored)
      damaged.emplace("energy", restored.error());
  if (const std::string text = value_of(start, "quota"); !text.empty())
    if (const auto loaded = state->quotas.load(text); !loaded) damaged.emplace("quota", loaded.error());
  state->boards.drained_before(value_of(start, "drained"));
  state->damaged_jobs = state->book.load(start, world.runner.last_job());
  PendingCommit& pending = state->book.pending();
  if (stepped != Time{0}) {
    state->stepped_while_down = stepped;
    state->book.clock_stepped(stepped);
    state->boards.clock_stepped(stepped);
    pending.write_energy();
    state->session.note("clock_stepped", fmt::format("\"by_s\":{:.3f},\"words\":{}", seconds(stepped),
                                                     json_text(step_words(stepped, true))));
  }
  if (std::string reading = clock_reading(world.clock); !reading.empty())
    pending.set_value("clock", std::move(reading));
  for (const auto& [key, error] : damaged) {
    note_damaged(*state, {fmt::format("value {}", key), error.what, value_of(start, key)});
    pending.set_value(key, "");
  }
  pending.set_value("boards", known);
  pending.set_value("origin_us", std::to_string(unix_us(origin)));
  pending.set_value("platform", platform);
  if (!before.empty() && before != platform)
    state->session.note("fleet_changed",
                        "\"words\":" + json_text(fmt::format("the fleet is {} now and was {}", platform, before)));
  return state;
}

}  // namespace smartmig
