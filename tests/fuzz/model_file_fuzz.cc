// A model's files and command lines: the first byte chooses the reader. Never crashes; what is read can be estimated or
// is refused in words.
#include <string>

#include "base/check.h"
#include "fuzz/target.h"
#include "memory/model_source/model_facts.h"

SMARTMIG_FUZZ_TARGET(model_file) {
  using namespace smartmig;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 3) {
    const ModelFacts facts = read_script_facts(text);
    if (facts.empty()) return 0;
    const auto estimate = estimate_from_facts(facts, {model_presets()[0], "", {}}, "known model");
    SMARTMIG_CHECK(estimate ? estimate->mib >= 0 && !estimate->basis.empty() : !estimate.error().what.empty(), "words");
    return 0;
  }
  const auto file = data[0] % 4 == 0   ? read_hf_config("fuzz", text)
                    : data[0] % 4 == 1 ? read_safetensors("fuzz", text)
                                       : read_gguf("fuzz", text, double(size));
  if (!file) {
    SMARTMIG_CHECK(!file.error().what.empty(), "an error without words");
    return 0;
  }
  SMARTMIG_CHECK(file->model.params >= 1 && file->model.params <= 1e19, "{} parameters", file->model.params);
  const auto estimate = estimate_from_facts({}, *file, "fuzz");
  SMARTMIG_CHECK(estimate ? estimate->mib > 0 : !estimate.error().what.empty(), "words");
  return 0;
}
