// GPU memory of a training or inference job from what its owner knows: the model, optimiser, precision, batch, context.
// docs/memory.md has the formulas and their sources. An estimate, not a promise. A framework reserves additional
// memory: `overhead` (CUDA context, an assumption) and `slack` (fragments of the caching allocator, an assumption).
// Pure. Units: bytes unless a name says otherwise.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

struct NeuralModel {
  std::string name;
  double params = 0;
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0;  // 0: not a transformer
  int vocabulary = 0;                                   // output positions of a language model; 0: no such head
  double activations = 0;                               // convolutional: values kept per sample for the backward pass
  double transient = 0;                                 // convolutional: values alive at once per sample without one
  int usual_context = 0;
  double weight_bytes = 0;  // of a file whose weights have their own formats, for inference; 0: by the precision
};
std::span<const NeuralModel> model_presets();
Result<NeuralModel> find_model(std::string_view name);  // the error lists similar names
// Finds the model of a published checkpoint, such as google-bert/bert-base-uncased; nullptr: unknown.
const NeuralModel* find_checkpoint(std::string_view name);

enum class Optimiser : std::uint8_t { kSgd, kMomentum, kAdam, kAdamW, kAdam8bit, kAdafactor };
enum class Precision : std::uint8_t { kFp32, kFp16, kBf16, kInt8, kInt4 };
Result<Optimiser> parse_optimiser(std::string_view name);
Result<Precision> parse_precision(std::string_view name);  // "mixed" is bf16
const char* name_of(Optimiser optimiser);
const char* name_of(Precision precision);

struct MemoryQuestion {
  NeuralModel model;
  bool training = true;
  Optimiser optimiser = Optimiser::kAdamW;
  Precision precision = Precision::kBf16;  // training in 16 bit is mixed: 32-bit master weights
  double batch = 1;                        // samples of one step
  double accumulate = 1;                   // micro-batches of a step: activations are those of batch / accumulate
  double context = 0;                      // tokens per sample; 0: the model's default
  bool checkpointing = false;              // activations recomputed layer by layer
  bool plain_attention = false;            // stores attention scores, instead of using a fused kernel
  double overhead_mib = 512;
  double slack = 0.05;  // as a share of all but the overhead
};

struct MemoryParts {
  double weights = 0, gradients = 0, optimiser = 0, activations = 0, kv_cache = 0, logits = 0, slack = 0, overhead = 0;
  double total() const { return weights + gradients + optimiser + activations + kv_cache + logits + slack + overhead; }
  double total_mib() const { return total() / 1048576; }
};
// kInvalid says what is missing or impossible.
Result<MemoryParts> estimate_memory(const MemoryQuestion& question);

}  // namespace smartmig
