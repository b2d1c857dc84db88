#include "report/replay_page.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/chart_data.h"
#include "report/html_page.h"
#include "report/quote.h"

namespace smartmig {

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
