#include "cli/model_lookup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "memory/cuda_program/elf_file.h"

namespace smartmig::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostConfig = 4u << 20, kMostSafetensors = 100u << 20, kMostGguf = 64u << 20, kMostFiles = 1000;

Result<ModelFile> read_safetensors_file(const std::string& path) {
  SMARTMIG_TRY(const std::string length, read_start(path, 8));
  const std::uint64_t header = integer_at<std::uint64_t>(length, 0).value_or(0);
  SMARTMIG_TRY(const std::string bytes,
               read_start(path, std::size_t(std::min<std::uint64_t>(header, kMostSafetensors)) + 8));
  return read_safetensors(path, bytes);
}

Result<ModelFile> read_gguf_file(const std::string& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) return io_error("{}: {}", path, failed.message());
  SMARTMIG_TRY(const std::string bytes, read_start(path, kMostGguf));
  return read_gguf(path, bytes, double(size));
}

std::vector<std::string> files_with(const std::string& directory, std::string_view ending) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end && out.size() < kMostFiles;
       at.increment(failed))
    if (at->path().string().ends_with(ending) && at->is_regular_file(failed)) out.push_back(at->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

bool exists_file(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}
bool exists_directory(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

}  // namespace

Result<std::string> read_start(const std::string& path, std::size_t most) {
  if (!exists_file(path)) return not_found("cannot read {}", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error("cannot open {}", path);
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  std::string bytes(std::size_t(std::min<std::uint64_t>(failed ? 0 : size, most)), '\0');
  file.read(bytes.data(), std::streamsize(bytes.size()));
  bytes.resize(std::size_t(std::max<std::streamsize>(0, file.gcount())));
  return bytes;
}

bool holds_model(const std::string& path) {
  if (!files_with(path, ".safetensors").empty()) return true;
  const auto config = read_start(path + "/config.json", kMostConfig);
  return config && config->find("\"model_type\"") != std::string::npos;
}

Result<FoundModel> read_model_directory(const std::string& path) {
  const std::string config = path + "/config.json";
  std::optional<ModelFile> tensors;
  const auto weights = files_with(path, ".safetensors");
  for (const std::string& file : weights) {
    SMARTMIG_TRY(const ModelFile one, read_safetensors_file(file));
    if (!tensors)
      tensors = one;
    else
      tensors->model.params += one.model.params;
  }
  const std::string counted = weights.size() == 1 ? weights[0].substr(weights[0].rfind('/') + 1)
                                                  : fmt::format("{} .safetensors files", weights.size());
  if (exists_file(config)) {
    SMARTMIG_TRY(const std::string text, read_start(config, kMostConfig));
    auto read = read_hf_config(config, text);
    if (read && tensors) return FoundModel{joined(*read, *tensors), fmt::format("{} and {}", config, counted)};
    if (read) return FoundModel{*read, config};
    if (!tensors) return read.error();
  }
  if (tensors) return FoundModel{*tensors, fmt::format("{}/{}", path, counted)};
  return not_found("{} contains neither a config.json nor .safetensors files", path);
}

Result<FoundModel> read_model_path(const std::string& path) {
  if (exists_directory(path)) return read_model_directory(path);
  if (path.ends_with(".safetensors")) {
    SMARTMIG_TRY(const ModelFile file, read_safetensors_file(path));
    return FoundModel{file, path};
  }
  if (path.ends_with(".gguf")) {
    SMARTMIG_TRY(const ModelFile file, read_gguf_file(path));
    return FoundModel{file, path};
  }
  SMARTMIG_TRY(const std::string text, read_start(path, kMostConfig));
  SMARTMIG_TRY(const ModelFile file, read_hf_config(path, text));
  return FoundModel{file, path};
}

LookupPlace lookup_place(const std::string& directory, const std::vector<std::string>& environment) {
  const auto value = [&](std::string_view name) -> std::string {
    for (const std::string& entry : environment)
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        return entry.substr(name.size() + 1);
    return "";
  };
  LookupPlace out{directory, value("HF_HUB_CACHE")};
  if (const std::string home = value("HF_HOME"); out.hub.empty() && !home.empty()) out.hub = home + "/hub";
  if (const std::string home = value("HOME"); out.hub.empty() && !home.empty())
    out.hub = home + "/.cache/huggingface/hub";
  return out;
}

Result<FoundModel> find_model_named(const std::string& name, const LookupPlace& place) {
  if (name.empty() || name.size() > 1000 || name.find('\0') != name.npos) return invalid("name a model");
  const std::string path = name[0] == '/' ? name : place.directory + "/" + name;
  if (exists_directory(path) || exists_file(path)) return read_model_path(path);
  if (const NeuralModel* known = find_checkpoint(name))
    return FoundModel{{*known, "", {}}, "known model " + known->name};
  if (!place.hub.empty() && name.find("..") == name.npos) {
    std::string folder = "models--";
    for (const char c : name) folder += c == '/' ? std::string("--") : std::string(1, c);
    const std::string base = place.hub + "/" + folder;
    if (const auto revision = read_start(base + "/refs/main", 100))
      if (const std::string snapshot = base + "/snapshots/" + std::string(trim(*revision)); exists_directory(snapshot))
        return read_model_directory(snapshot);
  }
  return not_found(
      "unknown model '{}': it is neither a directory or file in {}, nor in the Hugging Face cache, nor in smartmig estimate --list",
      name, place.directory);
}

}  // namespace smartmig::cli
