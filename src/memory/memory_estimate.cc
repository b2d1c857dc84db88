#include "memory/memory_estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace smartmig {
namespace {

struct Named {
  const char* name;
  int value;
};
constexpr Named kOptimisers[] = {{"sgd", int(Optimiser::kSgd)},
                                 {"momentum", int(Optimiser::kMomentum)},
                                 {"adam", int(Optimiser::kAdam)},
                                 {"adamw", int(Optimiser::kAdamW)},
                                 {"adam-8bit", int(Optimiser::kAdam8bit)},
                                 {"adafactor", int(Optimiser::kAdafactor)}};
constexpr Named kPrecisions[] = {{"fp32", int(Precision::kFp32)},
                                 {"fp16", int(Precision::kFp16)},
                                 {"bf16", int(Precision::kBf16)},
                                 {"int8", int(Precision::kInt8)},
                                 {"int4", int(Precision::kInt4)}};

Result<int> look_up(std::span<const Named> table, const char* what, std::string_view name) {
  std::vector<std::string> names;
  for (const Named& row : table) {
    if (lower(name) == row.name) return row.value;
    names.emplace_back(row.name);
  }
  return invalid("{} '{}' is not known: {}", what, name, fmt::join(names, ", "));
}

double bytes_per_weight(Precision p) {
  switch (p) {
    case Precision::kFp32:
      return 4;
    case Precision::kFp16:
    case Precision::kBf16:
      return 2;
    case Precision::kInt8:
      return 1;
    case Precision::kInt4:
      return 0.5 + 2.0 / 64;  // a 16-bit scale for every 64 weights
  }
  return 4;
}

Result<Ok> check(const MemoryQuestion& q) {
  const auto amount = [](double v, double least, double most) { return v >= least && v <= most; };
  if (!amount(q.model.params, 1, 1e13)) return invalid("parameters must be 1 to 1e13, not {:g}", q.model.params);
  if (!amount(q.model.weight_bytes, 0, 1e15))
    return invalid("weights of {:g} bytes are not possible", q.model.weight_bytes);
  if (!amount(q.batch, 1, 1e6)) return invalid("the batch must be 1 to 1e6 samples, not {:g}", q.batch);
  if (!amount(q.accumulate, 1, q.batch))
    return invalid("{:g} micro-batches of a batch of {:g}: 1 to the batch are possible", q.accumulate, q.batch);
  if (!amount(q.context, 0, 1e7)) return invalid("the context must be at most 1e7 tokens, not {:g}", q.context);
  if (!amount(q.overhead_mib, 0, 1e6)) return invalid("overhead {:g} MiB is not possible", q.overhead_mib);
  const bool transformer = q.model.layers > 0 || q.model.hidden > 0;
  if (transformer && (!amount(q.model.layers, 1, 10000) || !amount(q.model.hidden, 1, 1e6) ||
                      !amount(q.model.heads, 1, q.model.hidden) || !amount(q.model.kv_heads, 1, q.model.heads)))
    return invalid(
        "a transformer needs layers, hidden size, heads and at most as many kv-heads: {}, {}, {}, {} are given",
        q.model.layers, q.model.hidden, q.model.heads, q.model.kv_heads);
  if (transformer && q.context == 0 && q.model.usual_context == 0)
    return invalid("give the context length (tokens per sample)");
  if (q.training && (q.precision == Precision::kInt8 || q.precision == Precision::kInt4))
    return invalid("there is no estimate for training in {}; {} weights are for inference", name_of(q.precision),
                   name_of(q.precision));
  return Ok{};
}

}  // namespace

std::span<const NeuralModel> model_presets() {
  // Sizes of the published checkpoints; see docs/memory.md.
  static const std::vector<NeuralModel> presets = {
      {"bert-base", 110.1e6, 12, 768, 12, 12, 30522, 0, 0, 128},
      {"bert-large", 336.2e6, 24, 1024, 16, 16, 30522, 0, 0, 128},
      {"gpt2", 124.4e6, 12, 768, 12, 12, 50257, 0, 0, 1024},
      {"gpt2-medium", 354.8e6, 24, 1024, 16, 16, 50257, 0, 0, 1024},
      {"gpt2-large", 774.0e6, 36, 1280, 20, 20, 50257, 0, 0, 1024},
      {"gpt2-xl", 1557.6e6, 48, 1600, 25, 25, 50257, 0, 0, 1024},
      {"opt-125m", 125.2e6, 12, 768, 12, 12, 50272, 0, 0, 2048},
      {"opt-1.3b", 1315.8e6, 24, 2048, 32, 32, 50272, 0, 0, 2048},
      {"opt-6.7b", 6658.5e6, 32, 4096, 32, 32, 50272, 0, 0, 2048},
      {"tinyllama-1.1b", 1100.0e6, 22, 2048, 32, 4, 32000, 0, 0, 2048},
      {"llama2-7b", 6738.4e6, 32, 4096, 32, 32, 32000, 0, 0, 4096},
      {"llama2-13b", 13015.9e6, 40, 5120, 40, 40, 32000, 0, 0, 4096},
      {"llama3-8b", 8030.3e6, 32, 4096, 32, 8, 128256, 0, 0, 8192},
      {"mistral-7b", 7241.7e6, 32, 4096, 32, 8, 32000, 0, 0, 8192},
      {"vit-b16", 86.6e6, 12, 768, 12, 12, 0, 0, 0, 197},
      {"resnet50", 25.6e6, 0, 0, 0, 0, 0, 24e6, 1e6, 0},
  };
  return presets;
}

