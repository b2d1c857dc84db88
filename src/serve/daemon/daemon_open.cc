// How a daemon comes to be, and how it takes new settings.

#include "base/json.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/damaged_rows.h"
#include "serve/daemon/reconcile.h"
#include "serve/daemon/recovery.h"

namespace smartmig {

Daemon::Daemon(DaemonWorld world, std::unique_ptr<DaemonState> state)
    : world_(world),
      state_(std::move(state)),
      quarantine_(state_->session),
      guard_(world_.runner, state_->boards, quarantine_, state_->figures.counts),
      transitions_(state_->session, state_->book, state_->figures, state_->reservations, state_->attempts,
                   state_->quotas),
      visible_(state_->settings, state_->session, state_->book, state_->boards, state_->attempts, state_->shares,
               state_->groups, state_->quotas, state_->admission, state_->estimates, transitions_),
      attempts_(state_->settings, world_.runner, world_.emulated, state_->session, state_->book, state_->boards,
                state_->attempts, state_->shares, transitions_, visible_, guard_),
      ends_(state_->settings, world_.runner, state_->session, state_->book, state_->boards, state_->attempts, attempts_,
            state_->memory, state_->estimates, transitions_, state_->figures),
      idle_(state_->session, world_.clock, world_.runner, state_->book, state_->boards, state_->attempts, attempts_),
      prelaunches_(state_->settings, world_.runner, world_.emulated, state_->session, state_->book, state_->attempts,
                   attempts_),
      reports_(state_->settings, state_->session, state_->book, state_->boards, state_->attempts, attempts_,
               state_->memory, state_->figures, quarantine_, guard_),
      decisions_(state_->settings, world_.pace, world_.clock, state_->session, state_->book, state_->attempts,
                 state_->shares, attempts_, state_->figures, state_->reservations),
      suspensions_(state_->session, state_->book, state_->attempts, world_.runner, guard_),
      jobs_(state_->settings, world_.runner, state_->session, state_->book, state_->attempts, attempts_,
            state_->estimates, suspensions_, state_->groups, state_->quotas, state_->reservations, transitions_,
            state_->figures),
      reservations_(state_->reservations, state_->session, state_->book, state_->boards, state_->attempts, attempts_,
                    transitions_),
      upkeep_(state_->settings, state_->session, state_->book, world_.store, world_.runner),
      requests_(world_.clock) {}

Result<std::unique_ptr<Daemon>> Daemon::open(DaemonWorld world, Settings settings) {
  SMARTMIG_TRY(const auto repaired, world.reshaper.recover());
  SMARTMIG_TRY(const StoreStart start, world.store.start());
  SMARTMIG_TRY(auto state, DaemonState::open(world, std::move(settings), start));
  std::unique_ptr<Daemon> daemon(new Daemon(world, std::move(state)));
  if (const auto paused = start.values.find("paused"); paused != start.values.end() && paused->second == "1")
    daemon->decisions_.pause(true);
  if (const auto logs = start.values.find("last_without_log"); logs != start.values.end())
    daemon->upkeep_.set_last_without_log(logs->second);
  if (const auto accounts = start.values.find("accounts"); accounts != start.values.end())
    daemon->visible_.set_accounts(accounts->second);
  if (const Time stepped = daemon->state_->stepped_while_down; stepped != Time{0}) {
    daemon->visible_.clock_stepped(stepped);
    daemon->upkeep_.time_is_doubtful();
  }
  if (const auto power = start.values.find("power"); power != start.values.end())
    daemon->state_->figures.power.load(power->second);
  if (const auto groups = start.values.find("groups"); groups != start.values.end())
    daemon->state_->groups.load(groups->second);
  if (const auto reserved = start.values.find("reservations"); reserved != start.values.end())
    daemon->state_->reservations.load(reserved->second);
  if (const auto overtaken = start.values.find("overtaking"); overtaken != start.values.end())
    daemon->decisions_.remember(overtaken->second);
  SMARTMIG_RETURN_IF_ERROR(daemon->apply_settings());
  daemon->reports_.block_unusable();
  for (const std::string& words : repaired) daemon->state_->session.note("repaired", "\"words\":" + json_text(words));
  const auto restored = start.values.find("restored");
  if (!start.trouble.empty()) daemon->state_->session.note("damaged", "\"words\":" + json_text(start.trouble));
  const bool older = !start.trouble.empty() || (restored != start.values.end() && !restored->second.empty());
  SMARTMIG_RETURN_IF_ERROR(reconcile(world.runner, *daemon->state_, start.last_job, older));
  end_damaged(*daemon->state_);
  if (const auto unfolding = start.values.find("unfolding"); unfolding != start.values.end()) {
    if (const auto loaded = daemon->jobs_.unfolding().load(unfolding->second); !loaded) {
      note_damaged(*daemon->state_, {"value unfolding", loaded.error().what, unfolding->second});
      daemon->state_->book.pending().set_value("unfolding", "");
    }
    daemon->jobs_.unfolding().clock_stepped(daemon->state_->stepped_while_down);
  }
  SMARTMIG_RETURN_IF_ERROR(find_running(world.runner, *daemon->state_, daemon->attempts_, daemon->ends_,
                                        daemon->suspensions_, daemon->transitions_));
  return daemon;
}

Result<Ok> Daemon::apply_settings() {
  world_.store.keep_launches(std::uint64_t(state_->settings.limits.user_store_mib) << 20);
  SMARTMIG_RETURN_IF_ERROR(upkeep_.open_mapping());
  return decisions_.make_policies();
}

Result<Ok> Daemon::set_settings(Settings settings) {
  const Settings before = std::exchange(state_->settings, std::move(settings));
  state_->settings.limits.window = before.limits.window;  // the belief is made for it
  if (const auto made = apply_settings(); !made) {
    state_->settings = before;
    (void)upkeep_.open_mapping();
    return made.error();
  }
  state_->quotas.settings_changed();
  transitions_.quotas_changed();
  decisions_.decide_anyway();
  state_->book.queue_changed();
  return Ok{};
}

}  // namespace smartmig
