#include "cli/queue/daemon_gpus.h"

#include <fmt/format.h>

#include "cli/queue/job_words.h"
#include "cli/time_words.h"

namespace smartmig::cli {

std::string daemon_gpus_text(const Json& answer, const std::string& daemon) {
  Columns boards({{"gpu", true}, {"model"}, {"state"}, {"power", true}, {"energy", true}, {"layout"}});
  Columns slices({{"slice"}, {"job", true}, {"memory", true}, {"used", true}, {"device"}});
  std::string words;
  std::size_t count = 0;
  for (const Json& gpu : list_at(answer, "gpus")) {
    const std::string number = fmt::format("{:.0f}", number_at(gpu, "index").value_or(0));
    const std::string layout = text_at(gpu, "layout"), target = text_at(gpu, "target");
    boards.add({number, text_at(gpu, "model", "?"), text_at(gpu, "state", "?"),
                fmt::format("{:.0f} W", number_at(gpu, "watts_w").value_or(0)),
                energy_words(number_at(gpu, "energy_j").value_or(0)),
                layout == target ? layout : layout + " -> " + target});
    for (const Json& slice : list_at(gpu, "slices")) {
      const std::uint64_t job = id_at(slice, "job");
      const auto used = number_at(slice, "used_mib");
      const std::string state = text_at(slice, "state", "ok");
      slices.add({number + ":" + text_at(slice, "name", "?"),
                  job             ? fmt::format("{}", job)
                  : state == "ok" ? "-"
                                  : state,
                  mib_words(number_at(slice, "memory_mib").value_or(0)), used ? mib_words(*used) : "-",
                  text_at(slice, "device", "-")});
      ++count;
    }
    if (const std::string why = text_at(gpu, "words"); !why.empty()) words += fmt::format("GPU {}: {}\n", number, why);
  }
  const std::size_t gpus = list_at(answer, "gpus").size();
  std::string out =
      fmt::format("{} GPU{} of the daemon at {}\n\n{}", gpus, gpus == 1 ? "" : "s", daemon, boards.text());
  if (count > 0) out += "\n" + slices.text();
  if (!words.empty()) out += "\n" + words;
  return out;
}

}  // namespace smartmig::cli
