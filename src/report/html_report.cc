#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "report/chart_data.h"
#include "report/html_page.h"
#include "report/quote.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

std::string short_number(double value) {  // three or four significant digits
  const double size = value < 0 ? -value : value;
  return fmt::format("{:.{}f}", value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

std::string above_bound(double value, const std::optional<double>& bound, const std::string& otherwise) {
  if (!bound || !(*bound > 0)) return otherwise;
  return fmt::format("{:.1f} % over bound", 100 * (value / *bound - 1));
}

std::string cards(const Summary& s, const ReportExtras& extras) {
  const double idle = s.energy_joules > 0 ? 100 * s.idle_joules / s.energy_joules : 0;
  const bool hours = s.makespan_min >= 120;
  return html_cards({
      {"Energy", short_number(s.energy_kwh), "kWh",
       above_bound(s.energy_kwh, extras.energy_bound_kwh, fmt::format("{:.1f} % of it idle", idle))},
      {"Mean tardiness", short_number(s.mean_tardiness_min), "min",
       fmt::format("wait {} min", short_number(s.mean_wait_min))},
      {"p99 tardiness", short_number(s.p99_tardiness_min), "min",
       fmt::format("longest {} min", short_number(s.max_tardiness_min))},
      {"ET", fmt::format("{:.4g}", s.et), "", above_bound(s.et, extras.et_bound, fmt::format("a = {}", s.a))},
      {"Late jobs", fmt::format("{}", s.late_jobs), "",
       s.unfinished_jobs
           ? fmt::format("of {}; {} unfinished", s.jobs, s.unfinished_jobs)
           : fmt::format("of {}, {:.1f} %", s.jobs, s.jobs ? 100.0 * double(s.late_jobs) / double(s.jobs) : 0)},
      {"Makespan", short_number(hours ? s.makespan_min / 60 : s.makespan_min), hours ? "h" : "min",
       fmt::format("{} GPUs", s.gpus)},
      {"Utilisation", fmt::format("{:.1f}", 100 * s.utilisation), "%", "of compute slices"},
      {"Preemptions", fmt::format("{}", s.preemptions), "", fmt::format("and {} moves", s.moves)},
      {"Repartitions", fmt::format("{}", s.repartitions), "", "layout changes"},
  });
}

std::string kind_legend(const KindTable& kinds) {
  std::string out = "<div class=\"legend\">";
  for (const KindShare& share : kinds.shares)
    out += fmt::format("<span><i class=\"{}\"></i>{}</span>", kind_class(share.colour), html_escape(share.name));
  return out +
         "<span><i class=\"late\"></i>past its deadline</span><span><i class=\"free\"></i>free slice</span></div>";
}

std::string energy_table(const RunRecord& run, const KindTable& kinds) {
  struct Row {
    std::string name, colour, jobs;
    double joules;
  };
  std::vector<Row> rows{{"idle boards", "k-idle", "", run.summary.idle_joules}};
  for (const KindShare& share : kinds.shares)
    rows.push_back({share.name, kind_class(share.colour), fmt::format("{}", share.jobs), share.joules});
  double most = 0;
  for (const Row& row : rows) most = std::max(most, row.joules);
  std::string out = "<table><tr><th>where</th><th>jobs</th><th>kWh</th><th>share</th><th></th></tr>";
  for (const Row& row : rows)
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.1f} %</td><td class=\"w\"><span class=\"fill {}\" "
        "style=\"width:{:.1f}%\"></span></td></tr>",
        html_escape(row.name), row.jobs, kilowatt_hours(row.joules),
        run.summary.energy_joules > 0 ? 100 * row.joules / run.summary.energy_joules : 0, row.colour,
        most > 0 ? std::max(0.0, 100 * row.joules / most) : 0);
  return out + "</table>";
}

std::string tardiness_sections(const RunRecord& run) {
  std::vector<double> all, late;
  for (std::size_t j = 0; j < run.jobs->size(); ++j) {
    const JobState& state = run.final->states()[j];
    if (state.phase != JobPhase::kDone) continue;
    const Time t = tardiness_of(run.jobs->job(JobId(j)), state.finish);
    all.push_back(minutes(t));
    if (t > Time{0}) late.push_back(minutes(t));
  }
  std::sort(all.begin(), all.end());
  std::sort(late.begin(), late.end());
  if (late.empty())
    return html_section(
        "Tardiness",
        all.empty() ? "No job finished." : fmt::format("All {} finished jobs met their deadline.", all.size()), "");
  return html_section("How late the late jobs were",
                      fmt::format("{} of {} finished jobs missed their deadline", late.size(), all.size()),
                      histogram_svg(late, "tardiness (min)", "jobs")) +
         html_section("Tardiness of all jobs",
                      fmt::format("{:.1f} % of jobs were on time",
                                  100.0 * double(all.size() - late.size()) / double(all.size())),
                      cdf_svg(all, "tardiness at most (min)", "share of jobs (%)"));
}

// What makes this run again; empty for a journal of a daemon.
std::string command_of(const RunRecord& run) {
  const std::string policy = run.config_value("policy"), workload = run.config_value("workload");
  if (policy.empty() || workload.empty()) return {};
  return fmt::format("smartmig sim -w {} --gpus {} --policy '{}' --cost {}", workload, run.platform->spec(), policy,
                     run.cost.name());
}

}  // namespace

