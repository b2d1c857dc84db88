#include "policy/registry.h"

#include "base/embedded.h"
#include "base/text.h"
#include "policy/batch.h"
#include "policy/fast_cedf.h"
#include "policy/layout_file.h"
#include "policy/meanfield.h"
#include "policy/migm.h"
#include "policy/planner_layouts.h"
#include "policy/repartitioners.h"

namespace smartmig {
namespace {

constexpr const char* kPaperStatic = "1,1,2,3,3,5,5,10";

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> items;
  for (std::string_view item : split(text, ',')) items.emplace_back(trim(item));
  return items;
}

std::string in_words(const Platform& platform, const std::vector<Shape>& shapes) {
  std::string out;
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    std::size_t last = g;
    while (last + 1 < shapes.size() && shapes[last + 1] == shapes[g] &&
           platform.model_index(GpuId(last + 1)) == platform.model_index(GpuId(g)))
      ++last;
    if (!out.empty()) out += ", ";
    if (last > g) out += fmt::format("{}x ", last - g + 1);
    out += to_string(*platform.model(GpuId(g)).gpu, shapes[g]);
    g = last;
  }
  return out;
}

struct Half {
  std::unique_ptr<Repartitioner> repartitioner;
  std::vector<std::uint64_t> seeds;
};

Result<Half> from_file(const LayoutFile& file, const Platform& platform) {
  SMARTMIG_TRY(auto day, parse_shapes(platform, file.day, true));
  if (!file.twice) return Half{std::make_unique<FixedShapes>(std::move(day)), file.seeds};
  SMARTMIG_TRY(auto night, parse_shapes(platform, file.night, true));
  return Half{std::make_unique<TwiceDaily>(
                  TwiceDaily::Schedule{std::move(day), std::move(night), file.day_begin, file.night_begin}),
              file.seeds};
}

Result<LayoutFile> load_layouts(const std::string& path) {
  SMARTMIG_TRY(const std::string text, read_file(path));
  return parse_layout_file(path, text);
}

Result<WeightFile> planner_weights(const PolicyOptions& options, const CostModel& cost) {
  const char* const shipped = cost.free() ? "policies/planner.json" : "policies/planner-hardware.json";
  if (options.layouts.empty()) return parse_weight_file(shipped, embedded_file(shipped));
  SMARTMIG_TRY(const std::string text, read_file(options.layouts));
  return parse_weight_file(options.layouts, text);
}
PlannerOptions planner_options(const WeightFile& file, const PolicyOptions& options) {
  PlannerOptions out;
  out.weights = options.planner_weights ? *options.planner_weights : file.weights;
  out.w = options.rule.w;
  return out;
}

bool is_path(std::string_view layouts) { return layouts.find('/') != layouts.npos || layouts.ends_with(".json"); }

Result<Half> make_repartitioner(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform) {
  if (name == "none") {
    if (!options.layouts.empty())
      return invalid("the policy 'none' leaves every GPU whole: drop --layouts, or use static");
    return Half{std::make_unique<FixedShapes>(whole_gpus(platform)), {}};
  }
  if (name == "planner") {
    SMARTMIG_TRY(const WeightFile file, planner_weights(options, cost));
    return Half{std::make_unique<PlannerLayouts>(planner_options(file, options), platform), file.seeds};
  }
  if (name == "meanfield") {
    SMARTMIG_TRY(auto named, make_meanfield(options.layouts, platform, options.rule.seed));
    return Half{std::move(named.repartitioner), std::move(named.seeds)};
  }
  if (name != "static" && name != "twice" && name != "search") {
    const std::string near = nearest(name, repartitioner_names());
    return invalid("repartitioner '{}' is not known{}; there are {}", name,
                   near.empty() ? "" : " (did you mean " + near + "?)", fmt::join(repartitioner_names(), ", "));
  }
  if (is_path(options.layouts)) {
    SMARTMIG_TRY(const LayoutFile file, load_layouts(options.layouts));
    if (name == "static" && file.twice)
      return invalid("{} holds a twice-daily partition: use the policy 'twice' or 'search'", options.layouts);
    if (name == "twice" && !file.twice)
      return invalid("{} holds a static partition: use the policy 'static' or 'search'", options.layouts);
    return from_file(file, platform);
  }
  if (name == "static") {
    const bool paper = options.layouts.empty();
    SMARTMIG_TRY(auto shapes, parse_shapes(platform, list_of(paper ? kPaperStatic : options.layouts), paper));
    return Half{std::make_unique<FixedShapes>(std::move(shapes)), {}};
  }
  if (!options.layouts.empty())
    return invalid("the policy '{}' takes --layouts FILE, as written by smartmig search", name);
  const std::string shipped =
      name == "twice" ? "layouts/twice-8xa100-40gb-20x.json" : "layouts/static-8xa100-40gb-20x.json";
  SMARTMIG_TRY(const LayoutFile file, parse_layout_file(shipped, embedded_file(shipped)));
  return from_file(file, platform);
}

}  // namespace

