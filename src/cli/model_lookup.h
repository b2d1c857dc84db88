// Finds a named model on this machine: a directory or file as the job would open it, a known checkpoint, or an entry of
// Hugging Face's cache. Reads only the headers of regular files (config.json, .safetensors, .gguf), and never uses the
// network.
#pragma once
#include <string>
#include <vector>

#include "memory/model_source/model_file.h"

namespace smartmig::cli {

struct FoundModel {
  ModelFile file;
  std::string from;  // "./out/config.json and 2 .safetensors files", "known model gpt2"
};
struct LookupPlace {
  std::string directory;  // where the job runs
  std::string hub;        // Hugging Face's cache; empty: none
};
// `environment`: "NAME=value", of the job. HF_HUB_CACHE, HF_HOME, HOME, as Hugging Face reads them.
LookupPlace lookup_place(const std::string& directory, const std::vector<std::string>& environment);

Result<FoundModel> find_model_named(const std::string& name, const LookupPlace& place);
Result<FoundModel> read_model_directory(const std::string& path);  // config.json, weights, or both
Result<FoundModel> read_model_path(const std::string& path);       // a directory or a file
bool holds_model(const std::string& path);  // a directory with a model's configuration or weights

// The first `most` bytes of a regular file.
Result<std::string> read_start(const std::string& path, std::size_t most);

}  // namespace smartmig::cli