std::string html_report(const RunRecord& run, const Timeline& line, const ReportExtras& extras) {
  const KindTable kinds = kind_table(run);
  const ChartData data = chart_data(run, line, kinds);
  const std::string policy = run.config_value("policy");
  const std::string title = policy.empty() ? "smartmig run" : "smartmig run: " + policy;
  std::vector<std::pair<std::string, std::string>> facts = {{"workload", run.jobs->workload().source},
                                                            {"GPUs", run.platform->spec()}};
  for (const Platform::Model& model : run.platform->models()) {
    const std::string name = model.power.name() + (model.power.rough() ? ", rough" : "");
    facts.emplace_back("power",
                       run.platform->models().size() > 1 ? fmt::format("{} ({})", name, model.gpu->name()) : name);
  }
  facts.emplace_back("costs", run.cost.reshape
                                  ? fmt::format("{}, {} s a reshape", run.cost.name(), seconds_text(*run.cost.reshape))
                                  : run.cost.name());
  for (const auto& [key, value] : run.config)
    if ((key == "layouts" || key == "seed") && !value.empty()) facts.emplace_back(key, value);

  std::string body = fmt::format("<h1>{}</h1>\n", html_escape(title)) + html_facts(facts) + cards(run.summary, extras);
  std::string note =
      "One band per GPU, one row per memory slice. Drag to move, Ctrl and wheel or the buttons to zoom, point at a bar "
      "for its job.";
  if (data.gpus_drawn == 0)
    note =
        "There are too many jobs to draw them here; trace.json has them all. Drag to move, Ctrl "
        "and wheel or the buttons to zoom.";
  else if (data.gpus_drawn < run.platform->gpus())
    note += fmt::format(" Slices are drawn for the first {} of {} GPUs; power and queue are for all GPUs.",
                        data.gpus_drawn, run.platform->gpus());
  if (line.fleet.size() > kMaxSteps)
    note += fmt::format(" Power and queue are means over {} equal intervals.", kMaxSteps);
  body += fmt::format(
      "<section class=\"card-box\"><div class=\"tools\"><button id=\"in\">Zoom in</button><button id=\"out\">Zoom out</button><button "
      "id=\"all\">Whole run</button></div>"
      "<h2>Slices, power and queue over time</h2><p class=\"note\">{}</p>{}<div id=\"chart\"><canvas tabindex=\"0\" "
      "role=\"img\" "
      "aria-label=\"Jobs on slices, fleet power and waiting jobs over time\"></canvas><div "
      "id=\"tip\" class=\"tip\" hidden></div></div></section>\n",
      html_escape(note), kind_legend(kinds));
  body += "<div class=\"two\">" + tardiness_sections(run) + "</div>\n";
  body +=
      html_section("Where the energy went", "Idle is what the boards draw when nothing runs; the jobs share the rest.",
                   energy_table(run, kinds));
  body += html_footer(
      fmt::format("{} · workload {:016x} · {} events", run.version, hash_of(run.jobs->workload()), run.summary.events),
      command_of(run));
  body += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>", data.json);
  return html_page(title, body, "words.js draw.js report.js save.js");
}

std::string replay_page(const ReplayPage& page) {
  SMARTMIG_CHECK(!page.worlds.empty() && page.worlds.size() <= 2, "{} worlds", page.worlds.size());
  const RunRecord& first = *page.worlds[0].run;
  std::string data = "[", names;
  bool all = true;
  for (const ReplayWorld& world : page.worlds) {
    const ChartData chart = chart_data(*world.run, timeline_of(*world.run), kind_table(*world.run));
    all = all && chart.gpus_drawn == world.run->platform->gpus();
    data += fmt::format("{}{{\"name\":{},\"data\":{}}}", data.size() > 1 ? "," : "", json_text(world.name), chart.json);
    names += (names.empty() ? "" : " and ") + world.name;
  }
  std::string body =
      fmt::format("<h1>{}</h1>\n", html_escape(page.title)) +
      html_facts({{"workload", first.jobs->workload().source}, {"GPUs", first.platform->spec()}, {"under", names}});
  if (!all) body += "<p class=\"note\">Jobs are drawn for the first GPUs only; power and queue are for all.</p>\n";
  if (!page.note.empty()) body += fmt::format("<p class=\"note\">{}</p>\n", html_escape(page.note));
  body +=
      "<section class=\"card-box replay\"><div class=\"tools\"><button id=\"play\" aria-pressed=\"false\">Play</button>"
      "<label>Speed <select id=\"speed\"></select></label><button id=\"part\" hidden>Where they part</button>"
      "<button id=\"full\">Full screen</button><output id=\"clock\"></output></div>\n"
      "<div id=\"worlds\" class=\"worlds\"></div>\n"
      "<div id=\"chart\"><canvas id=\"score\" tabindex=\"0\" role=\"slider\" aria-label=\"Instant\"></canvas></div>\n"
      "<ul class=\"legend\" id=\"legend\" aria-label=\"Colours\"></ul>\n"
      "<p class=\"note\">Keys: space plays and pauses, the arrows step, Page Up and Page Down jump to the reshape before "
      "and after, Home and End go to the edges, P leads to where the two part, F fills the screen.</p></section>\n";
  body += html_footer(page.version, page.command);
  body += fmt::format("<script type=\"application/json\" id=\"data\">{}]</script>", data);
  return html_page(page.title, body, "words.js draw.js colours.js replay.js");
}

}  // namespace smartmig
