#include "queue/answers/why.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/duration_words.h"
#include "queue/answers/why_fit.h"

namespace smartmig {
namespace {

std::string in_seconds(const Cluster& cluster, Time at) {
  return "in about " + duration_words(std::round(seconds(at - cluster.now())));
}

std::string reserved_words(const WhyInput& in) {
  std::string words;
  for (const auto& [gpu, why] : in.reserved)
    if (!why.empty()) words += (words.empty() ? "" : "; ") + why;
  return words.empty() ? "no GPU of its reservation is in service" : words;
}

std::optional<Why> held(const WhyInput& in) {
  if (!in.disk.empty())
    return Why{"disk_full", fmt::format("no job starts: {}", in.disk), {"free space on the disk"}, {}};
  if (in.paused)
    return Why{"queue_paused", "the queue is paused: no job starts until smartmig resume", {"smartmig resume"}, {}};
  if (!in.hold.empty())
    return Why{in.hold_code,
               fmt::format("{} {}", in.name, in.hold),
               {in.hold_code == "held_until"         ? "wait, or smartmig update JOB --begin now"
                : in.hold_code == "held_reservation" ? "wait until the reservation begins"
                : in.hold_code == "held_quota"       ? "wait for the next week, or ask the operator for a larger quota"
                                                     : "smartmig release JOB"},
               {}};
  if (!in.dependency.empty())
    return Why{"held_dependency",
               fmt::format("{} waits for {}", in.name, in.dependency),
               {"wait for that job, or cancel this one and submit it without the dependency"},
               {}};
  if (!in.array_limit.empty())
    return Why{"held_array_limit",
               fmt::format("{} waits for its array's limit: {}", in.name, in.array_limit),
               {"wait until one of those tasks ends"},
               {}};
  if (!in.group_limit.empty())
    return Why{
        "held_group_limit",
        fmt::format("{} waits for its group's limit: {}", in.name, in.group_limit),
        {"wait until one of those jobs ends", "ask the operator for a higher limit (smartmig group NAME --limit N)"},
        {}};
  if (!in.never.empty())
    return Why{"quota_slices",
               fmt::format("{} cannot start: {}", in.name, in.never),
               {"ask the operator for a higher limit", "cancel it, and submit it for a smaller slice"},
               {}};
  if (!in.quota_slices.empty())
    return Why{"quota_slices",
               fmt::format("{} waits: {}", in.name, in.quota_slices),
               {"wait until one of those jobs ends", "ask the operator for a larger quota"},
               {}};
  if (in.user.full)
    return Why{
        "user_slices_cap",
        fmt::format("its user's running jobs have {} compute slices, and the cap is {}", in.user.running, in.user.cap),
        {"wait for jobs of this user, or cancel some", "ask the operator for a higher cap"},
        {}};
  return {};
}

std::string ask_for_less(const WhyInput& in) {
  return in.size.empty() ? "submit it again with less --mem or fewer --min-slices"
                         : fmt::format("submit it again with less --mem or a size other than {}", in.size);
}

std::optional<Why> without_a_place(const WhyInput& in, const WhyFit& fit) {
  if (!fit.exists)
    return Why{"no_gpu_fits",
               fmt::format("no slice of any GPU fits {}: it needs {} and {} compute slice{}; the largest slice has "
                           "{} MiB and {}",
                           in.name, in.mem_mib < 0 ? "any memory" : fmt::format("{} MiB", in.mem_mib), in.min_slices,
                           in.min_slices == 1 ? "" : "s", fit.largest_mib, fit.largest_slices),
               {ask_for_less(in)},
               {}};
  if (!fit.on_unblocked && !fit.reread.empty())
    return Why{"gpu_reread",
               fmt::format("no GPU that fits {} accepts jobs now: {}", in.name, fit.reread),
               {"nothing, if this lasts only seconds", "check the GPU with smartmig doctor"},
               {}};
  if (!fit.on_unblocked)
    return Why{"gpus_drained",
               fmt::format("every GPU that fits {} is drained or in quarantine", in.name),
               {"smartmig resume GPU", "repair the GPU that is in quarantine"},
               {}};
  if (!fit.on_open)
    return Why{"gpus_reserved",
               fmt::format("no GPU that fits {} is available to it now: {}", in.name, reserved_words(in)),
               {"wait until that reservation ends", "submit it again with a shorter --estimate, if that is realistic"},
               {}};
  if (in.host.free_cpus >= 0 && in.host.cpus > in.host.free_cpus)
    return Why{"host_cpus",
               fmt::format("{} needs {:.1f} CPUs, but only {:.1f} are free", in.name, in.host.cpus, in.host.free_cpus),
               {"wait for running jobs", "submit it again with fewer --cpus"},
               {}};
  if (in.host.free_mem_mib >= 0 && in.host.mem_mib > in.host.free_mem_mib)
    return Why{"host_memory",
               fmt::format("{} needs {} MiB of host memory, but only {} MiB are free", in.name, in.host.mem_mib,
                           in.host.free_mem_mib),
               {"wait for running jobs", "submit it again with less --host-mem"},
               {}};
  if (in.power.never || in.power.held) {
    const std::string caps =
        fmt::format("{}{}{}", in.power.board_cap_w > 0 ? fmt::format("{:.0f} W for a board", in.power.board_cap_w) : "",
                    in.power.board_cap_w > 0 && in.power.fleet_cap_w > 0 ? ", " : "",
                    in.power.fleet_cap_w > 0 ? fmt::format("{:.0f} W for the fleet", in.power.fleet_cap_w) : "");
    if (in.power.never)
      return Why{"power_cap",
                 fmt::format("{} exceeds the power cap even on an idle fleet ({})", in.name, caps),
                 {"raise the cap"},
                 {}};
    return Why{"power_cap",
               fmt::format("starting {} would exceed the power cap ({}); the fleet is predicted to draw {:.0f} W now",
                           in.name, caps, in.power.fleet_w),
               {"wait for running jobs", "raise the cap"},
               {}};
  }
  return {};
}

std::optional<Why> drained_for(const WhyInput& in, const WhyFit& fit) {
  if (!in.overtaking) return {};
  const Cluster& cluster = *in.cluster;
  if (in.job != kNoJob)
    if (const auto* own = in.overtaking->reservation_of(in.job))
      return Why{"overtaken_drain",
                 fmt::format("{} was overtaken {} times; {} is being drained for it, and it starts there {}", in.name,
                             in.overtaking->overtaken(in.job), slice_words(cluster, own->gpu, own->where),
                             in_seconds(cluster, own->start)),
                 {"nothing: it is next"},
                 {}};
  if (fit.free_slices > 0 || fit.gpus.empty()) return {};
  for (const GpuId gpu : fit.gpus)
    if (!in.overtaking->reservation_on(gpu)) return {};
  const auto* first = in.overtaking->reservation_on(fit.gpus[0]);
  return Why{"overtaken_drain",
             fmt::format("every GPU that fits {} is being drained for a job that has waited longer; {} is for job "
                         "{}",
                         in.name, slice_words(cluster, first->gpu, first->where),
                         cluster.jobs().workload().name_of(index(first->job))),
             {"wait until that job starts"},
             {}};
}

std::optional<Why> held_for_energy(const WhyInput& in, const PlannedStart* planned) {
  if (!planned || planned->latest == kNever) return {};
  return Why{"held_for_energy",
             fmt::format("{} waits to save energy; it starts by {} at the latest", in.name,
                         clock_words(in.origin + planned->latest, in.origin + in.cluster->now())),
             {"nothing: it will meet its deadline", "submit it again with --no-patient, or an earlier --deadline"},
             {}};
}

// Nothing that exists stands in its way: the policy has other plans.
std::string policy_words(const WhyInput& in, const WhyFit& fit, const PlannedStart* planned) {
  const bool others = in.cluster->unfinished() > in.cluster->running() + 1;
  if (fit.free_slices == 0) return fmt::format("no slice fits {}, and {} creates none for it now", in.name, in.policy);
  if (planned && planned->finish < soonest_on_free(in))
    return fmt::format("{} ends earlier by waiting for {} than on a slice that is free now", in.name,
                       slice_words(*in.cluster, planned->gpu, planned->where));
  if (others) return fmt::format("{} keeps the free slices for jobs ahead of {}", in.policy, in.name);
  return fmt::format("{} has not given {} one of the free slices", in.policy, in.name);
}

Why why_in_place(const WhyInput& in) {
  if (auto why = held(in)) return *why;
  const WhyFit fit = look_for_place(in);
  if (auto why = without_a_place(in, fit)) return *why;
  if (auto why = drained_for(in, fit)) return *why;
  const PlannedStart* planned = planned_start_of(in);
  if (auto why = held_for_energy(in, planned)) return *why;
  if (fit.free_slices == 0 && fit.coming && !fit.coming_after.empty())
    return {"slices_busy",
            fmt::format("smartmig creates a slice for {} when {} has ended, {}", in.name, fit.coming_after,
                        in_seconds(*in.cluster, fit.coming_from)),
            {"wait for that job", ask_for_less(in)},
            {}};
  if (fit.free_slices == 0 && fit.coming && in.failing.count(index(fit.coming_on)))
    return {"reshape_fails",
            fmt::format("smartmig cannot create a slice for {} on GPU {}: {}", in.name, index(fit.coming_on),
                        in.failing.at(index(fit.coming_on))),
            {fmt::format("check GPU {} with smartmig doctor", index(fit.coming_on)),
             fmt::format("smartmig drain {}, so that its jobs go to other GPUs", index(fit.coming_on)),
             "wait: smartmig tries again"},
            {}};
  if (fit.free_slices == 0 && fit.coming)
    return {"reshape_under_way",
            fmt::format("a slice for {} is being created", in.name),
            {"nothing: it takes seconds"},
            {}};
  if (fit.slices == 0 && !fit.quarantined.empty())
    return {"slice_quarantined",
            fmt::format("a slice that is out of service blocks {}: {}", in.name, fit.quarantined),
            {"end that process, or reset the GPU after its other jobs", ask_for_less(in)},
            {}};
  const std::string without = fit.quarantined.empty() ? "" : "; out of service: " + fit.quarantined;
  if (fit.slices > 0 && fit.free_slices == 0) {
    const std::string busy =
        fit.slices == 1 ? fmt::format("the only slice that could hold {} is busy; it", in.name)
                        : fmt::format("all {} slices that could hold {} are busy; the first", fit.slices, in.name);
    return {"slices_busy",
            fmt::format("{} is expected to be free {}{}", busy, in_seconds(*in.cluster, fit.first_idle), without),
            {"wait for a running job", ask_for_less(in)},
            {}};
  }
  const std::uint32_t overtaken = in.overtaking && in.job != kNoJob ? in.overtaking->overtaken(in.job) : 0;
  return {"policy_waits",
          policy_words(in, fit, planned) +
              (overtaken > 0 ? fmt::format("; it was overtaken {} times so far", overtaken) : ""),
          {"declare an earlier --deadline", "wait: overtaking is bounded"},
          {}};
}

}  // namespace

std::string clock_words(UnixTime at, UnixTime now) {
  const auto parts = [](UnixTime instant) {
    const std::time_t whole = std::time_t(unix_us(instant) / 1'000'000);
    std::tm out{};
    ::localtime_r(&whole, &out);
    return out;
  };
  const std::tm then = parts(at), today = parts(now);
  const std::string time = fmt::format("{:02}:{:02}", then.tm_hour, then.tm_min);
  if (then.tm_yday == today.tm_yday && then.tm_year == today.tm_year) return time;
  return fmt::format("{:04}-{:02}-{:02} {}", then.tm_year + 1900, then.tm_mon + 1, then.tm_mday, time);
}

Why why_waiting(const WhyInput& in) {
  Why why = why_in_place(in);
  if (why.code == "slices_busy" || why.code == "policy_waits" || why.code == "reshape_under_way" ||
      why.code == "reshape_fails")
    if (const bool said =
            std::any_of(in.reserved.begin(), in.reserved.end(), [](const auto& one) { return !one.second.empty(); });
        said)
      why.sentence += "; " + reserved_words(in);
  if (!in.paused) why.reservation = reservation_of(in);
  return why;
}

}  // namespace smartmig
