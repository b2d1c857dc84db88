#include "cli/queue/model_memory.h"

#include <algorithm>

#include "base/text.h"
#include "cli/model_lookup.h"
#include "live/gpu/memory_size.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kMostBasis = 2000;

Result<FoundModel> model_of(const ModelFacts& facts, const LookupPlace& place) {
  if (facts.find("layers") && facts.find("hidden") && facts.find("heads")) {  // a GPT by its numbers
    FoundModel out;
    NeuralModel& m = out.file.model;
    const auto size = [&](const char* key) {
      return int(std::clamp(parse_double(facts.text(key)).value_or(0), 0.0, 1e6));
    };
    m.name = facts.text("model");
    m.layers = size("layers");
    m.hidden = size("hidden");
    m.heads = m.kv_heads = size("heads");
    m.vocabulary = size("vocabulary");
    m.params = 12.0 * m.layers * m.hidden * m.hidden + double(m.vocabulary + size("context")) * m.hidden;
    out.from = facts.find("model")->from;
    return out;
  }
  return find_model_named(facts.text("model"), place);
}

}  // namespace

Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told) {
  if (spec.mem_mib) return std::string();
  ModelFacts facts = spec.script.empty() ? read_command_facts(spec.command) : read_script_facts(spec.script);
  const std::string refused = told.find("model") ? "" : facts.refused;
  facts.prefer(told);
  const LookupPlace place = lookup_place(spec.directory, spec.environment);
  Result<FoundModel> found = not_found("no model is named");
  if (facts.find("model")) {
    if (!refused.empty()) return fmt::format("no memory estimate: {}; give --mem if you know it", refused);
    found = model_of(facts, place);
    if (!found && told.find("model")) return Error{found.error().code, "--model: " + found.error().what};
    if (!found) return fmt::format("no memory estimate: {}; give --mem if you know it", found.error().what);
  } else {
    const std::string script = script_of(spec.command);
    if (script.empty() && !told.find("task")) return std::string();
    if (!holds_model(spec.directory)) {
      if (told.find("batch") || told.find("task"))
        return invalid("--batch, --task and the like need --model, or a model in {}", spec.directory);
      return std::string();
    }
    found = read_model_directory(spec.directory);
    if (!found) return fmt::format("no memory estimate: {}", found.error().what);
    if (const std::string task = task_by_name(script); !task.empty() && !told.find("task"))
      facts.set("task", task, "the name " + script);
    if (!facts.find("task"))
      return fmt::format(
          "no memory estimate: found {}, but not whether {} trains it; give --task and --batch, or "
          "--mem",
          found->from, script);
  }
  std::string from = found->from;
  if (const ModelFact* fact = facts.find("model"); fact && fact->from != from)
    from = fmt::format("{}: {}", fact->from, from);
  const auto estimate = estimate_from_facts(facts, found->file, from);
  if (!estimate && told.find("model")) return estimate.error();
  if (!estimate) return fmt::format("no memory estimate: {}", estimate.error().what);
  if (estimate->mib > kMaxMemoryMib)
    return fmt::format("no memory estimate: {:.0f} MiB is more memory than any GPU has", estimate->mib);
  spec.mem_estimate_mib = int(estimate->mib);
  spec.mem_basis = (facts.program.empty() ? "" : facts.program + ": ") + estimate->basis;
  if (spec.mem_basis.size() > kMostBasis) spec.mem_basis.resize(kMostBasis);
  for (char& c : spec.mem_basis)
    if (static_cast<unsigned char>(c) < 32) c = '?';
  return fmt::format("memory estimate: {} MiB for {}; --mem and earlier runs of the command take precedence",
                     *spec.mem_estimate_mib, spec.mem_basis);
}

}  // namespace smartmig::cli
