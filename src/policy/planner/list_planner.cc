#include "policy/planner/list_planner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "base/check.h"
#include "policy/planner/tightest_memory.h"

namespace smartmig {

namespace {
constexpr double kNoCost = 1e300;
constexpr double kWaitsFrom = 240;  // minutes: a shorter job never waits for the sake of those who may come
constexpr double kMostSlots = 14;   // that a job takes: of one GPU
}  // namespace

bool ListPlanner::Option::better_than(const Option& other) const {
  if (!other.valid()) return true;
  if (cost != other.cost) return cost < other.cost;
  if (finish != other.finish) return finish < other.finish;
  return blocks < other.blocks;
}

void ListPlanner::find_earliest(const Cluster& cluster, std::uint32_t gpu) {
  const PlacementTable& facts = table(cluster, gpu);
  for (std::size_t t = 0; t < facts.of_type.size(); ++t) {
    Time& first = earliest_[(std::size_t(facts.first_type) + t) * boards_.size() + gpu];
    first = kNever;
    for (std::uint32_t rest = facts.of_type[t]; rest != 0; rest &= rest - 1)
      first = std::min(first, boards_[gpu].timeline.first_free(PlacementId(std::countr_zero(rest))));
  }
}

void ListPlanner::rebuild(const Cluster& cluster, std::uint32_t gpu) {
  const GpuState& state = cluster.gpus()[gpu];
  GpuMemo& board = boards_[gpu];
  const PlacementTable& facts = table(cluster, gpu);
  if (board.target != state.target) board.asked = cluster.now();
  board.layout = state.layout;
  board.target = state.target;
  board.busy = state.busy;
  board.shut = state.blocked;
  board.reserved = false;
  board.vacated = 0;
  board.timeline.clear(cluster.now());
  for (const PlacementId p : state.busy)
    board.timeline.take(facts, p, cluster.now(),
                        std::max(expected_finish(cluster, state.job_at[index(p)]), cluster.now() + Time(1)));
  find_earliest(cluster, gpu);
  movable_until_[gpu] = cluster.now();
  room_[gpu] = has_room(cluster, gpu);
  board.group = 0;
  if (!state.busy.empty() || state.layout != state.target) return;
  for (std::uint32_t g = 0; g < gpu && board.group == 0; ++g)
    if (boards_[g].group != 0 && boards_[g].layout == board.layout && &table(cluster, g) == &facts)
      board.group = boards_[g].group;
  if (board.group == 0) board.group = gpu + 1;
}

void ListPlanner::look_at(const Cluster& cluster) {
  const std::size_t gpus = cluster.gpus().size(), types = cluster.platform().types().size();
  const bool anew = identity_ != cluster.identity() || boards_.size() != gpus;
  if (anew) {
    tables_.clear();
    for (const Platform::Model& model : cluster.platform().models()) tables_.emplace_back(model);
    if (boards_.size() != gpus) boards_.assign(gpus, {});
    earliest_.assign(gpus * types, kNever);
    movable_until_.assign(gpus, Time::min());
    movable_of_.resize(gpus);
    room_.assign(gpus, 0);
    know_watts(cluster.platform());
    for (GpuMemo& board : boards_) board.group = 0;
  }
  if (identity_ != cluster.identity()) promised_.clear();
  identity_ = cluster.identity();
  for (const Event& event : cluster.news())
    if (event.kind == EventKind::kOverrun) boards_[index(cluster.state(event.job).gpu)].reserved = true;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    const GpuState& state = cluster.gpus()[g];
    const GpuMemo& board = boards_[g];
    if (anew || board.reserved || board.layout != state.layout || board.target != state.target ||
        board.busy != state.busy || board.shut != state.blocked || board.timeline.first_end() <= cluster.now())
      rebuild(cluster, g);
  }
  price_.see_arrivals(cluster);
  waiting_.expect(price_.by_length().shares_of_longer());
  waiting_.update(cluster, touched_);
}

// REQUIRES: nothing has been reserved at this decision.
void ListPlanner::count_rooms() {
  roomy_.clear();
  for (std::uint32_t g = 0; g < boards_.size(); ++g)
    if (room_[g]) roomy_.push_back(g);
  rooms_ = roomy_.size();
}

