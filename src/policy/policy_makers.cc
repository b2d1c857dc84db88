#include "policy/policy_makers.h"

#include "base/check.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/text.h"
#include "policy/layouts/layout_file.h"
#include "policy/layouts/repartitioners.h"
#include "policy/net/meanfield.h"
#include "policy/planner/batch.h"
#include "policy/planner/best.h"
#include "policy/planner/list_planner.h"
#include "policy/planner/market_layouts.h"
#include "policy/planner/migm.h"

namespace smartmig {
namespace {

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  for (std::string_view item : split(text, ',')) items.emplace_back(trim(item));
  return items;
}

bool is_path(std::string_view layouts) { return layouts.find('/') != layouts.npos || layouts.ends_with(".json"); }

Result<MadeLayouts> from_layout_file(const LayoutFile& file, const Platform& platform) {
  SMARTMIG_TRY(auto day, shapes_for_fleet(file, file.day, platform));
  if (!file.twice) return MadeLayouts{std::make_unique<FixedShapes>(std::move(day)), file.seeds};
  SMARTMIG_TRY(auto night, shapes_for_fleet(file, file.night, platform));
  return MadeLayouts{std::make_unique<TwiceDaily>(
                         TwiceDaily::Schedule{std::move(day), std::move(night), file.day_begin, file.night_begin}),
                     file.seeds};
}

Result<LayoutFile> load_layouts(const PolicyRequest& request, const std::string& shipped) {
  if (request.options.layouts.empty()) return parse_layout_file(shipped, embedded_file(shipped));
  if (!is_path(request.options.layouts))
    return invalid("the policy '{}' takes --layouts FILE, as written by smartmig search", request.name);
  SMARTMIG_TRY(const std::string text, read_file(request.options.layouts));
  return parse_layout_file(request.options.layouts, text);
}

Result<WeightFile> load_weights(const PolicyRequest& request) {
  const char* const shipped = request.cost.free() ? "policies/market.json" : "policies/market-hardware.json";
  if (request.options.weights.empty()) return parse_weight_file(shipped, embedded_file(shipped));
  SMARTMIG_TRY(const std::string text, read_file(request.options.weights));
  return parse_weight_file(request.options.weights, text);
}

MarketOptions market_options(const WeightFile& file, const PolicyOptions& options) {
  MarketOptions out;
  out.weights = options.market_weights ? *options.market_weights : file.weights;
  out.w = options.rule.w;
  return out;
}

}  // namespace

JobWeights shipped_job_weights() {
  static const JobWeights weights = [] {
    const char* const shipped = "policies/market.json";
    const auto file = parse_weight_file(shipped, embedded_file(shipped));
    SMARTMIG_CHECK(bool(file), "{}", file.error().what);
    return file->weights;
  }();
  return weights;
}

Result<MadeLayouts> make_whole_gpus(const PolicyRequest& request) {
  return MadeLayouts{std::make_unique<FixedShapes>(whole_gpus(request.platform)), {}};
}

Result<MadeLayouts> make_static_layouts(const PolicyRequest& request) {
  const std::string& given = request.options.layouts;
  if (is_path(given)) {
    SMARTMIG_TRY(const LayoutFile file, load_layouts(request, ""));
    if (file.twice) return invalid("{} contains a twice-daily partition: use the policy 'twice' or 'search'", given);
    return from_layout_file(file, request.platform);
  }
  if (given.empty()) {
    SMARTMIG_TRY(auto shapes, translated_over_fleet("a100-40gb", items_of(kPaperStaticLayouts), request.platform));
    return MadeLayouts{std::make_unique<FixedShapes>(std::move(shapes)), {}};
  }
  SMARTMIG_TRY(auto shapes, parse_shapes(request.platform, items_of(given), false));
  return MadeLayouts{std::make_unique<FixedShapes>(std::move(shapes)), {}};
}

Result<MadeLayouts> make_twice_daily(const PolicyRequest& request) {
  SMARTMIG_TRY(const LayoutFile file, load_layouts(request, "layouts/twice-8xa100-40gb-20x.json"));
  if (!file.twice)
    return invalid("{} contains a static partition: use the policy 'static' or 'search'", request.options.layouts);
  return from_layout_file(file, request.platform);
}

