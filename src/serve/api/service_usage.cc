// What ended jobs used, added up; groups and their limits.
#include "base/json.h"
#include "base/text.h"
#include "serve/api/daemon_service.h"
#include "serve/api/service_rules.h"

namespace smartmig {
namespace {

Json usage_json(const UsageRow& row, const std::optional<EnergyPrices>& prices) {
  return {{"key", row.key},
          {"jobs", row.jobs},
          {"done", row.done},
          {"energy_j", row.joules},
          {"slice_s", row.slice_s},
          {"late_s", row.late_s},
          {"cost", prices ? Json(prices->cost(row.joules, row.late_s)) : Json()}};
}

// Of this week, whatever the question's times are.
Json quotas_json(const Daemon& daemon, const std::string& by) {
  Json out = Json::array();
  const auto limit = [](double value) { return value > 0 ? Json(value) : Json(); };
  for (const QuotaScope scope : {QuotaScope::kUser, QuotaScope::kGroup, QuotaScope::kProject}) {
    if (by != name_of(scope) || !daemon.state().quotas.any()) continue;
    for (const Quotas::Row& row : daemon.state().quotas.rows(scope))
      out.push_back({{"name", row.name.second},
                     {"slices", row.slices},
                     {"quota_slices", row.limit.slices > 0 ? Json(row.limit.slices) : Json()},
                     {"gpu_hours", row.used.gpu_s / 3600},
                     {"quota_gpu_hours", limit(row.limit.gpu_hours)},
                     {"energy_j", row.used.joules},
                     {"quota_energy_j", limit(row.limit.energy_kwh * 3.6e6)}});
  }
  return out;
}

Json groups_json(const Daemon& daemon) {
  struct Row {
    int running = 0, waiting = 0;
  };
  std::map<std::string, Row> rows;
  const DaemonState& state = daemon.state();
  for (const auto& [name, limit] : state.groups.limits()) rows[name];
  for (const auto& [id, job] : daemon.live_jobs())
    if (!job.spec.group.empty())
      ++(is_waiting(job.status) ? rows[job.spec.group].waiting : rows[job.spec.group].running);
  Json list = Json::array();
  for (const auto& [name, row] : rows)
    list.push_back(
        {{"name", name}, {"limit", state.groups.limit(name)}, {"running", row.running}, {"waiting", row.waiting}});
  return {{"groups", std::move(list)}};
}

}  // namespace

Result<Json> DaemonService::usage(const Caller&, const UsageQuery& query) {
  StoreUsage asked{query.by, query.uid, query.since, query.until};
  SMARTMIG_TRY(const auto rows, store_.usage(asked));
  SMARTMIG_TRY(const auto prices,
               ask<std::optional<EnergyPrices>>(
                   [](Daemon& d) -> Result<std::optional<EnergyPrices>> { return d.state().settings.priced(); }));
  SMARTMIG_TRY(Json quotas, ask<Json>([&](Daemon& d) -> Result<Json> { return quotas_json(d, query.by); }));
  Json list = Json::array();
  UsageRow total;
  total.key = "total";
  for (const UsageRow& row : rows) {
    list.push_back(usage_json(row, prices));
    if (query.by == "group") list.back()["key"] = unix_group(std::uint32_t(parse_int(row.key).value_or(0)));
    total.jobs += row.jobs;
    total.done += row.done;
    total.joules += row.joules;
    total.slice_s += row.slice_s;
    total.late_s += row.late_s;
  }
  return Json{
      {"by", query.by}, {"rows", std::move(list)}, {"total", usage_json(total, prices)}, {"quotas", std::move(quotas)}};
}

Result<Json> DaemonService::groups(const Caller&) {
  return ask<Json>([](Daemon& d) -> Result<Json> { return groups_json(d); });
}

Result<Json> DaemonService::set_group(const Caller& caller, const Json& body) {
  if (!caller.operator_rights)
    return no_permission("only the operator (root or the daemon's user) may set the limit of a group");
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "the body", "", {"name", "limit"}));
  SMARTMIG_TRY(const std::int64_t limit, object.integer("limit", 0, 1'000'000));
  const Json* name = object.find("name");
  if (!name || !name->is_string() || name->get_ref<const std::string&>().empty() ||
      name->get_ref<const std::string&>().size() > 64)
    return invalid("name: the name of a group, up to 64 bytes");
  return ask<Json>(
      [&](Daemon& d) -> Result<Json> {
        d.groups().set(name->get<std::string>(), int(limit));
        d.state().book.pending().set_value("groups", d.groups().to_text());
        d.state().book.queue_changed();
        d.state().session.note("group",
                               fmt::format("\"name\":{},\"limit\":{}", json_text(name->get<std::string>()), limit));
        return groups_json(d);
      },
      true);
}

}  // namespace smartmig