// Which GPUs a job of each slice type looks at. Before the first of a decision looks.
void ListPlanner::choose_gpus(const Cluster& cluster) {
  if (std::exchange(shown_ready_, true)) return;
  constexpr std::size_t kWithRoom = 16, kSoonest = 8, kOfGroup = 4;
  const std::size_t types = cluster.platform().types().size();
  shown_.resize(types);
  for (auto& gpus : shown_) gpus.clear();
  if (!large()) {
    for (std::size_t t = 0; t < types; ++t)
      for (std::uint32_t g = 0; g < boards_.size(); ++g)
        if (!boards_[g].shut && cluster.platform().model_index(GpuId(g)) == cluster.platform().type(TypeId(t)).model)
          shown_[t].push_back(g);
    return;
  }
  std::stable_sort(roomy_.begin(), roomy_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cluster.gpus()[a].busy_slices > cluster.gpus()[b].busy_slices;
  });
  for (std::size_t t = 0; t < types; ++t) {
    auto& shown = shown_[t];
    const Time* const earliest = &earliest_[t * boards_.size()];
    std::size_t partly = 0;
    groups_seen_.clear();
    for (const std::uint32_t g : roomy_) {
      if (earliest[g] > cluster.now()) continue;
      if (const std::uint32_t group = boards_[g].group; group == 0) {
        if (++partly > kWithRoom) continue;
      } else {
        if (groups_seen_.size() >= kWithRoom) break;
        if (std::count(groups_seen_.begin(), groups_seen_.end(), group) >= std::ptrdiff_t(kOfGroup)) continue;
        groups_seen_.push_back(group);
      }
      shown.push_back(g);
    }
    std::array<std::uint32_t, kSoonest> soonest{};
    std::size_t found = 0;
    Time worst = kNever;  // later ones are not looked at
    for (std::uint32_t g = 0; g < boards_.size(); ++g) {
      const Time first = earliest[g];
      if (first >= worst || first <= cluster.now() || boards_[g].shut) continue;
      std::size_t i = found < kSoonest ? found++ : found - 1;
      for (; i > 0 && earliest[soonest[i - 1]] > first; --i) soonest[i] = soonest[i - 1];
      soonest[i] = g;
      if (found == kSoonest) worst = earliest[soonest[found - 1]];
    }
    shown.insert(shown.end(), soonest.begin(), soonest.begin() + std::ptrdiff_t(found));
  }
}

// Until a slice can take a job: nothing where it exists, what is left of the change where it is being made.
Time ListPlanner::change_time(const Cluster& cluster, std::uint32_t gpu, PlacementId where) const {
  const GpuMemo& board = boards_[gpu];
  if (board.layout.contains(where)) return Time{0};
  const PlacementTable& facts = table(cluster, gpu);
  Time took;
  if (cluster.cost().reshape) {
    took = *cluster.cost().reshape;
  } else {
    took = facts.create[index(where)];
    for (std::uint32_t rest = board.layout.bits() & facts.conflicts[index(where)]; rest != 0; rest &= rest - 1)
      took += facts.destroy[std::size_t(std::countr_zero(rest))];
  }
  if (board.target.contains(where)) took = std::max(Time(1), took - (cluster.now() - board.asked));
  return took;
}

void ListPlanner::types_of(const Cluster& cluster, JobId job) {
  const Platform& platform = cluster.platform();
  candidate_.job = job;
  candidate_.deadline = cluster.jobs().job(job).has_deadline() ? cluster.jobs().job(job).deadline : kNever;
  candidate_.patient = (options_.patient || cluster.jobs().job(job).patient) && cluster.jobs().job(job).has_deadline();
  candidate_.resume = cluster.state(job).type == kNoType ? Time{0} : std::max(Time{0}, cluster.jobs().job(job).restart);
  candidate_.rest = JobRest(cluster, job);
  candidate_.case_count = 0;
  candidate_.most_room = kNoCost;
  candidate_.usual = 1;
  candidate_.types.clear();
  candidate_.run.resize(platform.types().size());
  candidate_.taught.assign(platform.types().size(), 0.0);
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    if (!tightest_memory(cluster, job, TypeId(t))) continue;
    candidate_.types.push_back(TypeId(t));
    candidate_.run[t] = std::max(Time(1), candidate_.rest.on(cluster, job, TypeId(t)) + candidate_.resume);
    if (candidate_.deadline == kNever)
      candidate_.taught[t] =
          double(cluster.jobs().job(job).teaches[std::size_t(platform.type(TypeId(t)).compute_slices - 1)]) *
          minutes(candidate_.run[t]);
  }
  compare_models(platform);
}