Result<NeuralModel> find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const NeuralModel& model : model_presets()) {
    if (lower(name) == model.name) return model;
    names.push_back(model.name);
  }
  const std::string near = nearest(lower(name), names);
  return not_found(
      "unknown model '{}'{}; known models: {}; or give --params and, for a transformer, "
      "--layers, --hidden and --heads",
      name, near.empty() ? "" : " (did you mean " + near + "?)", fmt::join(names, ", "));
}

const NeuralModel* find_checkpoint(std::string_view name) {
  // Names on huggingface.co and in torchvision, without their owner.
  static constexpr std::pair<const char*, const char*> kCheckpoints[] = {
      {"bert-base-uncased", "bert-base"},
      {"bert-base-cased", "bert-base"},
      {"bert-large-uncased", "bert-large"},
      {"bert-large-cased", "bert-large"},
      {"tinyllama-1.1b-chat-v1.0", "tinyllama-1.1b"},
      {"llama-2-7b-hf", "llama2-7b"},
      {"llama-2-7b-chat-hf", "llama2-7b"},
      {"llama-2-13b-hf", "llama2-13b"},
      {"llama-2-13b-chat-hf", "llama2-13b"},
      {"meta-llama-3-8b", "llama3-8b"},
      {"meta-llama-3-8b-instruct", "llama3-8b"},
      {"llama-3.1-8b", "llama3-8b"},
      {"llama-3.1-8b-instruct", "llama3-8b"},
      {"mistral-7b-v0.1", "mistral-7b"},
      {"mistral-7b-instruct-v0.1", "mistral-7b"},
      {"vit-base-patch16-224", "vit-b16"},
      {"vit_b_16", "vit-b16"},
      {"vit_base_patch16_224", "vit-b16"},
      {"resnet-50", "resnet50"},
  };
  const std::string plain = lower(name.substr(name.rfind('/') + 1));
  std::string_view preset = plain;
  for (const auto& [checkpoint, model] : kCheckpoints)
    if (plain == checkpoint) preset = model;
  for (const NeuralModel& model : model_presets())
    if (model.name == preset) return &model;
  return nullptr;
}

Result<Optimiser> parse_optimiser(std::string_view name) {
  SMARTMIG_TRY(const int value, look_up(kOptimisers, "optimiser", name == "8-bit-adam" ? "adam-8bit" : name));
  return Optimiser(value);
}
Result<Precision> parse_precision(std::string_view name) {
  SMARTMIG_TRY(const int value, look_up(kPrecisions, "precision", name == "mixed" ? "bf16" : name));
  return Precision(value);
}
const char* name_of(Optimiser optimiser) { return kOptimisers[int(optimiser)].name; }
const char* name_of(Precision precision) { return kPrecisions[int(precision)].name; }

Result<MemoryParts> estimate_memory(const MemoryQuestion& q) {
  SMARTMIG_RETURN_IF_ERROR(check(q));
  const NeuralModel& m = q.model;
  const bool mixed = q.training && q.precision != Precision::kFp32;
  const double wide = q.precision == Precision::kFp32 ? 2 : 1;  // activations against 16 bit
  const double context = q.context > 0 ? q.context : m.usual_context, micro = std::ceil(q.batch / q.accumulate);
  const double tokens = micro * context;
  MemoryParts parts;
  parts.weights = m.params * (mixed ? 2 + 4 : bytes_per_weight(q.precision));
  if (!q.training && m.weight_bytes > 0) parts.weights = m.weight_bytes;
  if (q.training) {
    parts.gradients = m.params * (mixed ? 2 : 4);
    switch (q.optimiser) {
      case Optimiser::kSgd:
        break;
      case Optimiser::kMomentum:
        parts.optimiser = 4 * m.params;
        break;
      case Optimiser::kAdam:
      case Optimiser::kAdamW:
        parts.optimiser = 8 * m.params;
        break;
      case Optimiser::kAdam8bit:
        parts.optimiser = 2 * m.params;
        break;
      case Optimiser::kAdafactor:  // a row and a column for every h x h matrix; without momentum
        parts.optimiser = 4 * m.params * 2 / std::max(m.hidden, 64);
        break;
    }
    if (m.layers > 0) {
      const double layer = wide * (34 * tokens * m.hidden + (q.plain_attention ? 5.0 * m.heads * context * tokens : 0));
      parts.activations = q.checkpointing ? wide * 2 * tokens * m.hidden * m.layers + layer : layer * m.layers;
      parts.logits = tokens * m.vocabulary * (mixed ? 2 + 4 + 4 : 12);
    }
    parts.activations += m.activations * micro * 2 * wide * (q.checkpointing && m.activations > 0 ? 0.5 : 1);
  } else {
    const double kept = q.precision == Precision::kFp32 ? 4 : 2;
    if (m.layers > 0) {
      const double head = double(m.hidden) / m.heads;
      if (m.vocabulary > 0) parts.kv_cache = 2 * m.layers * m.kv_heads * head * q.batch * context * kept;
      // One layer at a time: the residual stream, its normalised copy, queries, keys and values, and the wide inner
      // layer.
      parts.activations = q.batch * context * m.hidden * kept * (2 + 3 + 4);
      if (q.plain_attention) parts.activations += q.batch * m.heads * context * context * kept;
      parts.logits = q.batch * m.vocabulary * 4;
    }
    parts.activations += m.transient * q.batch * kept;
  }
  parts.slack = q.slack * parts.total();
  parts.overhead = q.overhead_mib * 1048576;
  return parts;
}

}  // namespace smartmig
