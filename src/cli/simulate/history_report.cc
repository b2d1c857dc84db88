#include "cli/simulate/history_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/table.h"

namespace smartmig::cli {

using OrderedJson = nlohmann::ordered_json;

namespace {

double energy_change(const HistoryReport& r, const HistoryRow& row) {
  const double first = r.answer.rows[0].whole.energy_kwh;
  return first > 0 ? row.whole.energy_kwh / first - 1 : 0;
}

std::optional<double> gap_above(double value, double bound) {
  return bound > 0 ? std::optional(value / bound - 1) : std::nullopt;
}

double bound_kwh(const ProvenBounds& bounds) { return kilowatt_hours(bounds.energy_wmin * 60); }

std::string percent_words(const std::optional<double>& gap) {
  return gap ? fmt::format("{:.1f} %", 100 * *gap) : std::string("-");
}

std::string needed_words(const HistoryReport& r, const HistoryRow& row) {
  if (row.gpus_needed) return fmt::format("{}", *row.gpus_needed);
  return fmt::format("more than {}", 4 * r.question.setting.platform->gpus());
}

const char* delay_words(const HistoryReport& r) {
  const LoadOptions& load = r.question.setting.load;
  return load.slack || (load.missing_slack && (load.missing_slack->low != 1 || load.missing_slack->high != 1))
             ? "Delay: how long after its deadline a job ends. The deadlines are assumed; see below."
             : "Delay: how much later a job ends than if it started at once on a whole GPU of its own.";
}

std::string gpus_words(const HistoryReport& r) {
  if (!r.answer.sized) return {};
  const Platform& platform = *r.question.setting.platform;
  return fmt::format("GPUs needed: the fewest {} with a mean delay of at most {:.2f} min{}.",
                     platform.models()[0].gpu->name(), r.answer.target_min,
                     r.question.target_min ? std::string()
                     : r.answer.target_min > r.answer.rows[0].whole.mean_tardiness_min
                         ? std::string()
                         : fmt::format(", that of {} on {}", r.answer.rows[0].label, platform.gpus()));
}

std::vector<std::pair<std::string, std::string>> facts_of(const HistoryReport& r) {
  const Setting& setting = r.question.setting;
  const TraceReading::Recorded& recorded = r.reading.recorded;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"history", r.question.workload->source},
      {"jobs", fmt::format("{}", r.question.workload->jobs.size())},
      {"days", fmt::format("{:.1f}", r.question.workload->days)},
      {"GPU hours", fmt::format("{:.1f}", recorded.gpu_hours)},
      {"GPUs busy in the busiest 6 h", fmt::format("{:.1f}", r.answer.peak_gpus)},
      {"fleet", setting.platform->spec()},
      {"costs", setting.cost.name()},
      {"power model", setting.platform->models()[0].power.name()}};
  if (recorded.wait_s) facts.push_back({"recorded mean wait", fmt::format("{:.2f} min", *recorded.wait_s / 60)});
  if (recorded.left_out_gpu_hours > 0)
    facts.push_back(
        {"left out",
         fmt::format("jobs over several GPUs, {:.1f} GPU hours ({:.0f} % of all)", recorded.left_out_gpu_hours,
                     100 * recorded.left_out_gpu_hours / (recorded.left_out_gpu_hours + recorded.gpu_hours))});
  return facts;
}

}  // namespace

std::string history_text(const HistoryReport& r) {
  std::string out;
  for (const auto& [key, value] : facts_of(r)) out += fmt::format("{:<29}{}\n", key, value);
  std::vector<std::string> header = {"policy", "energy kWh", "against first", "delay min", "p99 min", "wait min"};
  if (r.answer.bounds) header.insert(header.end(), {"energy gap", "delay gap"});
  if (r.answer.sized) header.insert(header.end(), {"GPUs needed", "kWh on those"});
  Table table(header);
  for (const HistoryRow& row : r.answer.rows) {
    const Summary& s = row.whole;
    std::vector<std::string> cells = {
        row.label,
        fmt::format("{:.2f}", s.energy_kwh),
        &row == &r.answer.rows[0] ? std::string("-") : fmt::format("{:+.1f} %", 100 * energy_change(r, row)),
        fmt::format("{:.2f}", s.mean_tardiness_min),
        fmt::format("{:.2f}", s.p99_tardiness_min),
        fmt::format("{:.2f}", s.mean_wait_min)};
    if (r.answer.bounds)
      cells.insert(cells.end(), {percent_words(gap_above(s.energy_wmin, r.answer.bounds->energy_wmin)),
                                 percent_words(gap_above(s.mean_tardiness_min, r.answer.bounds->tardiness_min))});
    if (r.answer.sized)
      cells.insert(cells.end(),
                   {needed_words(r, row), row.gpus_needed ? fmt::format("{:.2f}", row.kwh_needed) : std::string("-")});
    table.add(std::move(cells));
  }
  out += "\n" + table.text() + "\n" + delay_words(r) + "\n";
  if (r.answer.bounds)
    out += fmt::format("No schedule can have less than {:.2f} kWh or {:.2f} min (proven); gap = value / bound - 1.\n",
                       bound_kwh(*r.answer.bounds), r.answer.bounds->tardiness_min);
  if (r.answer.sized)
    out += gpus_words(r) + "\n";
  else if (r.question.sizes)
    out += "GPUs needed are given only for a fleet of one model.\n";
  out += "\nAssumptions where Slurm's accounts have no data:\n";
  for (const std::string& rule : r.question.workload->rules) out += fmt::format("  {}\n", rule);
  return out;
}

