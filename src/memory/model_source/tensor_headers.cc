#include <cmath>
#include <map>

#include "base/json.h"
#include "memory/cuda_program/elf_file.h"
#include "memory/model_source/model_file.h"

namespace smartmig {
namespace {

constexpr std::uint64_t kMostHeader = 100u << 20;  // the limit of the format's own library
constexpr double kMostParameters = 1e13;

std::string precision_of_tensors(const std::map<std::string, double>& by_type) {
  std::string most;
  double count = 0;
  for (const auto& [type, n] : by_type)
    if (n > count) most = type, count = n;
  static const std::map<std::string, std::string> words = {{"F32", "fp32"},    {"F16", "fp16"}, {"BF16", "bf16"},
                                                           {"I8", "int8"},     {"U8", "int8"},  {"F8_E4M3", "int8"},
                                                           {"F8_E5M2", "int8"}};
  const auto at = words.find(most);
  return at == words.end() ? "" : at->second;
}

// Reads the values of a .gguf header, one after another. A value that is cut off ends the reading.
class GgufReader {
 public:
  explicit GgufReader(std::string_view bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  template <class T>
  T integer() {
    const auto value = integer_at<T>(bytes_, at_);
    good_ = good_ && value.has_value();
    at_ += sizeof(T);
    return value.value_or(0);
  }
  std::string_view text() {
    const auto length = integer<std::uint64_t>();
    if (!good_ || length > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    const std::string_view out = bytes_.substr(std::size_t(at_), std::size_t(length));
    at_ += length;
    return out;
  }
  void skip(std::uint64_t length) {
    if (!good_ || length > bytes_.size() - at_)
      good_ = false;
    else
      at_ += length;
  }

 private:
  std::string_view bytes_;
  std::uint64_t at_ = 0;
  bool good_ = true;
};

enum GgufType : std::uint32_t { kText = 8, kList = 9 };
std::uint64_t width_of(std::uint32_t type) {
  static constexpr std::uint64_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(widths) ? widths[type] : 0;
}

}  // namespace

Result<ModelFile> read_safetensors(const std::string& name, std::string_view bytes) {
  const auto length = integer_at<std::uint64_t>(bytes, 0);
  if (!length || *length < 2 || *length > kMostHeader || *length > bytes.size() - 8)
    return invalid("{} is not a safetensors file, or its header is cut off", name);
  SMARTMIG_TRY(const Json json, parse_json(name, bytes.substr(8, std::size_t(*length))));
  if (!json.is_object()) return invalid("{}: the header of a safetensors file is a JSON object", name);
  ModelFile out;
  out.model.name = name.substr(name.rfind('/') + 1);
  std::map<std::string, double> by_type;
  for (const auto& [tensor, about] : json.items()) {
    if (tensor == "__metadata__") continue;
    if (!about.is_object() || !about.contains("shape") || !about["shape"].is_array() || !about.contains("dtype") ||
        !about["dtype"].is_string())
      return invalid("{}: tensor {} has no dtype and shape", name, json_text(tensor.substr(0, 80)));
    double count = 1;
    for (const Json& side : about["shape"]) {
      if (!side.is_number_unsigned())
        return invalid("{}: the shape of tensor {} has an invalid size", name, json_text(tensor.substr(0, 80)));
      count *= double(side.get<std::uint64_t>());
    }
    out.model.params += count;
    by_type[about["dtype"].get<std::string>()] += count;
    if (!(out.model.params <= kMostParameters)) return invalid("{}: more parameters than any model has", name);
  }
  if (out.model.params < 1) return invalid("{}: it has no tensors", name);
  out.precision = precision_of_tensors(by_type);
  return out;
}

Result<ModelFile> read_gguf(const std::string& name, std::string_view bytes, double file_bytes) {
  const auto damaged = [&] { return invalid("{}: its GGUF header is cut off or damaged", name); };
  if (!bytes.starts_with("GGUF")) return invalid("{} is not a GGUF file", name);
  GgufReader in(bytes.substr(4));
  const auto version = in.integer<std::uint32_t>();
  if (version < 2 || version > 3) return invalid("{}: GGUF version must be 2 or 3, not {}", name, version);
  const auto tensors = in.integer<std::uint64_t>(), pairs = in.integer<std::uint64_t>();
  std::map<std::string, std::uint64_t> numbers;
  std::string architecture;
  std::uint64_t vocabulary = 0;
  for (std::uint64_t i = 0; i < pairs && in.good(); ++i) {
    const std::string key(in.text());
    const auto type = in.integer<std::uint32_t>();
    if (type == kText) {
      const auto value = in.text();
      if (key == "general.architecture") architecture = std::string(value.substr(0, 80));
    } else if (type == kList) {
      const auto element = in.integer<std::uint32_t>();
      const auto count = in.integer<std::uint64_t>();
      if (key == "tokenizer.ggml.tokens") vocabulary = count;
      if (element == kText)
        for (std::uint64_t k = 0; k < count && in.good(); ++k) in.text();
      else if (const std::uint64_t width = width_of(element); width == 0 || count > bytes.size())
        return damaged();
      else
        in.skip(width * count);
    } else {
      const std::uint64_t width = width_of(type);
      if (width == 0) return damaged();
      if (width == 4)
        numbers[key] = in.integer<std::uint32_t>();
      else if (width == 8)
        numbers[key] = in.integer<std::uint64_t>();
      else
        in.skip(width);
    }
  }
  ModelFile out;
  for (std::uint64_t i = 0; i < tensors && in.good(); ++i) {
    in.text();
    const auto sides = in.integer<std::uint32_t>();
    if (sides > 8) return damaged();
    double count = 1;
    for (std::uint32_t s = 0; s < sides; ++s) count *= double(in.integer<std::uint64_t>());
    in.skip(12);
    out.model.params += count;
  }
  if (!in.good() || architecture.empty()) return damaged();
  const auto size = [&](const char* what) -> Result<int> {
    const auto at = numbers.find(architecture + "." + what);
    if (at == numbers.end()) return 0;
    if (at->second > 100'000'000) return damaged();
    return int(at->second);
  };
  NeuralModel& m = out.model;
  m.name = name.substr(name.rfind('/') + 1);
  SMARTMIG_TRY(m.layers, size("block_count"));
  SMARTMIG_TRY(m.hidden, size("embedding_length"));
  SMARTMIG_TRY(m.heads, size("attention.head_count"));
  SMARTMIG_TRY(m.kv_heads, size("attention.head_count_kv"));
  SMARTMIG_TRY(m.usual_context, size("context_length"));
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  m.vocabulary = vocabulary <= 100'000'000 ? int(vocabulary) : 0;
  if (m.layers == 0 || m.hidden == 0 || m.heads == 0 || m.kv_heads > m.heads || m.heads > m.hidden)
    return invalid("{}: its GGUF header has no valid layers, sizes and heads", name);
  if (!(m.params >= 1 && m.params <= kMostParameters)) return invalid("{}: it has no valid tensors", name);
  m.weight_bytes = file_bytes;
  return out;
}

}  // namespace smartmig
