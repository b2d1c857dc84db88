// What a model's own files say of it: a Hugging Face config.json, the header of a .safetensors file, the header of a
// .gguf file (llama.cpp). Files of others: a reader answers every input with a model or an error that names what is
// missing, and never believes a size. What had to be assumed is said. Formats: huggingface.co/docs/safetensors,
// github.com/ggml-org/ggml/blob/master/docs/gguf.md. Pure: bytes in, a model out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/memory_estimate.h"

namespace smartmig {

struct ModelFile {
  NeuralModel model;
  std::string precision;             // its weights': "fp32", "bf16", ...; empty: not said
  std::vector<std::string> assumed;  // in words
};
// Parameters are counted from the sizes by the architecture's formula; unknown architectures are refused.
Result<ModelFile> read_hf_config(const std::string& name, std::string_view text);
// Parameters are the sum over tensors; layers and sizes are not in it. `bytes`: the start of the file, at the least its
// 8 bytes and as many more as those say.
Result<ModelFile> read_safetensors(const std::string& name, std::string_view bytes);
// Parameters and sizes; `file_bytes` is what its weights take. `bytes`: the start of the file.
Result<ModelFile> read_gguf(const std::string& name, std::string_view bytes, double file_bytes);

// The sizes of `config` with the exact number of parameters of `tensors`.
ModelFile joined(const ModelFile& config, const ModelFile& tensors);

}  // namespace smartmig
