#include "memory/model_source/model_facts.h"

#include <cmath>

#include "base/text.h"

namespace smartmig {
namespace {

Result<double> amount_in(const ModelFacts& facts, const std::string& key, double fallback) {
  const ModelFact* fact = facts.find(key);
  if (!fact) return fallback;
  const auto value = parse_double(fact->value);
  if (!value || *value <= 0 || *value > 1e13)
    return invalid("{} '{}' ({}) is not a number above 0", key, fact->value, fact->from);
  return *value;
}

}  // namespace

const ModelFact* ModelFacts::find(const std::string& key) const {
  const auto at = facts_.find(key);
  return at == facts_.end() ? nullptr : &at->second;
}
std::string ModelFacts::text(const std::string& key) const {
  const ModelFact* fact = find(key);
  return fact ? fact->value : "";
}
void ModelFacts::assume(const std::string& key, std::string value, const std::string& why) {
  if (!find(key)) facts_[key] = {std::move(value), "assumed: " + why};
}
void ModelFacts::prefer(const ModelFacts& other) {
  for (const auto& [key, fact] : other.facts_) facts_[key] = fact;
}

Result<FactsEstimate> estimate_from_facts(const ModelFacts& given, const ModelFile& file,
                                          const std::string& model_from) {
  ModelFacts facts = given;
  MemoryQuestion q;
  q.model = file.model;
  facts.assume("task", "train", "the default");
  q.training = facts.text("task") == "train";
  facts.assume("batch", "1", "the default");
  if (!file.precision.empty() && !q.training) facts.assume("precision", file.precision, "as its weights are stored");
  if (q.model.weight_bytes == 0) facts.assume("precision", "bf16", "the default");
  if (q.training) facts.assume("optimizer", "adamw", "the default");
  if (q.model.layers > 0 && q.model.usual_context > 0)
    facts.assume("context", std::to_string(q.model.usual_context), "the model's usual number");

  SMARTMIG_TRY(q.batch, amount_in(facts, "batch", 1));
  SMARTMIG_TRY(q.context, amount_in(facts, "context", 0));
  if (const ModelFact* precision = facts.find("precision")) {
    SMARTMIG_TRY(q.precision, parse_precision(precision->value));
  }
  if (q.model.weight_bytes > 0) q.precision = Precision::kFp16;  // precision of its cache
  if (q.training) {
    SMARTMIG_TRY(q.optimiser, parse_optimiser(facts.text("optimizer")));
  }
  q.checkpointing = q.training && facts.text("checkpointing") == "yes";
  if (const ModelFact* vocabulary = facts.find("vocabulary")) {
    const auto size = parse_double(vocabulary->value);
    if (!size || *size < 0 || *size > 1e7) return invalid("vocabulary '{}' is not a size", vocabulary->value);
    q.model.vocabulary = int(*size);
  }
  SMARTMIG_TRY(const MemoryParts parts, estimate_memory(q));
  SMARTMIG_TRY(const double share, amount_in(facts, "utilisation", 1));
  if (share < 0.05 || share > 1) return invalid("a share of {:g} of the GPU's memory cannot be", share);

  FactsEstimate out;
  out.mib = std::ceil(parts.total_mib() * (1 + kFactsMargin) / share);
  std::string& words = out.basis;
  words = fmt::format("{}, {:.4g} M parameters ({})", q.model.name, q.model.params / 1e6, model_from);
  const auto say = [&](const char* key, const std::string& what) {
    if (const ModelFact* fact = facts.find(key)) words += fmt::format(", {} ({})", what, fact->from);
  };
  say("task", q.training ? "training" : "inference");
  say("batch", fmt::format("batch {:g}", q.batch));
  if (q.model.layers > 0) say("context", fmt::format("{:g} tokens", q.context > 0 ? q.context : q.model.usual_context));
  say("precision", name_of(q.precision));
  if (q.training) say("optimizer", name_of(q.optimiser));
  if (q.checkpointing) say("checkpointing", "activations recomputed");
  say("vocabulary",
      q.model.vocabulary == 0 ? "no output over the vocabulary" : fmt::format("{} words", q.model.vocabulary));
  if (share < 1) say("utilisation", fmt::format("{:g} of its slice used", share));
  for (const std::string& one : file.assumed) words += fmt::format(", {} (assumed)", one);
  if (q.model.layers == 0 && q.model.activations == 0) words += ", activations not counted: its layers are not known";
  words += fmt::format("; {:.0f} % spare", 100 * kFactsMargin);
  return out;
}

}  // namespace smartmig
