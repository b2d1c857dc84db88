#include "queue/jobs/quotas.h"

#include <fmt/format.h>
#include <grp.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <mutex>

#include "base/json.h"

namespace smartmig {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr const char* kDefault = "default";
constexpr std::int64_t kLastInstant = 100'000'000'000'000'000;  // as of stored jobs

std::tm local(UnixTime at) {
  const std::time_t whole = std::time_t(unix_us(at) / 1'000'000);
  std::tm parts{};
  ::localtime_r(&whole, &parts);
  return parts;
}

UnixTime monday(UnixTime now, int weeks) {
  std::tm parts = local(now);
  parts.tm_mday += 7 * weeks - (parts.tm_wday + 6) % 7;
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_isdst = -1;
  return from_unix_us(std::int64_t(std::mktime(&parts)) * 1'000'000);
}

std::string of(const QuotaName& name) { return fmt::format("{} {}", name_of(name.first), name.second); }

}  // namespace

UnixTime week_start(UnixTime now) { return monday(now, 0); }
UnixTime week_end(UnixTime now) { return monday(now, 1); }

const char* name_of(QuotaScope scope) {
  static const char* const names[] = {"user", "group", "project"};
  return names[int(scope)];
}

std::string unix_group(std::uint32_t gid) {
  static std::mutex mutex;
  static std::map<std::uint32_t, std::string> known;  // asking may take long (LDAP)
  const std::lock_guard lock(mutex);
  const auto at = known.find(gid);
  if (at != known.end()) return at->second;
  char buffer[16384];
  group entry{};
  group* found = nullptr;
  const bool named = ::getgrgid_r(gid, &entry, buffer, sizeof buffer, &found) == 0 && found;
  return known[gid] = named ? std::string(found->gr_name) : std::to_string(gid);
}

std::array<QuotaName, kQuotaScopes> quota_names(const JobRecord& job) {
  return {QuotaName{QuotaScope::kUser, job.owner.name}, QuotaName{QuotaScope::kGroup, unix_group(job.owner.gid)},
          QuotaName{QuotaScope::kProject, job.spec.project}};
}

const Quota* Quotas::limit_of(const QuotaName& name) const {
  if (name.second.empty()) return nullptr;
  const auto& limits = settings_.quota.limits;
  auto at = limits.find(name);
  if (at == limits.end()) at = limits.find({name.first, kDefault});
  return at == limits.end() ? nullptr : &at->second;
}

std::optional<std::string> Quotas::changed_text() {
  return std::exchange(changed_, false) ? std::optional(text()) : std::nullopt;
}

std::string Quotas::text() const {
  Json use = Json::array();
  for (const auto& [name, used] : ended_) use.push_back({int(name.first), name.second, used.gpu_s, used.joules});
  return json_dump(Json{{"smartmig_quota_use", 1}, {"week_end_us", unix_us(week_end_)}, {"use", std::move(use)}});
}