// A job with a deadline of its owner's is judged by that, and one that can be stopped gives way when others come.
bool ListPlanner::keeps_room(const Cluster& cluster) const {
  const Job& job = cluster.jobs().job(candidate_.job);
  return options_.shared && (candidate_.deadline == kNever || job.undeclared) && job.restart < Time{0};
}

// Of the candidate: how many slots those need who come while it runs, and how many like it come.
void ListPlanner::find_room(const Cluster& cluster) {
  candidate_.case_count = 0;
  candidate_.long_for_sure = true;
  candidate_.sizes.clear();
  open_at_.clear();
  if (!keeps_room(cluster)) return;
  if (!candidate_.rest.known()) candidate_.usual = candidate_.rest.usual();
  find_doubts(cluster);
  Time longest{}, fastest = kNever;
  for (const TypeId type : candidate_.types) {
    longest = std::max(longest, candidate_.run[index(type)]);
    fastest = std::min(fastest, candidate_.run[index(type)]);
  }
  for (const TypeId type : candidate_.types)
    candidate_.sizes.push_back(
        {cluster.platform().type(type).room, double(candidate_.run[index(type)].count()) / double(fastest.count())});
  candidate_.fastest = minutes(fastest);
  candidate_.fleet_slots = 0;
  double idle = -kMostSlots;  // slots of GPUs on which nothing runs or is planned, less those that the job may take
  for (std::uint32_t g = 0; g < boards_.size(); ++g) {
    const GpuMemo& board = boards_[g];
    if (board.shut) continue;
    const int slots = std::popcount(table(cluster, g).slots);
    candidate_.fleet_slots += slots;
    if (board.busy.empty() && !board.reserved) idle += slots;
  }
  share_open_slots(cluster);
  for (const JobRest::Case& one : candidate_.rest.cases()) {
    if (one.share <= 0) continue;
    RoomCase& added = candidate_.cases[candidate_.case_count++];
    added.share = one.share;
    added.of_mean = one.of_mean;
    added.peers = peers_present(price_.by_length(), minutes(longest) * one.of_mean);
    added.room.resize(cluster.platform().types().size());
    double most = 0;
    for (const TypeId type : candidate_.types) {
      const double run = minutes(candidate_.run[index(type)]) * one.of_mean;
      added.room[index(type)] = room_needed(price_.by_length(), run, candidate_.fleet_slots);
      most = std::max(most, added.room[index(type)].slots);
    }
    candidate_.long_for_sure &= most > 0 && candidate_.fastest * one.of_mean >= kWaitsFrom;
    const Peers peers{added.peers, candidate_.fastest * one.of_mean, candidate_.sizes, candidate_.fleet_slots};
    if (idle >= most + peers.most_slots()) --candidate_.case_count;  // there is room for all of them
  }
}

void ListPlanner::share_open_slots(const Cluster& cluster) {
  if (cluster.jobs().job(candidate_.job).spread < kUnknownSpread || candidate_.fleet_slots < kManySlots) return;
  candidate_.most_room = kShareOfOpen * open_at(cluster, cluster.now());
  double least = kNoCost;
  for (const TypeId type : candidate_.types) least = std::min(least, cluster.platform().type(type).room);
  candidate_.most_room = std::max(candidate_.most_room, least);
}

void ListPlanner::find_doubts(const Cluster& cluster) {
  if (doubts_ready_) return;
  doubts_ready_ = true;
  doubts_.assign(boards_.size(), {});
  for (std::uint32_t g = 0; g < boards_.size(); ++g)
    for (const PlacementId p : boards_[g].busy) {
      const JobId job = cluster.gpus()[g].job_at[index(p)];
      if (job != kNoJob && cluster.jobs().job(job).spread > 0)
        doubts_[g].push_back({table(cluster, g).conflicts[index(p)], late_finish(cluster, job), p});
    }
}

std::uint32_t ListPlanner::open_slots(const Cluster& cluster, std::uint32_t gpu, Time at) const {
  std::uint32_t open = table(cluster, gpu).slots & ~boards_[gpu].timeline.blocked_at(at);
  for (const Doubt& doubt : doubts_[gpu])
    if (doubt.until > at && (boards_[gpu].vacated >> index(doubt.where) & 1) == 0) open &= ~doubt.slots;
  return open;
}

double ListPlanner::open_at(const Cluster& cluster, Time at) const {
  for (const auto& [time, open] : open_at_)
    if (time == at) return open;
  double open = 0;
  for (std::uint32_t g = 0; g < boards_.size(); ++g)
    if (!boards_[g].shut) open += std::popcount(open_slots(cluster, g, at));
  open_at_.emplace_back(at, open);
  return open;
}

