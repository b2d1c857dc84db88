#include "serve/api/why_now.h"

#include <algorithm>

#include "queue/answers/why_fit.h"

namespace smartmig {
namespace {

std::string full_array(const JobRecord& job, const DaemonState& state) {
  if (!in_array(job) || job.spec.array_limit <= 0) return {};
  const auto running = state.attempts.running_of_arrays(state.book);
  const auto of_mine = running.find(job.array.id);
  int run = of_mine == running.end() ? 0 : of_mine->second, before = 0;
  for (const auto& [id, other] : state.book.live()) {
    if (id >= job.id || run + before >= job.spec.array_limit) break;
    before += in_array(other) && other.array.id == job.array.id && other.status == JobStatus::kQueued;
  }
  if (run + before < job.spec.array_limit) return {};
  return fmt::format("array {} runs {} of at most {} tasks{}", job.array.id, run, job.spec.array_limit,
                     before > 0 ? ", and others of it come first" : "");
}

std::string full_group(const JobRecord& job, const DaemonState& state) {
  const int most = state.groups.limit(job.spec.group);
  if (most == 0) return {};
  const auto running = state.attempts.running_of_groups(state.book);
  const auto of_mine = running.find(job.spec.group);
  if (of_mine == running.end() || of_mine->second < most) return {};
  return fmt::format("group {} runs {} of at most {} jobs", job.spec.group, of_mine->second, most);
}

void add_hold(WhyInput& in, const JobRecord& job) {
  constexpr std::string_view kWaits = "waits for ";
  if (job.reason.starts_with(kWaits)) {
    in.dependency = job.reason.substr(kWaits.size());
    return;
  }
  in.hold_code = job.held_by == HeldBy::kOwner                   ? "held_by_owner"
                 : job.held_by == HeldBy::kOperator              ? "held_by_operator"
                 : job.reason.starts_with("runs in reservation") ? "held_reservation"
                 : job.reason.starts_with("has lost")            ? "reservation_over"
                 : is_quota_words(job.reason)                    ? "held_quota"
                                                                 : "held_until";
  in.hold = (job.held_by != HeldBy::kNobody ? "is " : is_quota_words(job.reason) ? "waits: " : "") + job.reason;
}

void add_host(WhyInput& in, const JobRecord& job, DaemonState& state) {
  const HostShares& shares = state.shares;
  in.user.running = shares.user_slices(job.owner.uid);
  in.user.cap = state.settings.limits.user_slices;
  const HostShare share = shares.share_of(job, asked_slices(job, state.session.platform()));
  in.host.cpus = share.cpus;
  in.host.mem_mib = share.mem_mib;
  // What goes in proportion to the slice never stands in its way.
  if (job.spec.cpus > 0) in.host.free_cpus = shares.free_cpus();
  if (job.spec.host_mem_mib > 0) in.host.free_mem_mib = shares.free_mem_mib();
}

void add_policy(WhyInput& in, const JobRecord& job, const Policies& policies, const DaemonState& state) {
  in.user.full = state.shares.user_full(job.owner.uid);
  in.overtaking = policies.stack().overtaking();
  in.policy = policies.name();
  in.power.board_cap_w = state.settings.power.board_cap_w;
  in.power.fleet_cap_w = state.settings.power.fleet_cap_w;
  for (const GpuState& gpu : in.cluster->gpus()) in.power.fleet_w += gpu.watts;
  if (in.job == kNoJob) return;
  in.planned = policies.stack().policy->planned_starts(*in.cluster);
  in.origin = state.session.belief().origin();
  in.user.full |= policies.stack().objection(in.job) == StartObjection::kUserSlices;
  in.power.held = policies.stack().held_back_by_cap(in.job);
  in.power.never = policies.stack().never_fits_cap(*in.cluster, in.job);
}

// GPUs that it cannot go to for reservations: of others, or because it has one of its own.
void add_reserved(WhyInput& in, const JobRecord& job, const DaemonState& state) {
  const UnixTime now = state.session.now(), origin = state.session.belief().origin();
  const GpuWindows& windows = *state.reservations.windows();
  const Time inside = now - origin;
  const auto words = [&](std::size_t g, const GpuWindow& window) {
    const GpuReservation* r = state.reservations.find(window.tag);
    if (!r) return std::string();
    return fmt::format("GPU {} is reserved for {} {} {} ({})", g, who_of(*r), r->on(now) ? "until" : "from",
                       clock_words(r->on(now) ? r->end : r->begin, now), r->name);
  };
  const std::uint64_t tag = reservation_tag(job.spec.reservation);
  for (std::size_t g = 0; g < in.cluster->gpus().size(); ++g) {
    const GpuWindow* on = window_on(windows, GpuId(g), inside);
    if (tag != 0 || on) {
      if (!on || on->tag != tag) in.reserved[g] = on ? words(g, *on) : "";
      continue;
    }
    const GpuWindow* next = in.job == kNoJob ? nullptr : window_after(windows, GpuId(g), inside);
    if (!next) continue;
    const auto& types = in.cluster->platform().model(GpuId(g)).type_of_placement;
    const auto in_time = [&](TypeId type) {
      return type != kNoType && in.cluster->jobs().work(in.job, type) >= Time{0} &&
             inside + in.cluster->remaining_on(in.job, type) <= next->begin;
    };
    if (std::none_of(types.begin(), types.end(), in_time)) in.reserved[g] = words(g, *next);
  }
}

}  // namespace

Result<Why> why_now(Daemon& daemon, QueueId id) {
  DaemonState& state = daemon.state();
  const JobRecord* job = state.book.find(id);
  if (!job) return not_found("job {} has just ended", id);
  if (!is_waiting(job->status) && job->place.gpu < 0)
    return Why{"running", fmt::format("job {} is {} before it has a slice", id, name_of(job->status)), {}, {}};
  if (!is_waiting(job->status))
    return Why{"running",
               fmt::format("job {} is {} on {} of GPU {}", id, name_of(job->status), to_string(job->place.slice),
                           job->place.gpu),
               {},
               {}};
  state.shares.count(state.attempts.running(state.book, state.session.platform()));
  WhyInput in;
  in.cluster = &state.session.cluster();
  in.job = state.session.belief().row(id);
  in.name = fmt::format("job {}", label(*job));
  in.mem_mib = job->memory.mib;
  const AskedSize asked = asked_size(job->spec, state.session.platform());
  in.min_slices = asked.least;
  in.max_slices = asked.most;
  in.size = size_words(job->spec);
  in.disk = state.book.disk_trouble();
  in.paused = daemon.decisions().paused();
  if (job->status == JobStatus::kHeld) add_hold(in, *job);
  in.array_limit = full_array(*job, state);
  in.group_limit = full_group(*job, state);
  const int slices = asked_slices(*job, state.session.platform());
  in.never = state.quotas.never_fits(*job, slices);
  in.quota_slices = state.quotas.slices_full(*job, slices);
  add_host(in, *job, state);
  add_policy(in, *job, daemon.policies(), state);
  for (std::size_t g = 0; g < state.boards.size(); ++g)
    for (const auto& [where, words] : state.boards.at(int(g)).quarantined) in.quarantined[{g, where}] = words;
  for (std::size_t g = 0; g < state.boards.size(); ++g) {
    const BoardState& board = state.boards.at(int(g));
    if (board.in_service() && !board.reread.empty()) in.reread[g] = board.reread;
    if (std::string words = daemon.failing_words(GpuId(g)); !words.empty()) in.failing[g] = std::move(words);
  }
  add_reserved(in, *job, state);
  Why why = why_waiting(in);
  in.origin = state.session.belief().origin();
  why.blocked_by = blockers(in);
  if (const int times = job->counts.preempted; times > 0)
    why.sentence +=
        fmt::format("; it was stopped for another job {}", times == 1 ? "once" : fmt::format("{} times", times));
  if (state.attempts.prelaunched(*job))
    why.sentence += daemon.world().runner.first_cuda_call(attempt_of(*job))
                        ? "; its processes wait at their first CUDA call"
                        : "; its processes have already started";
  else if (job->spec.prelaunch.value_or(false) && !job->prelaunch.refused.empty())
    why.sentence += "; it is not prelaunched: " + job->prelaunch.refused;
  return why;
}

}  // namespace smartmig
