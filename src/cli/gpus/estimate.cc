#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/gpus/estimate_program.h"
#include "cli/model_lookup.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "memory/memory_estimate.h"
#include "mig/catalog.h"
#include "mig/choose.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// "1.3b", "350m", "7000000000"
Result<double> parse_count(std::string_view text) {
  double factor = 1;
  std::string_view digits = text;
  if (!text.empty()) {
    const char unit = lower(text.substr(text.size() - 1))[0];
    factor = unit == 'k' ? 1e3 : unit == 'm' ? 1e6 : unit == 'b' ? 1e9 : unit == 't' ? 1e12 : 1;
    if (factor != 1) digits.remove_suffix(1);
  }
  const auto number = parse_double(digits);
  if (!number || *number <= 0) return invalid("'{}' is not a number of parameters; write 1.3b or 350m", text);
  return *number * factor;
}

bool is_program(const std::string& path) {
  const auto start = read_start(path, 4);
  return start && (start->starts_with("\x7f"
                                      "ELF") ||
                   *start == "\x50\xed\x55\xba");
}

int list_presets(bool json) {
  Table table({"model", "parameters", "layers", "hidden", "heads", "kv-heads", "vocabulary", "context"});
  OrderedJson rows = OrderedJson::array();
  for (const NeuralModel& m : model_presets()) {
    const auto size = [](int n) { return n ? std::to_string(n) : std::string("-"); };
    table.add({m.name, fmt::format("{:.1f} M", m.params / 1e6), size(m.layers), size(m.hidden), size(m.heads),
               size(m.kv_heads), size(m.vocabulary), size(m.usual_context)});
    rows.push_back({{"model", m.name},
                    {"parameters", m.params},
                    {"layers", m.layers},
                    {"hidden", m.hidden},
                    {"heads", m.heads},
                    {"kv_heads", m.kv_heads},
                    {"vocabulary", m.vocabulary},
                    {"context", m.usual_context}});
  }
  fmt::print("{}", json ? json_dump(OrderedJson{{"models", rows}}, 2) + "\n" : table.text());
  return 0;
}

}  // namespace