// What others lose if the candidate begins there then. Short ones want a slot within half of their own length.
double ListPlanner::crowd_of(const Cluster& cluster, std::uint32_t gpu, TypeId type, PlacementId where,
                             Time begin) const {
  constexpr double kSoon = 0.5;
  const PlacementTable& facts = table(cluster, gpu);
  const auto taken = [&](Time at) {
    return std::popcount(open_slots(cluster, gpu, at) & facts.conflicts[index(where)]);
  };
  double crowd = 0;
  for (const RoomCase& one : std::span(candidate_.cases.data(), candidate_.case_count)) {
    const RoomNeeded& room = one.room[index(type)];
    const Time run = rounded(double(candidate_.run[index(type)].count()) * one.of_mean);
    if (room.slots > 0) {
      const Time soon = begin + std::min(run / std::int64_t(kMuchShorter), from_minutes(kSoon * room.length));
      crowd += one.share * room.minutes_lost(open_at(cluster, soon) - taken(soon));
    }
    if (one.peers > 0) {
      const Time halfway = begin + run / 2;
      const double open = open_at(cluster, halfway) - room.slots;
      const Peers peers{one.peers, candidate_.fastest * one.of_mean, candidate_.sizes, candidate_.fleet_slots};
      crowd += one.share * (peers.minutes(open - taken(halfway)) - peers.minutes(open));
    }
  }
  return crowd;
}

void ListPlanner::compare_models(const Platform& platform) {
  candidate_.dearer.assign(platform.types().size(), 1.0);
  if (platform.models().size() < 2) return;
  for (const TypeId type : candidate_.types) {
    Time slowest{};
    for (const TypeId other : candidate_.types)
      if (platform.type(other).compute_slices == platform.type(type).compute_slices)
        slowest = std::max(slowest, candidate_.run[index(other)]);
    const double faster = double(slowest.count()) / double(candidate_.run[index(type)].count());
    candidate_.dearer[index(type)] = faster * faster;
  }
}

void ListPlanner::consider(const Cluster& cluster, std::uint32_t gpu, TypeId type, Choice& choice,
                           std::uint32_t placements) const {
  auto& [any, now, soonest] = choice;
  const GpuMemo& board = boards_[gpu];
  const PlacementTable& facts = table(cluster, gpu);
  const Time run = candidate_.run[index(type)];
  const int slices = cluster.platform().type(type).compute_slices;
  const double a_minute = price_now_ * candidate_.dearer[index(type)];
  const Time first = std::max(cluster.now(), earliest_[index(type) * boards_.size() + gpu]);
  const double taught = candidate_.taught[index(type)];
  const double least =
      lateness(cluster, first + run, run) + rent(cluster.platform(), type, price_now_) * minutes(run) - taught;
  const bool sooner = first == cluster.now() && usual_finish(first + run, run) < soonest;
  if (any.valid() && least > any.cost && !sooner && (first > cluster.now() || (now.valid() && least > now.cost)))
    return;
  const PowerModel& power = cluster.platform().model(GpuId(gpu)).power;
  const double added = cluster.jobs().added_watts(candidate_.job, type);
  placements &= facts.of_type[index(type) - std::size_t(facts.first_type)];
  for (std::uint32_t rest = placements; rest != 0; rest &= rest - 1) {
    const PlacementId p{std::uint8_t(std::countr_zero(rest))};
    const Time change = change_time(cluster, gpu, p);
    Option option;
    option.begin = board.timeline.first_fit(p, cluster.now(), change + run);
    if (option.begin == kNever) continue;
    if (option.begin == cluster.now() && cluster.platform().type(type).room > candidate_.most_room) continue;
    option.finish = option.begin + change + run;
    option.late = lateness(cluster, option.finish, run);
    if (candidate_.case_count > 0)
      option.crowd = crowd_of(cluster, gpu, type, p, std::max(option.begin, cluster.now()));
    const bool due_now = option.begin == cluster.now();
    const std::uint32_t slots = facts.slots & facts.conflicts[index(p)];
    const double held = due_now ? 0 : facts.slot_room * board.timeline.idle_before(slots, option.begin);
    option.cost = option.late + option.crowd - taught +
                  a_minute * (room_of(facts, cluster.platform(), p) * minutes(change + run) + held);
    if (due_now) soonest = std::min(soonest, usual_finish(option.finish, run));
    if (any.valid() && option.cost > any.cost && !(due_now && (!now.valid() || option.cost <= now.cost))) continue;
    option.cost +=
        options_.w / 60e6 * board.timeline.added_energy(power, slices, added, option.begin + change, option.finish);
    option.gpu = gpu;
    option.where = p;
    option.blocks = std::popcount(facts.conflicts[index(p)] & ~board.timeline.blocked_first());
    if (option.better_than(any)) any = option;
    if (due_now && option.better_than(now)) now = option;
  }
}

