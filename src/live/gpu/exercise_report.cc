#include "live/gpu/exercise_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace smartmig {

const char* name_of(ExerciseCheck::What what) {
  static const char* const names[] = {"geometry", "use", "seconds", "watts", "reshape", "restore"};
  return names[what];
}

void ExerciseReport::check(ExerciseCheck::What what, std::string subject, bool agrees, std::string_view words) {
  checks.push_back({what, std::move(subject), agrees, agrees ? "" : without_names(words)});
}

int ExerciseReport::disagreements() const {
  return int(std::count_if(checks.begin(), checks.end(), [](const ExerciseCheck& c) { return !c.agrees; }));
}

double median_or_zero(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string without_names(std::string_view sentence) {
  static const std::regex uuid("(GPU|MIG)-[0-9A-Za-z-]+(/[0-9]+)*"), process("pid [0-9]+( \\([^)]*\\))?"),
      path("(^|[ '\"(=])/[^ ;:,'\")]+");
  std::string out = std::regex_replace(std::string(sentence), uuid, "$1-?");
  out = std::regex_replace(out, process, "a process");
  return std::regex_replace(out, path, "$1PATH");
}

Json to_json(const ExerciseReport& report) {
  const auto watts = [](const std::optional<double>& w) { return w ? Json(*w) : Json(); };
  Json profiles = Json::array(), differences = Json::array(), agreed = Json::object();
  for (const ExerciseProfile& p : report.profiles)
    profiles.push_back({{"profile", p.name},
                        {"placements", p.placements},
                        {"worked", p.worked},
                        {"sms", p.sms},
                        {"table_sms", p.table_sms},
                        {"memory_mib", p.memory_mib},
                        {"table_memory_mib", p.table_memory_mib},
                        {"create_s", p.create_s},
                        {"table_create_s", p.table_create_s},
                        {"destroy_s", p.destroy_s},
                        {"table_destroy_s", p.table_destroy_s},
                        {"power_w", watts(p.watts)},
                        {"table_power_w", p.table_watts}});
  for (int what = 0; what <= ExerciseCheck::kRestore; ++what) agreed[name_of(ExerciseCheck::What(what))] = 0;
  for (const ExerciseCheck& c : report.checks)
    if (c.agrees)
      agreed[name_of(c.what)] = agreed[name_of(c.what)].get<int>() + 1;
    else
      differences.push_back({{"about", name_of(c.what)}, {"of", c.subject}, {"words", c.words}});
  return {{"smartmig_exercise", 1},
          {"version", report.version},
          {"model", report.model},
          {"product", report.product},
          {"driver", report.driver},
          {"driver_version", report.driver_version},
          {"power_table", report.power_table},
          {"power_table_rough", report.rough_watts},
          {"idle_power_w", watts(report.idle_watts)},
          {"table_idle_power_w", report.table_idle_watts},
          {"profiles", std::move(profiles)},
          {"layouts", report.layouts},
          {"layouts_reached", report.layouts_reached},
          {"beside", report.beside},
          {"beside_changes", report.beside_changes},
          {"finished", report.finished},
          {"restored", report.restored},
          {"agreed", std::move(agreed)},
          {"differences", std::move(differences)}};
}

std::string to_text(const ExerciseReport& report) {
  std::string out = fmt::format("{:<16} {:>10}  {:>16}  {:>16}  {:>14}\n", "profile", "placements", "create s (table)",
                                "destroy s (table)", "W (table)");
  for (const ExerciseProfile& p : report.profiles) {
    const auto pair = [](double seen, double table, int digits) {
      return fmt::format("{:.{}f} ({:.{}f})", seen, digits, table, digits);
    };
    out +=
        fmt::format("{:<16} {:>10}  {:>16}  {:>17}  {:>14}\n", p.name, fmt::format("{} of {}", p.worked, p.placements),
                    p.create_s.empty() ? "-" : pair(median_or_zero(p.create_s), p.table_create_s, 2),
                    p.destroy_s.empty() ? "-" : pair(median_or_zero(p.destroy_s), p.table_destroy_s, 2),
                    p.watts ? pair(*p.watts, p.table_watts, 0) : "-");
  }
  out += fmt::format("\n{} of {} full layouts reached", report.layouts_reached, report.layouts);
  if (report.idle_watts)
    out += fmt::format("; idle {:.0f} W (table {:.0f})", *report.idle_watts, report.table_idle_watts);
  if (!report.beside.empty())
    out += fmt::format("; {} reshapes beside {} in use", report.beside_changes, report.beside);
  out += "\n";
  for (const ExerciseCheck& c : report.checks)
    if (!c.agrees) out += fmt::format("differs: {}, {}: {}\n", name_of(c.what), c.subject, c.words);
  const int different = report.disagreements();
  out += fmt::format("{} of {} checks agree with the tables{}{}.\n", int(report.checks.size()) - different,
                     report.checks.size(), report.finished ? "" : "; the exercise was not finished",
                     report.restored ? "; the GPU is as it was" : "; the GPU is NOT as it was");
  return out;
}

}  // namespace smartmig