Result<Ok> Quotas::load(const std::string& text) {
  const std::string name = "stored use of quotas";
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, name, "", {"smartmig_quota_use", "week_end_us", "use"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_quota_use", 1, 1));
  (void)version;
  SMARTMIG_TRY(const std::int64_t end_us, root.integer("week_end_us", 0, kLastInstant));
  SMARTMIG_TRY(const Json* use, root.list("use"));
  std::map<QuotaName, QuotaUse> read;
  for (const Json& row : *use) {
    const bool good = row.is_array() && row.size() == 4 && row[0].is_number_integer() && row[1].is_string() &&
                      row[2].is_number() && row[3].is_number();
    if (!good || row[0] < 0 || row[0] >= kQuotaScopes || !(row[2].get<double>() >= 0 && row[2].get<double>() <= 1e15) ||
        !(std::abs(row[3].get<double>()) <= 1e18))
      return root.error("use", "has an invalid row");
    read[{QuotaScope(row[0].get<int>()), row[1].get<std::string>()}] = {row[2].get<double>(), row[3].get<double>()};
  }
  ended_ = std::move(read);
  week_end_ = from_unix_us(end_us);
  return Ok{};
}

QuotaUse Quotas::use_of(const JobRecord& job, UnixTime now) const {
  JobRecord copy;
  copy.work.slice_s = job.work.slice_s;
  copy.times.started = job.times.started;
  copy.place.slice = job.place.slice;
  add_slice_time(copy, job.times.ended == kNotYet ? now : job.times.ended);
  return {copy.work.slice_s / std::max(1, gpu_slices_), job.energy.joules};
}

void Quotas::ended(const JobRecord& job) {
  if (job.attempt == 0) return;
  changed_ = true;
  const QuotaUse use = use_of(job, job.times.ended);
  for (const QuotaName& name : quota_names(job)) {
    if (name.second.empty()) continue;
    ended_[name].gpu_s += use.gpu_s;
    ended_[name].joules += use.joules;
  }
}

void Quotas::more_joules(const JobRecord& job, double more) {
  changed_ = true;
  for (const QuotaName& name : quota_names(job))
    if (!name.second.empty()) ended_[name].joules += more;
}

void Quotas::brought_back(const JobRecord& job) {
  begun_.insert(job.id);
  if (job.attempt == 0 || job.times.ended < week_start(week_end_ - std::chrono::seconds(1))) return;
  changed_ = true;
  const QuotaUse use = use_of(job, job.times.ended);
  for (const QuotaName& name : quota_names(job)) {
    const auto at = ended_.find(name);
    if (at == ended_.end()) continue;
    at->second.gpu_s = std::max(0.0, at->second.gpu_s - use.gpu_s);
    at->second.joules = std::max(0.0, at->second.joules - use.joules);
  }
}

void Quotas::count(std::span<const Running> running, UnixTime now) {
  running_.clear();
  slices_.clear();
  if (now >= week_end_) {
    changed_ |= !ended_.empty();
    ended_.clear();
    week_end_ = week_end(now);
  }
  if (!any()) return;
  for (const auto& [job, slices] : running) {
    const QuotaUse use = use_of(*job, now);
    for (const QuotaName& name : quota_names(*job)) {
      if (name.second.empty()) continue;
      running_[name].gpu_s += use.gpu_s;
      running_[name].joules += use.joules;
      slices_[name] += slices;
    }
  }
}

QuotaUse Quotas::used(const QuotaName& name) const {
  QuotaUse sum;
  for (const auto* part : {&ended_, &running_})
    if (const auto at = part->find(name); at != part->end()) {
      sum.gpu_s += at->second.gpu_s;
      sum.joules += at->second.joules;
    }
  return sum;
}

int Quotas::slices(const QuotaName& name) const {
  const auto at = slices_.find(name);
  return at == slices_.end() ? 0 : at->second;
}

std::string Quotas::used_up(const JobRecord& job) const {
  if (!any()) return {};
  for (const QuotaName& name : quota_names(job)) {
    const Quota* const limit = limit_of(name);
    if (!limit) continue;
    const QuotaUse use = used(name);
    std::string words;
    if (limit->gpu_hours > 0 && use.gpu_s >= 3600 * limit->gpu_hours)
      words = fmt::format("{:.1f} of {:g} GPU-hours", use.gpu_s / 3600, limit->gpu_hours);
    else if (limit->energy_kwh > 0 && use.joules >= kJoulesPerKwh * limit->energy_kwh)
      words = fmt::format("{:.2f} of {:g} kWh", use.joules / kJoulesPerKwh, limit->energy_kwh);
    if (words.empty()) continue;
    const std::tm next = local(week_end_);
    return fmt::format("the week's quota of {} is used up ({}); the next week begins on {:04}-{:02}-{:02} 00:00",
                       of(name), words, next.tm_year + 1900, next.tm_mon + 1, next.tm_mday);
  }
  return {};
}

bool Quotas::take_ahead(const JobRecord& job, double gpu_s, std::map<QuotaName, double>& more) const {
  const auto names = quota_names(job);
  for (const QuotaName& name : names)
    if (const Quota* const limit = limit_of(name);
        limit && limit->gpu_hours > 0 && used(name).gpu_s + more[name] >= 3600 * limit->gpu_hours)
      return false;
  for (const QuotaName& name : names)
    if (!name.second.empty()) more[name] += gpu_s;
  return true;
}

std::string Quotas::never_fits(const JobRecord& job, int slices) const {
  for (const QuotaName& name : quota_names(job))
    if (const Quota* const limit = limit_of(name); limit && limit->slices > 0 && slices > limit->slices)
      return fmt::format("it asks for {} compute slices, and the quota of {} is {} at once", slices, of(name),
                         limit->slices);
  if (const int cap = settings_.limits.user_slices; cap > 0 && slices > cap)
    return fmt::format("it asks for {} compute slices, and each user may have {} at once", slices, cap);
  return {};
}

std::string Quotas::slices_full(const JobRecord& job, int asked) const {
  for (const QuotaName& name : quota_names(job))
    if (const Quota* const limit = limit_of(name); limit && limit->slices > 0 && slices(name) + asked > limit->slices)
      return fmt::format("running jobs of {} have {} compute slices, and the quota is {} at once", of(name),
                         slices(name), limit->slices);
  return {};
}

std::vector<std::string> Quotas::left(const JobRecord& job) const {
  std::vector<std::string> out;
  for (const QuotaName& name : quota_names(job)) {
    const Quota* const limit = limit_of(name);
    if (!limit) continue;
    const QuotaUse use = used(name);
    std::vector<std::string> parts;
    if (limit->slices > 0) parts.push_back(fmt::format("{} of {} slices", limit->slices - slices(name), limit->slices));
    if (limit->gpu_hours > 0)
      parts.push_back(fmt::format("{:.1f} of {:g} GPU-hours", std::max(0.0, limit->gpu_hours - use.gpu_s / 3600),
                                  limit->gpu_hours));
    if (limit->energy_kwh > 0)
      parts.push_back(fmt::format("{:.2f} of {:g} kWh", std::max(0.0, limit->energy_kwh - use.joules / kJoulesPerKwh),
                                  limit->energy_kwh));
    if (!parts.empty()) out.push_back(fmt::format("{}: {} left this week", of(name), fmt::join(parts, ", ")));
  }
  return out;
}

Quotas::Caps Quotas::caps_of(const JobRecord& job) const {
  Caps out;
  out.fill(-1);
  if (!any()) return out;
  const auto names = quota_names(job);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Quota* const limit = limit_of(names[i]);
    if (!limit || limit->slices <= 0) continue;
    const auto [at, is_new] = cap_of_.emplace(names[i], int(caps_.size()));
    if (is_new) caps_.push_back(limit->slices);
    out[i] = at->second;
  }
  return out;
}

void Quotas::settings_changed() {
  cap_of_.clear();
  caps_.clear();
}

std::vector<Quotas::Row> Quotas::rows(QuotaScope scope) const {
  std::map<QuotaName, Row> rows;
  for (const auto& [name, limit] : settings_.quota.limits)
    if (name.first == scope) rows[name];
  for (const auto* part : {&ended_, &running_})
    for (const auto& [name, use] : *part)
      if (name.first == scope) rows[name];
  std::vector<Row> out;
  for (auto& [name, row] : rows) {
    const Quota* const limit = limit_of(name);
    out.push_back({name, limit ? *limit : Quota(), used(name), slices(name)});
  }
  return out;
}

}  // namespace smartmig
