// smartmig geometry: the GPU models, what fits on one, what can still be reached around running jobs, how to get there.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/gpus/geometry_sections.h"
#include "cli/verbs.h"
#include "mig/catalog.h"
#include "mig/shape.h"

namespace smartmig::cli {
namespace {

struct Options {
  std::string model, busy, from, to;
  std::int64_t mem_mib = 0, min_slices = 0;
  bool json = false, all_profiles = false;
};

// A layout with starts, or a shape: then the layout of that shape that keeps most of what runs and of what is there.
Result<Layout> layout_or_shape(const GpuModel& model, std::string_view text, Layout current, Layout busy) {
  if (text.find('@') != text.npos || text == "empty") return parse_layout(model, text);
  SMARTMIG_TRY(const Shape shape, parse_shape(model, text));
  const auto placed = ShapeTable(model, model.all_profiles()).realise(shape, current, busy);
  SMARTMIG_CHECK(placed, "{} was accepted but has no layout on {}", text, model.name());
  return *placed;
}

}  // namespace

int run_geometry(const Arguments& arguments) {
  Options o;
  Command command(
      "geometry", "[MODEL]",
      "Shows the profiles and layouts of a GPU model, the layouts that remain possible around running jobs, and the steps from one layout to another. Without MODEL, it lists all known models. Write a layout as 4g@0+2g@4+1g@6. --from and --to also accept a shape such as 4g+2g+1g or a paper's layout number; smartmig then chooses the placement that keeps most running slices.",
      "smartmig geometry a100-40gb --from 4g@0+3g@4 --to 3g+2g+2g --busy 3g@4");
  command.flag("--json", o.json, "print JSON")
      .flag("--all-profiles", o.all_profiles, "include media and graphics profiles")
      .option("--busy", o.busy, "LAYOUT", "show the layouts that remain possible around these busy instances")
      .option("--mem", o.mem_mib, "MIB", "choose the smallest profile with at least MIB of memory")
      .option("--min-slices", o.min_slices, "N", "choose the smallest profile with at least N compute slices")
      .option("--from", o.from, "LAYOUT", "list the operations that lead from this layout ...")
      .option("--to", o.to, "LAYOUT", "... to this one, and how long they take")
      .positional(o.model, false);
  if (const auto end = command.ends(arguments)) return *end;

  GeometryOutput out;
  if (o.model.empty()) {
    if (!o.busy.empty() || !o.from.empty() || !o.to.empty() || o.mem_mib != 0 || o.min_slices != 0)
      return usage_error(invalid("name a GPU model too, for example: smartmig geometry a100-40gb --busy 2g@4"));
    list_models(out);
  } else {
    const auto found = Catalog::builtin().find(o.model);
    if (!found) return usage_error(found.error());
    const GpuModel& model = **found;
    out.json["model"] = model.name();
    constexpr std::int64_t kMost = 1'000'000'000;
    if (o.mem_mib < 0 || o.mem_mib > kMost)
      return usage_error(invalid("--mem must be 1 to {1} MiB, not {0}", o.mem_mib, kMost));
    if (o.min_slices < 0 || o.min_slices > kMost)
      return usage_error(invalid("--min-slices must be a number of compute slices, not {}", o.min_slices));
    if (o.from.empty() != o.to.empty()) return usage_error(invalid("give both --from and --to"));
    Layout busy;
    if (!o.busy.empty()) {
      const auto layout = parse_layout(model, o.busy);
      if (!layout) return usage_error({layout.error().code, "--busy: " + layout.error().what});
      busy = *layout;
    }
    const bool moving = !o.from.empty(), choosing = o.mem_mib > 0 || o.min_slices > 0;
    if (moving) {
      const auto from = layout_or_shape(model, o.from, busy, busy);
      if (!from) return usage_error({from.error().code, "--from: " + from.error().what});
      if (!from->contains(busy))
        return usage_error(
            invalid("--busy {} is not contained in --from {}", to_string(model, busy), to_string(model, *from)));
      const auto to = layout_or_shape(model, o.to, *from, busy);
      if (!to) return usage_error({to.error().code, "--to: " + to.error().what});
      if (const auto shown = show_move(model, *from, *to, busy, out); !shown) return failure(shown.error());
    } else if (!o.busy.empty()) {
      show_busy(model, busy, out);
    }
    if (choosing) {
      if (const auto shown = show_choice(model, int(o.mem_mib), int(o.min_slices), out); !shown)
        return failure(shown.error());
    }
    if (!moving && !choosing && o.busy.empty()) {
      list_profiles(model, o.all_profiles ? model.all_profiles() : model.schedulable_profiles(), out);
      show_layouts(model, o.all_profiles ? model.all_profiles() : model.plain_profiles(), out);
    }
  }
  fmt::print("{}", o.json ? json_dump(out.json, 2) + "\n" : out.text);
  return 0;
}

}  // namespace smartmig::cli