std::string history_json(const HistoryReport& r) {
  const Setting& setting = r.question.setting;
  const TraceReading::Recorded& recorded = r.reading.recorded;
  const auto number = [](const std::optional<double>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
  };
  OrderedJson rows = OrderedJson::array();
  for (const HistoryRow& row : r.answer.rows) {
    const Summary& s = row.whole;
    rows.push_back({{"policy", row.label},
                    {"energy_kwh", s.energy_kwh},
                    {"energy_change", energy_change(r, row)},
                    {"mean_delay_min", s.mean_tardiness_min},
                    {"p99_delay_min", s.p99_tardiness_min},
                    {"mean_wait_min", s.mean_wait_min},
                    {"makespan_min", s.makespan_min},
                    {"utilisation", s.utilisation}});
    if (r.answer.bounds) {
      rows.back()["energy_gap"] = number(gap_above(s.energy_wmin, r.answer.bounds->energy_wmin));
      rows.back()["delay_gap"] = number(gap_above(s.mean_tardiness_min, r.answer.bounds->tardiness_min));
    }
    if (r.answer.sized) {
      rows.back()["gpus_needed"] = row.gpus_needed ? OrderedJson(*row.gpus_needed) : OrderedJson(nullptr);
      rows.back()["energy_kwh_on_needed"] = row.gpus_needed ? OrderedJson(row.kwh_needed) : OrderedJson(nullptr);
    }
  }
  OrderedJson json{{"history", r.question.workload->source},
                   {"jobs", r.question.workload->jobs.size()},
                   {"days", r.question.workload->days},
                   {"gpu_hours", recorded.gpu_hours},
                   {"left_out_gpu_hours", recorded.left_out_gpu_hours},
                   {"recorded_wait_min", number(recorded.wait_s ? std::optional(*recorded.wait_s / 60) : std::nullopt)},
                   {"peak_gpus", r.answer.peak_gpus},
                   {"gpus", setting.platform->spec()},
                   {"cost", setting.cost.name()},
                   {"power", setting.platform->models()[0].power.name()}};
  if (r.answer.bounds)
    json["bounds"] = {{"world", name_of(r.answer.bounds->world)},
                      {"energy_kwh", bound_kwh(*r.answer.bounds)},
                      {"mean_delay_min", r.answer.bounds->tardiness_min}};
  if (r.answer.sized) json["target_delay_min"] = r.answer.target_min;
  json["policies"] = std::move(rows);
  json["assumed"] = r.question.workload->rules;
  return json_dump(json, 1);
}

HistoryPage history_page_of(const HistoryReport& r) {
  HistoryPage page;
  page.title = "A cluster's history under other policies";
  page.note = delay_words(r);
  page.facts = facts_of(r);
  page.gpus_note = gpus_words(r);
  page.assumed = r.question.workload->rules;
  page.command = r.command;
  page.version = SMARTMIG_VERSION;
  if (r.answer.bounds) {
    page.energy_bound_kwh = bound_kwh(*r.answer.bounds);
    page.delay_bound_min = r.answer.bounds->tardiness_min;
  }
  for (const HistoryRow& row : r.answer.rows) {
    HistoryPage::Policy policy;
    policy.name = row.label;
    policy.energy_kwh = row.whole.energy_kwh;
    policy.delay_min = row.whole.mean_tardiness_min;
    policy.p99_delay_min = row.whole.p99_tardiness_min;
    policy.wait_min = row.whole.mean_wait_min;
    policy.energy_change = energy_change(r, row);
    if (r.answer.bounds) {
      policy.energy_gap = gap_above(row.whole.energy_wmin, r.answer.bounds->energy_wmin);
      policy.delay_gap = gap_above(row.whole.mean_tardiness_min, r.answer.bounds->tardiness_min);
    }
    if (r.answer.sized) policy.gpus_needed = needed_words(r, row);
    page.policies.push_back(std::move(policy));
  }
  // The cards speak of the last policy named: by default what smartmig itself would do.
  const HistoryRow &first = r.answer.rows.front(), &last = r.answer.rows.back();
  page.cards = {{"energy", fmt::format("{:+.1f}", 100 * energy_change(r, last)), "%",
                 fmt::format("{:.1f} kWh; {}: {:.1f}", last.whole.energy_kwh, first.label, first.whole.energy_kwh)},
                {"mean delay", fmt::format("{:.1f}", last.whole.mean_tardiness_min), "min",
                 fmt::format("{}: {:.1f}", first.label, first.whole.mean_tardiness_min)},
                {"mean wait", fmt::format("{:.1f}", last.whole.mean_wait_min), "min",
                 fmt::format("{}: {:.1f}", first.label, first.whole.mean_wait_min)}};
  if (r.answer.sized)
    page.cards.push_back(
        {"GPUs needed", needed_words(r, last), "", fmt::format("{}: {}", first.label, needed_words(r, first))});
  if (page.policies.back().energy_gap)
    page.cards.push_back({"from the proven bound", fmt::format("{:.1f}", 100 * *page.policies.back().energy_gap), "%",
                          "energy at most so far above the least possible"});
  for (Card& card : page.cards) card.label += " (" + last.label + ")";
  return page;
}

}  // namespace smartmig::cli
