#include "base/json.h"
#include "memory/model_source/model_file.h"

namespace smartmig {
namespace {

// How an architecture counts its parameters.
struct Architecture {
  const char* type;        // model_type
  bool gated;              // the inner layer has three matrices, else two
  bool learned_positions;  // a vector for each position
  bool tied;               // the output layer reuses the input embedding unless the file says otherwise
  int usual_inner;         // inner size / hidden size if the file has none; 0: the file must have it
};
// As the modules in huggingface/transformers define them.
constexpr Architecture kArchitectures[] = {
    {"llama", true, false, false, 0},  {"mistral", true, false, false, 0},    {"mixtral", true, false, false, 0},
    {"qwen2", true, false, false, 0},  {"qwen3", true, false, false, 0},      {"gemma", true, false, true, 0},
    {"gemma2", true, false, true, 0},  {"phi3", true, false, false, 0},       {"gpt2", false, true, true, 4},
    {"gpt_neo", false, true, true, 4}, {"gpt_neox", false, false, false, 4},  {"opt", false, true, true, 4},
    {"bloom", false, false, true, 4},  {"gptj", false, false, false, 4},      {"gpt_bigcode", false, true, true, 4},
    {"phi", false, false, false, 4},   {"falcon", false, false, true, 4},     {"bert", false, true, true, 4},
    {"roberta", false, true, true, 4}, {"xlm-roberta", false, true, true, 4}, {"distilbert", false, true, true, 4},
    {"electra", false, true, true, 4}, {"camembert", false, true, true, 4},   {"vit", false, true, true, 4},
    {"deit", false, true, true, 4},
};

class ConfigReader {
 public:
  ConfigReader(JsonObject object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}
  // The first of these names that the file has; 0: none.
  Result<int> size(std::initializer_list<const char*> names) const {
    for (const char* key : names)
      if (object_.has(key)) {
        SMARTMIG_TRY(const std::int64_t value, object_.integer(key, 1, 100'000'000));
        return int(value);
      }
    return 0;
  }
  Result<int> needed(const char* what, std::initializer_list<const char*> names) const {
    SMARTMIG_TRY(const int value, size(names));
    if (value == 0)
      return invalid("{}: {} is missing ({}); give it to smartmig estimate, or give --mem", name_, what,
                     *names.begin());
    return value;
  }
  const JsonObject& object() const { return object_; }

 private:
  JsonObject object_;
  std::string name_;
};

std::string precision_word(const std::string& dtype) {
  if (dtype == "float32") return "fp32";
  if (dtype == "float16") return "fp16";
  if (dtype == "bfloat16") return "bf16";
  return "";
}

}  // namespace

Result<ModelFile> read_hf_config(const std::string& name, std::string_view text) {
  if (text.size() > (4u << 20)) return invalid("{}: a model's configuration of more than 4 MiB is not read", name);
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(JsonObject object, JsonObject::open(json, name, ""));
  const ConfigReader in(std::move(object), name);
  if (!in.object().has("model_type"))
    return invalid("{} is not a Hugging Face configuration: it has no model_type", name);
  SMARTMIG_TRY(const std::string type, in.object().text("model_type"));
  const Architecture* architecture = nullptr;
  for (const Architecture& one : kArchitectures)
    if (type == one.type) architecture = &one;
  if (!architecture)
    return invalid(
        "{}: unknown number of parameters for a model of type '{}'; give --mem, or use smartmig "
        "estimate --params",
        name, type);

  ModelFile out;
  NeuralModel& m = out.model;
  m.name = type;
  SMARTMIG_TRY(m.hidden, in.needed("the hidden size", {"hidden_size", "n_embd", "d_model", "dim"}));
  SMARTMIG_TRY(m.layers, in.needed("the number of layers", {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}));
  SMARTMIG_TRY(m.heads, in.needed("the number of heads", {"num_attention_heads", "n_head", "num_heads", "n_heads"}));
  SMARTMIG_TRY(m.kv_heads, in.size({"num_key_value_heads", "num_kv_heads"}));
  if (type == "gpt_bigcode" || type == "falcon") {
    SMARTMIG_TRY(const bool one_head, in.object().yes_or_no("multi_query", type == "gpt_bigcode"));
    if (one_head && m.kv_heads == 0) m.kv_heads = 1;
  }
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  const bool vision = type == "vit" || type == "deit";
  if (m.heads > m.hidden || m.kv_heads > m.heads || m.layers > 10'000 || m.hidden > 1'000'000)
    return invalid("{}: hidden size {}, {} heads, {} kv-heads and {} layers cannot be", name, m.hidden, m.heads,
                   m.kv_heads, m.layers);
  SMARTMIG_TRY(m.usual_context, in.size({"max_position_embeddings", "n_positions", "n_ctx", "seq_length"}));
  SMARTMIG_TRY(int inner, in.size({"intermediate_size", "n_inner", "ffn_dim", "hidden_dim", "ffn_hidden_size"}));
  if (inner == 0 && architecture->usual_inner == 0)
    return invalid("{}: the inner size is missing (intermediate_size)", name);
  if (inner == 0) {
    inner = m.hidden * architecture->usual_inner;
    out.assumed.push_back(fmt::format("an inner size of {} x {}", architecture->usual_inner, m.hidden));
  }
  SMARTMIG_TRY(int head_size, in.size({"head_dim"}));
  if (head_size == 0) head_size = m.hidden / m.heads;
  SMARTMIG_TRY(const int experts, in.size({"num_local_experts"}));
  int positions = m.usual_context;
  if (vision) {
    SMARTMIG_TRY(const int image, in.size({"image_size"}));
    SMARTMIG_TRY(const int patch, in.size({"patch_size"}));
    if (image == 0 || patch == 0 || patch > image || image > 20'000)
      return invalid("{}: image_size and patch_size are needed", name);
    m.usual_context = positions = (image / patch) * (image / patch) + 1;
  } else {
    SMARTMIG_TRY(m.vocabulary, in.needed("the vocabulary", {"vocab_size"}));
  }
  const double h = m.hidden, query = double(m.heads) * head_size, keys = 2.0 * m.kv_heads * head_size;
  const double attention = h * query + query * h + h * keys;
  const double inner_layer = (architecture->gated ? 3.0 : 2.0) * h * inner * std::max(1, experts);
  const double vectors = architecture->gated ? 2 * h : 9 * h + inner;  // vectors: norms and biases
  SMARTMIG_TRY(const bool tied, in.object().yes_or_no("tie_word_embeddings", architecture->tied));
  m.params = double(m.layers) * (attention + inner_layer + vectors) + double(m.vocabulary) * h * (tied ? 1 : 2);
  if (architecture->learned_positions) m.params += double(positions) * h;
  SMARTMIG_TRY(const std::string dtype, in.object().text("torch_dtype", "-"));
  SMARTMIG_TRY(const std::string newer, in.object().text("dtype", dtype));
  out.precision = precision_word(newer);
  return out;
}

ModelFile joined(const ModelFile& config, const ModelFile& tensors) {
  ModelFile out = config;
  out.model.params = tensors.model.params;
  if (out.precision.empty()) out.precision = tensors.precision;
  return out;
}

}  // namespace smartmig
