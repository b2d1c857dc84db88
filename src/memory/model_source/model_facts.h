// What is known of a job's model before it runs, each fact with its origin: told to submit, read from the command line
// of a common training or serving script, read from a model's files, or assumed (a script's own default). Facts become
// a question to the estimator (memory_estimate.h) and a sentence that names every one of them, so no guess is silent.
// Pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/model_source/model_file.h"

namespace smartmig {

struct ModelFact {
  std::string value, from;  // "8", "--per_device_train_batch_size"
};

class ModelFacts {
 public:
  // Keys: model, task (train, infer), batch, context, precision, optimizer, checkpointing (yes), vocabulary,
  // utilisation (share of its slice that a server takes), layers, hidden, heads.
  const ModelFact* find(const std::string& key) const;
  std::string text(const std::string& key) const;  // empty: not known
  void set(const std::string& key, std::string value, std::string from) {
    facts_[key] = {std::move(value), std::move(from)};
  }
  void assume(const std::string& key, std::string value, const std::string& why);  // only if nothing is known
  void prefer(const ModelFacts& other);                                            // the other's facts replace ours
  bool empty() const { return facts_.empty() && refused.empty(); }

  std::string program;  // the recognised program: "Hugging Face Trainer"; empty: none
  std::string refused;  // why no estimate is possible: LoRA, several GPUs; empty: none

 private:
  std::map<std::string, ModelFact> facts_;
};

struct FactsEstimate {
  double mib = 0;     // includes the margin
  std::string basis;  // one sentence, for people
};
inline constexpr double kFactsMargin = 0.10;  // spare memory, as in `estimate`
// `model`: the one that the fact "model" names, found in its files or among the known ones.
Result<FactsEstimate> estimate_from_facts(const ModelFacts& facts, const ModelFile& model,
                                          const std::string& model_from);

// Reads the facts of a command line. Empty if it names no model in a known way.
ModelFacts read_command_facts(const std::vector<std::string>& command);
std::string script_of(const std::vector<std::string>& command);  // "train.py"; empty: none
std::string task_by_name(const std::string& script);             // train or infer, by words in the name; empty: neither
// The same for the first line of a shell script that yields facts.
ModelFacts read_script_facts(std::string_view script);

}  // namespace smartmig
