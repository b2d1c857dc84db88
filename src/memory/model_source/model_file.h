// Reads a model's own files: a Hugging Face config.json, the header of a .safetensors file, the header of a .gguf file
// (llama.cpp). The input is not trusted: a reader returns a model or an error that names what is missing, and never
// believes a size. It states its assumptions. Formats: huggingface.co/docs/safetensors,
// github.com/ggml-org/ggml/blob/master/docs/gguf.md. Pure: bytes in, a model out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/memory_estimate.h"

namespace smartmig {

struct ModelFile {
  NeuralModel model;
  std::string precision;             // of its weights: "fp32", "bf16", ...; empty: not given
  std::vector<std::string> assumed;  // in words
};
// Counts parameters from the sizes by the architecture's formula. Refuses unknown architectures.
Result<ModelFile> read_hf_config(const std::string& name, std::string_view text);
// Sums parameters over the tensors; layers and sizes are not in the file. `bytes`: the start of the file, at least its
// first 8 bytes and as many more as those announce.
Result<ModelFile> read_safetensors(const std::string& name, std::string_view bytes);
// Reads parameters and sizes; `file_bytes` is what the weights take. `bytes`: the start of the file.
Result<ModelFile> read_gguf(const std::string& name, std::string_view bytes, double file_bytes);

// Joins the sizes of `config` with the exact number of parameters of `tensors`.
ModelFile joined(const ModelFile& config, const ModelFile& tensors);

}  // namespace smartmig