int run_estimate(const Arguments& arguments) {
  MemoryQuestion q;
  std::string model, task = "train", precision, optimiser = "adamw", gpu = "a100-40gb";
  double params = 0, margin = 10;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, vocabulary = 0;
  bool json = false, list = false;
  Command command(
      "estimate", "[MODEL|PATH|PROGRAM]",
      "Estimates the GPU memory of a training or inference job, and names the smallest slice that is large enough. MODEL is a known model (--list), or you describe one with the options for its sizes. PATH is a model's directory, config.json, .safetensors or .gguf file. PROGRAM is a CUDA program, library or cubin, for which the result is a minimum. docs/memory.md has the formulas and sources.",
      "smartmig estimate llama3-8b --task infer --precision int8 --batch 4 --context 4096 --gpu a100-40gb");
  command.positional(model, false);
  command.option("--task", task, "WHAT", "train or infer");
  command.option("--precision", precision, "P",
                 "fp32, fp16, bf16 (mixed precision in training), int8, int4 (default: bf16)");
  command.option("--optimizer", optimiser, "O", "sgd, momentum, adam, adamw, adam-8bit, adafactor");
  command.option("--batch", q.batch, "N", "samples per step, or concurrent requests");
  command.option("--accumulate", q.accumulate, "N", "micro-batches per step");
  command.option("--context", q.context, "TOKENS", "tokens per sample; 0: the model's default");
  command.flag("--checkpointing", q.checkpointing, "the job recomputes activations to save memory");
  command.flag("--plain-attention", q.plain_attention,
               "attention without a fused kernel, so that the scores are stored");
  command.option(
      "--params",
      [&](std::string_view text) -> Result<Ok> {
        SMARTMIG_TRY(params, parse_count(text));
        return Ok{};
      },
      "N", "number of parameters, such as 1.3b or 350m");
  command.option("--layers", layers, "N", "number of transformer layers");
  command.option("--hidden", hidden, "N", "hidden size");
  command.option("--heads", heads, "N", "number of attention heads");
  command.option("--kv-heads", kv_heads, "N", "attention heads for keys and values; 0: as many as --heads");
  command.option("--vocabulary", vocabulary, "N", "size of the output vocabulary");
  command.option("--overhead-mib", q.overhead_mib, "MIB", "memory for the CUDA context and libraries (an assumption)");
  command.option("--margin", margin, "PERCENT", "spare memory of the slice in percent");
  command.option("--gpu", gpu, "MODEL", "GPU model to choose the slice from");
  command.flag("--list", list, "list the known models");
  command.flag("--json", json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  if (list) return list_presets(json);

  if (model.empty() && params == 0)
    return usage_error(invalid("name a model or give --params; smartmig estimate --list shows known models"));
  if (!(margin >= 0 && margin <= 1000)) return usage_error(invalid("--margin must be 0 to 1000, not {:g}", margin));
  const auto gpu_model = Catalog::builtin().find(gpu);
  if (!gpu_model) return usage_error(gpu_model.error());
  std::string from;
  std::error_code none;
  if (!model.empty() && !find_checkpoint(model) && std::filesystem::exists(model, none)) {
    if (is_program(model)) return estimate_program({model, margin, q.overhead_mib, json}, **gpu_model);
    const auto found = read_model_path(model);
    if (!found) return failure(found.error());
    q.model = found->file.model;
    from = found->from;
    if (task == "infer" && precision.empty()) precision = found->file.precision;
    if (q.model.weight_bytes > 0) task = "infer";
  } else if (!model.empty()) {
    if (const NeuralModel* known = find_checkpoint(model)) {
      q.model = *known;
    } else {
      return usage_error(find_model(model).error());
    }
  }
  constexpr std::int64_t kMost = 10'000'000;
  for (const std::int64_t n : {layers, hidden, heads, kv_heads, vocabulary})
    if (n < 0 || n > kMost) return usage_error(invalid("{} must be 1 to {}", n, kMost));
  if (params > 0) q.model.params = params;
  if (layers > 0) q.model.layers = int(layers);
  if (hidden > 0) q.model.hidden = int(hidden);
  if (heads > 0) q.model.heads = q.model.kv_heads = int(heads);
  if (kv_heads > 0) q.model.kv_heads = int(kv_heads);
  if (vocabulary > 0) q.model.vocabulary = int(vocabulary);
  if (task != "train" && task != "infer") return usage_error(invalid("--task must be train or infer, not '{}'", task));
  q.training = task == "train";
  const auto read_precision = parse_precision(precision.empty() ? "bf16" : precision);
  if (!read_precision) return usage_error(read_precision.error());
  q.precision = *read_precision;
  const auto read_optimiser = parse_optimiser(optimiser);
  if (!read_optimiser) return usage_error(read_optimiser.error());
  q.optimiser = *read_optimiser;
  const auto parts = estimate_memory(q);
  if (!parts) return usage_error(parts.error());

  const double needed = std::ceil(parts->total_mib() * (1 + margin / 100));
  const auto profile = needed > 2e9 ? Result<int>(invalid("{:g} MiB is more memory than any GPU has", needed))
                                    : choose_profile(**gpu_model, int(needed), 0);
  const std::pair<const char*, double> rows[] = {{"weights", parts->weights},     {"gradients", parts->gradients},
                                                 {"optimiser", parts->optimiser}, {"activations", parts->activations},
                                                 {"kv-cache", parts->kv_cache},   {"logits", parts->logits},
                                                 {"slack", parts->slack},         {"overhead", parts->overhead}};
  const auto mib = [](double bytes) { return bytes / 1048576; };
  if (json) {
    OrderedJson out{{"model", q.model.name},
                    {"task", task},
                    {"precision", name_of(q.precision)},
                    {"optimizer", q.training ? OrderedJson(name_of(q.optimiser)) : OrderedJson(nullptr)},
                    {"batch", q.batch},
                    {"context", q.context > 0 ? q.context : q.model.usual_context},
                    {"parameters", q.model.params}};
    if (!from.empty()) out["read_from"] = from;
    for (const auto& [name, bytes] : rows) out["mib"][name] = std::round(mib(bytes));
    out["total_mib"] = std::round(parts->total_mib());
    out["margin_percent"] = margin;
    out["needed_mib"] = needed;
    out["gpu"] = (*gpu_model)->name();
    out["profile"] = profile ? OrderedJson((*gpu_model)->profiles()[std::size_t(*profile)].name) : OrderedJson(nullptr);
    if (!profile) out["reason"] = profile.error().what;
    fmt::print("{}\n", json_dump(out, 2));
    return profile ? 0 : 1;
  }
  Table table({"part", "MiB"});
  for (const auto& [name, bytes] : rows)
    if (bytes > 0) table.add({name, fmt::format("{:.0f}", mib(bytes))});
  table.add({"total", fmt::format("{:.0f}", parts->total_mib())});
  fmt::print("{}", table.text());
  if (!from.empty()) fmt::print("Model of {}: {:.4g} M parameters.\n", from, q.model.params / 1e6);
  if (q.model.layers == 0 && q.model.activations == 0)
    fmt::print("This is a minimum: it does not include activations, because the model's layers are unknown.\n");
  std::fflush(stdout);
  if (!profile) return failure(profile.error());
  const Profile& slice = (*gpu_model)->profiles()[std::size_t(*profile)];
  fmt::print("With {:g} % spare: {:.0f} MiB. Smallest slice of {} that is large enough: {} ({} MiB).\n", margin, needed,
             (*gpu_model)->name(), slice.name, slice.memory_mib);
  return 0;
}

}  // namespace smartmig::cli