Result<MadeLayouts> make_searched_layouts(const PolicyRequest& request) {
  SMARTMIG_TRY(const LayoutFile file, load_layouts(request, "layouts/static-8xa100-40gb-20x.json"));
  return from_layout_file(file, request.platform);
}

Result<MadeLayouts> make_meanfield_layouts(const PolicyRequest& request) {
  const char* const shipped = request.cost.free() ? "meanfield" : "meanfield-hardware";
  SMARTMIG_TRY(auto named,
               make_meanfield(request.options.network, request.platform, request.options.rule.seed, shipped));
  return MadeLayouts{std::move(named.repartitioner), std::move(named.seeds), std::move(named.trained_for)};
}

Result<MadeLayouts> make_market_layouts(const PolicyRequest& request) {
  SMARTMIG_TRY(const WeightFile file, load_weights(request));
  return MadeLayouts{std::make_unique<MarketLayouts>(market_options(file, request.options), request.platform),
                     file.seeds};
}

Result<MadePolicy> make_planner(const PolicyRequest& request) {
  const bool patient = request.value == "patient", alone = request.value == "alone";
  if (!patient && !alone && !request.value.empty())
    return invalid("policy '{}': write 'patient' or 'alone' after the colon", request.name);
  if (!request.options.weights.empty() || request.options.market_weights)
    return invalid("policy '{}' has weights at paper costs only; leave out --weights", request.name);
  ListPlannerOptions options;
  options.w = request.options.rule.w;
  options.patient = patient;
  options.shared = !alone;
  options.arrivals = request.options.arrivals;
  return MadePolicy{std::make_unique<ListPlanner>(std::move(options)), "made for the jobs that take them", {}};
}

Result<MadePolicy> make_market(const PolicyRequest& request) {
  if (!request.value.empty())
    return invalid("policy '{}': '{}' needs --cost hardware, where stopping a job costs time", request.name,
                   request.value);
  SMARTMIG_TRY(const WeightFile file, load_weights(request));
  return MadePolicy{std::make_unique<MarketPlanner>(market_options(file, request.options)),
                    "planned with the placement at every decision",
                    request.options.market_weights ? std::vector<std::uint64_t>{} : file.seeds};
}

Result<MadePolicy> make_batch(const PolicyRequest& request) {
  double weight = 0;
  if (!request.value.empty()) {
    const auto number = parse_double(request.value);
    if (!number || !(*number >= 0 && *number <= 1))
      return invalid("policy '{}': the weight of energy must be from 0 (only time) to 1 (only joules)", request.name);
    weight = *number;
  }
  return MadePolicy{std::make_unique<BatchPolicy>(weight, request.options.effort),
                    "those on which all waiting jobs end soonest, for fewest joules",
                    {}};
}

Result<MadePolicy> make_best(const PolicyRequest& request) {
  if (request.cost.free()) return make_market(request);
  const auto arrivals = request.options.arrivals ? request.options.arrivals : std::make_shared<ArrivalAverages>();
  PolicyOptions seen = request.options;
  seen.arrivals = arrivals;
  SMARTMIG_TRY(MadePolicy planner, make_planner({request.name, seen, request.cost, request.platform, request.value}));
  const BestOptions options{request.options.effort, request.options.gather, request.value != "alone", arrivals};
  return MadePolicy{std::make_unique<BestPolicy>(std::move(planner.policy), options), std::move(planner.layouts), {}};
}

Result<MadePolicy> make_migm_a(const PolicyRequest&) {
  return MadePolicy{
      std::make_unique<Migm>(true), "the tightest slice for each job, by fusion and fission of idle ones", {}};
}
Result<MadePolicy> make_migm_b(const PolicyRequest&) {
  return MadePolicy{
      std::make_unique<Migm>(false), "the tightest slice for each job, by fusion and fission of idle ones", {}};
}

}  // namespace smartmig
