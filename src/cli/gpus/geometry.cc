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
  Command command("geometry", "[MODEL]",
                  "Shows what can be made of a MIG GPU: profiles, layouts, what stays reachable around running jobs, "
                  "how to get from one\n"
                  "layout to another. Without MODEL: all known models. A layout is written 4g@0+2g@4+1g@6; where "
                  "starts may be left out\n"
                  "(--from, --to), 4g+2g+1g or a paper's layout number is placed so that it keeps most of what runs.",
                  "smartmig geometry a100-40gb --from 4g@0+3g@4 --to 3g+2g+2g --busy 3g@4");
  command.flag("--json", o.json, "print JSON")
      .flag("--all-profiles", o.all_profiles, "show media and graphics profiles too, and draw layouts with them")
      .option("--busy", o.busy, "LAYOUT", "instances that run jobs: what stays reachable around them")
      .option("--mem", o.mem_mib, "MIB", "choose the smallest profile with this much memory")
      .option("--min-slices", o.min_slices, "N", "choose the smallest profile with at least N compute slices")
      .option("--from", o.from, "LAYOUT", "list the operations from this layout ...")
      .option("--to", o.to, "LAYOUT", "... to this one, with seconds")
      .positional(o.model, false);
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;

  GeometryOutput out;
  if (o.model.empty()) {
    if (!o.busy.empty() || !o.from.empty() || !o.to.empty() || o.mem_mib != 0 || o.min_slices != 0)
      return usage_error(invalid("name the GPU model too, for example: smartmig geometry a100-40gb --busy 2g@4"));
    list_models(out);
  } else {
    const auto found = Catalog::builtin().find(o.model);
    if (!found) return usage_error(found.error());
    const GpuModel& model = **found;
    out.json["model"] = model.name();
    constexpr std::int64_t kMost = 1'000'000'000;
    if (o.mem_mib < 0 || o.mem_mib > kMost)
      return usage_error(invalid("--mem {}: MiB from 1 to {} are possible", o.mem_mib, kMost));
    if (o.min_slices < 0 || o.min_slices > kMost)
      return usage_error(invalid("--min-slices {}: a number of compute slices is needed", o.min_slices));
    if (o.from.empty() != o.to.empty()) return usage_error(invalid("--from and --to go together"));
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
            invalid("--busy {}: not all of it is in --from {}", to_string(model, busy), to_string(model, *from)));
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