double ListPlanner::least_cost(const Cluster& cluster) const {
  double least = kNoCost;
  for (const TypeId type : candidate_.types) {
    const Time run = candidate_.run[index(type)];
    const double paid = rent(cluster.platform(), type, price_now_) * minutes(run) - candidate_.taught[index(type)];
    least = std::min(least, lateness(cluster, cluster.now() + run, run) + paid);
  }
  return least;
}

// REQUIRES: choose_gpus() has been called at this decision.
ListPlanner::Option ListPlanner::best_for(const Cluster& cluster, JobId job, std::uint32_t promised, TypeId only) {
  types_of(cluster, job);
  find_room(cluster);
  Choice choice;
  for (const TypeId type : candidate_.types) {
    if (only != kNoType && type != only) continue;
    if (promised != kNoPromise && !boards_[promised].shut &&
        cluster.platform().model_index(GpuId(promised)) == cluster.platform().type(type).model)
      consider(cluster, promised, type, choice);
    groups_seen_.clear();
    for (const std::uint32_t g : shown_[index(type)]) {
      if (const GpuMemo& board = boards_[g]; board.group != 0 && !board.reserved) {
        if (std::find(groups_seen_.begin(), groups_seen_.end(), board.group) != groups_seen_.end()) continue;
        groups_seen_.push_back(board.group);
      }
      consider(cluster, g, type, choice);
    }
  }
  return chosen_of(cluster, choice);
}

ListPlanner::Option ListPlanner::chosen_of(const Cluster& cluster, const Choice& choice) const {
  const auto& [any, now, soonest] = choice;
  if (any.begin == cluster.now() || !now.valid()) return any;
  const Time run = candidate_.run[index(cluster.platform().type_of(GpuId(any.gpu), any.where))];
  if (usual_finish(any.finish, run) < soonest) return any;
  // For the sake of those who come a job waits that is long in each case, and no longer than it runs.
  const Time waited = cluster.now() - cluster.jobs().job(candidate_.job).submit;
  if (candidate_.long_for_sure && any.crowd < now.crowd && any.cost < now.cost && waited < any.finish - any.begin)
    return any;
  if (!candidate_.patient) return now;
  Option held = any;
  held.latest = candidate_.deadline - (now.finish - now.begin);
  return any.begin <= held.latest && any.finish <= candidate_.deadline ? held : now;
}

// Changes that take no time are over at the instant at which they were asked for. A promise of that instant is kept, or
// slices could be made for one job, given up for another and made again, for ever.
ListPlanner::Option ListPlanner::as_promised(const Cluster& cluster, const Listed& listed) {
  if (listed.where == kNoPlacement || boards_[listed.promised].shut) return {};
  types_of(cluster, listed.job);
  find_room(cluster);
  candidate_.most_room = kNoCost;
  Choice choice;
  const TypeId type = cluster.platform().type_of(GpuId(listed.promised), listed.where);
  consider(cluster, listed.promised, type, choice, 1u << index(listed.where));
  return choice.now;
}

void ListPlanner::plan_job(const Cluster& cluster, const Listed& listed) {
  price_now_ = price_for(cluster, listed.job);
  choose_gpus(cluster);
  Option chosen = as_promised(cluster, listed);
  if (!chosen.valid()) chosen = best_for(cluster, listed.job, listed.promised, listed.only);
  planned_.push_back({listed.job, price_now_, chosen, listed.only});
  if (!chosen.valid()) return;
  GpuMemo& board = boards_[chosen.gpu];
  const bool had_room = has_room(cluster, chosen.gpu);
  board.timeline.take(table(cluster, chosen.gpu), chosen.where, chosen.begin, chosen.finish);
  board.reserved = true;
  if (had_room && !has_room(cluster, chosen.gpu)) --rooms_;
}

