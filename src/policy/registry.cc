#include "policy/registry.h"

#include "policy/layouts/repartitioners.h"

namespace smartmig {
namespace {

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

}  // namespace

Result<std::unique_ptr<Placer>> make_placer(std::string_view name, const PolicyOptions& options,
                                            const CostModel& cost) {
  SMARTMIG_TRY(const PlacerRow* row, find_placer(name));
  return row->make(options, cost);
}

Result<NamedPolicy> make_policy(std::string_view text, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform) {
  SMARTMIG_TRY(const PolicyName name, parse_policy_name(text));
  if (name.guarded) return invalid("policy '{}': guard(...) is not allowed here, only {}", text, name.text);
  return make_policy(name, options, cost, platform);
}

Result<NamedPolicy> make_policy(const PolicyName& name, const PolicyOptions& given, const CostModel& cost,
                                const Platform& platform) {
  const PolicyRow& row = *name.policy;
  if (row.only_at && *row.only_at != cost.kind)
    return invalid("policy '{}' needs --cost {}; the policy best suits all costs", name.text,
                   CostModel{*row.only_at, {}}.name());
  SMARTMIG_TRY(const PolicyOptions options, options_of(name, given));
  const PolicyRequest request{name.text, options, cost, platform, name.value};
  NamedPolicy named;
  named.name = name.full();
  if (!name.placer) {
    SMARTMIG_TRY(MadePolicy made, row.make(request));
    named.policy = std::move(made.policy);
    named.initial = whole_gpus(platform);
    named.layouts = std::move(made.layouts);
    named.training_seeds = std::move(made.training_seeds);
    return named;
  }
  SMARTMIG_TRY(MadeLayouts made, row.make_layouts(request));
  named.initial = made.repartitioner->initial();
  named.layouts = in_words(platform, named.initial);
  named.training_seeds = std::move(made.training_seeds);
  named.trained_for = std::move(made.trained_for);
  named.policy = std::make_unique<PairPolicy>(std::move(made.repartitioner), name.placer->make(options, cost));
  return named;
}

}  // namespace smartmig