Result<std::unique_ptr<Placer>> make_placer(std::string_view name, const PolicyOptions& options,
                                            const CostModel& cost) {
  const RuleOptions& rule = options.rule;
  const auto plain = [](std::unique_ptr<PlacingRule> r) -> std::unique_ptr<Placer> {
    return std::make_unique<PlainPlacer>(std::move(r));
  };
  if (name == "cedf") return cost.free() && !options.plain ? std::make_unique<FastCedf>() : plain(make_cedf_rule());
  if (name == "edf") return plain(make_edf_rule());
  if (name == "met") return plain(make_met_rule(rule.a));
  if (name == "met-w") return plain(make_met_rule(rule.w));
  if (name == "random") return plain(make_random_rule(rule.seed));
  if (name == "fifo") return plain(make_fifo_rule());
  if (name == "dedicated") return plain(make_dedicated_rule(rule.inference_gpus));
  for (const bool laxity : {false, true})
    for (const bool fastest : {false, true})
      if (name == fmt::format("{}-{}", laxity ? "llf" : "edf", fastest ? "fast" : "slow"))
        return plain(make_single_rule(laxity, fastest));
  const std::string near = nearest(name, placer_names());
  return invalid("placer '{}' is not known{}; there are {}", name, near.empty() ? "" : " (did you mean " + near + "?)",
                 fmt::join(placer_names(), ", "));
}

std::vector<std::string> repartitioner_names() { return {"none", "static", "twice", "search", "meanfield", "planner"}; }
std::vector<std::string> placer_names() {
  return {"edf", "met", "met-w", "cedf", "random", "fifo", "dedicated", "edf-fast", "edf-slow", "llf-fast", "llf-slow"};
}

Result<std::vector<Shape>> parse_shapes(const Platform& platform, const std::vector<std::string>& shapes, bool cyclic) {
  if (!cyclic && shapes.size() != 1 && shapes.size() != platform.gpus())
    return invalid("{} layouts are given for {} GPUs: give one per GPU, or one for all", shapes.size(),
                   platform.gpus());
  std::vector<Shape> out;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    SMARTMIG_TRY(const Shape shape, parse_shape(*platform.model(GpuId(g)).gpu, shapes[g % shapes.size()]));
    out.push_back(shape);
  }
  return out;
}

Result<NamedPolicy> make_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform) {
  const auto plus = name.find('+');
  if (name == "planner") {
    SMARTMIG_TRY(const WeightFile file, planner_weights(options, cost));
    NamedPolicy named;
    named.name = "planner";
    named.initial = whole_gpus(platform);
    named.layouts = "planned with the placement at every decision";
    if (!options.planner_weights) named.training_seeds = file.seeds;
    named.policy = std::make_unique<Planner>(planner_options(file, options));
    return named;
  }
  if (name == "batch" || name.starts_with("batch:")) {
    double weight = 0;
    if (name != "batch") {
      const auto number = parse_double(name.substr(6));
      if (!number || !(*number >= 0 && *number <= 1))
        return invalid("policy '{}': the weight of energy is a number from 0 (time alone) to 1 (joules alone)", name);
      weight = *number;
    }
    if (cost.free()) return invalid("policy '{}' plans with the times of a real GPU: add --cost hardware", name);
    if (!options.layouts.empty()) return invalid("policy '{}' chooses layouts itself: drop --layouts", name);
    NamedPolicy named;
    named.name = std::string(name);
    named.initial = whole_gpus(platform);
    named.layouts = "those on which all waiting jobs end soonest, for fewest joules";
    named.policy = std::make_unique<BatchPolicy>(weight);
    return named;
  }
  if (name == "migm-a" || name == "migm-b") {
    if (cost.free())
      return invalid("policy '{}' repartitions idle slices of a real GPU, in its time: add --cost hardware", name);
    if (!options.layouts.empty())
      return invalid("policy '{}' starts from whole GPUs and repartitions them itself: drop --layouts", name);
    NamedPolicy named;
    named.name = std::string(name);
    named.initial = whole_gpus(platform);
    named.layouts = "the tightest slice for each job, by fusion and fission of idle ones";
    named.policy = std::make_unique<Migm>(name == "migm-a");
    return named;
  }
  if (plus == name.npos)
    return invalid("policy '{}': write REPARTITIONER+PLACER, for example static+cedf, or planner", name);
  SMARTMIG_TRY(auto half, make_repartitioner(name.substr(0, plus), options, cost, platform));
  SMARTMIG_TRY(auto placer, make_placer(name.substr(plus + 1), options, cost));
  NamedPolicy named;
  named.name = std::string(name);
  named.initial = half.repartitioner->initial();
  named.layouts = in_words(platform, named.initial);
  named.training_seeds = std::move(half.seeds);
  named.policy = std::make_unique<PairPolicy>(std::move(half.repartitioner), std::move(placer));
  return named;
}

}  // namespace smartmig