void ListPlanner::list_jobs(Time now) {
  order_.clear();
  for (const Promise& one : promised_)
    if (waiting_.has(one.job)) order_.push_back({one.job, one.gpu, one.at == now ? one.where : kNoPlacement, one.only});
  const std::size_t promised = order_.size();
  const auto add = [&](JobId job) {
    const auto end = order_.begin() + std::ptrdiff_t(promised);
    if (std::none_of(order_.begin(), end, [job](const Listed& one) { return one.job == job; }))
      order_.push_back({job, kNoPromise});
  };
  const auto& entries = waiting_.entries();
  const std::size_t first = std::min(entries.size(), large() ? kLargeWindow : kWindow);
  for (std::size_t i = 0; i < first; ++i) add(entries[i].job);
  if (large() && entries.size() > first)
    for (std::size_t i = 0; i < std::min(kInTurn, entries.size() - first); ++i)
      add(entries[first + turn_++ % (entries.size() - first)].job);
}

// `all`: also where nothing has room now.
void ListPlanner::plan_jobs(const Cluster& cluster, bool all) {
  look_at(cluster);
  planned_.clear();
  find_movable(cluster);
  count_rooms();
  shown_ready_ = false;
  doubts_ready_ = false;
  list_jobs(cluster.now());
  if ((rooms_ > 0 || all) && !large()) search(cluster);
  // Where nothing has room now, the first few are planned still if a running job could give way.
  const std::size_t always = all ? order_.size() : movable_.empty() ? 0 : kDisplacing;
  while (planned_.size() < order_.size() && (rooms_ > 0 || planned_.size() < always))
    plan_job(cluster, order_[planned_.size()]);
}

void ListPlanner::decide(const Cluster& cluster, Plan& plan) {
  SMARTMIG_CHECK(!cluster.cost().free(), "the list planner plans for hardware costs alone");
  plan_jobs(cluster, false);
  touched_.clear();
  promised_.clear();
  if (!movable_.empty()) move_jobs(cluster, plan);
  carry_out(cluster, plan);
  stops_expected_ = stops_seen_ + plan.stops.size();
  touched_ = plan.stops;
  for (const Start& start : plan.starts) touched_.push_back(start.job);
  for (const Booking& one : planned_)
    if (one.option.begin == cluster.now() && !exists(cluster, one.option))
      promised_.push_back({one.job, one.option.gpu, one.option.where, cluster.now(), one.only});
}

std::vector<PlannedStart> ListPlanner::planned_starts(const Cluster& cluster) const {
  ListPlanner again(*this);
  again.price_ = price_.copy();
  again.plan_jobs(cluster, true);
  std::vector<PlannedStart> out;
  for (const auto& [job, price, option, only] : again.planned_) {
    if (!option.valid()) continue;
    again.types_of(cluster, job);
    const TypeId type = cluster.platform().model(GpuId(option.gpu)).type_of_placement[index(option.where)];
    const Time run = again.candidate_.run[index(type)];
    out.push_back(
        {job, GpuId(option.gpu), option.where, option.begin, option.finish - run, option.finish, option.latest});
  }
  return out;
}

void ListPlanner::carry_out(const Cluster& cluster, Plan& plan) const {
  std::vector<std::pair<std::uint32_t, Layout>> changed;
  for (const auto& [job, price, option, only] : planned_) {
    if (option.valid()) plan.look_again = std::min(plan.look_again, option.latest);
    if (option.begin != cluster.now()) continue;
    const GpuState& state = cluster.gpus()[option.gpu];
    // What exists can be used in the same plan, also where it was about to go: the reshape keeps it.
    if (exists(cluster, option)) plan.starts.push_back({job, GpuId(option.gpu), option.where});
    if (state.free().contains(option.where)) continue;
    if (exists(cluster, option) && state.target.contains(option.where)) continue;
    const GpuModel& geometry = *cluster.platform().model(GpuId(option.gpu)).gpu;
    auto at =
        std::find_if(changed.begin(), changed.end(), [gpu = option.gpu](const auto& one) { return one.first == gpu; });
    if (at == changed.end()) at = changed.insert(changed.end(), {option.gpu, state.target});
    if (at->second.contains(option.where)) continue;
    const Layout kept = geometry.subset(at->second, ~table(cluster, option.gpu).conflicts[index(option.where)]);
    if (const auto next = geometry.with(kept, option.where)) at->second = *next;
  }
  for (const auto& [gpu, target] : changed)
    if (target != cluster.gpus()[gpu].target) plan.reshapes.push_back({GpuId(gpu), target});
}

}  // namespace smartmig
