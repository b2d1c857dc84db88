#include "sim/trace_kinds.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {
namespace {

// Model names that start so may stand for each other, nearest first.
struct Relatives {
  std::string_view prefix;
  std::vector<std::string_view> models;
};
const std::vector<Relatives>& relatives() {
  static const std::vector<Relatives> table = {
      {"resnet", {"resnet50", "resnet"}},
      {"vgg", {"vgg16", "resnet50", "resnet"}},
      {"alexnet", {"vgg16", "resnet50", "resnet"}},
      {"inception", {"inceptionv3", "resnet50", "resnet"}},
      {"densenet", {"densenet121", "resnet50", "resnet"}},
      {"mobilenet", {"mobilenetv2", "mobilenet"}},
      {"bert", {"bert"}},
      {"gpt", {"llm", "transformer", "bert"}},
      {"llm", {"llm", "transformer", "bert"}},
      {"transformer", {"transformer", "bert"}},
      {"deepspeech", {"deepspeech2"}},
  };
  return table;
}

std::vector<SpeedTable::Row> rows_on(std::string_view gpu) {
  std::vector<SpeedTable::Row> rows;
  for (const SpeedTable::Row& row : SpeedTable::builtin().rows())
    if (row.gpu == gpu && !split_kind(row.kind).phase.empty()) rows.push_back(row);
  return rows;
}

// "train:transformer_train32" is model transformer, phase train, batch 32; "train" is a phase alone.
KindName name_in_trace(std::string_view job_kind) {
  std::string text = lower(trim(job_kind));
  KindName name;
  for (const char* phase : {"train", "infer"}) {
    if (text == phase) return {"", phase, ""};
    if (text.starts_with(std::string(phase) + ":")) {
      name.phase = phase;
      text.erase(0, 6);
    }
    if (const auto at = text.find(std::string("_") + phase); at != text.npos) {
      if (name.phase.empty()) name.phase = phase;
      name.batch = text.substr(at + 6);
      text.erase(at);
    }
  }
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '_' || c == '-'; }), text.end());
  name.model = text;
  return name;
}

}  // namespace

KindPicker::KindPicker(std::string gpu)
    : wanted_gpu_(std::move(gpu)), gpu_(wanted_gpu_.empty() ? "a100-40gb" : wanted_gpu_) {
  auto rows = rows_on(gpu_);
  if (rows.empty()) rows = rows_on(gpu_ = "a100-40gb");
  for (const SpeedTable::Row& row : rows) {
    if (!curves_.empty() && curves_.back().kind == row.kind) continue;
    curves_.push_back(curve_of(row.kind, gpu_));
    names_.push_back(split_kind(row.kind));
    measured_.push_back(!std::string_view(row.source).starts_with("paper"));
  }
}

std::vector<int> KindPicker::of(std::string_view model, std::string_view phase, bool measured) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < curves_.size(); ++i)
    if ((model.empty() || names_[i].model == model) && (phase.empty() || names_[i].phase == phase) &&
        measured_[i] == measured)
      found.push_back(int(i));
  return found;
}

KindPicker::Candidates KindPicker::candidates(std::string_view job_kind) const {
  for (std::size_t i = 0; i < curves_.size(); ++i)
    if (curves_[i].kind == job_kind) return {{int(i)}, true};
  const KindName name = name_in_trace(job_kind);
  std::vector<std::string_view> models;
  if (!name.model.empty()) models.push_back(name.model);
  for (const Relatives& entry : relatives())
    if (std::string_view(name.model).starts_with(entry.prefix))
      models.insert(models.end(), entry.models.begin(), entry.models.end());

  std::vector<int> found;
  const auto look = [&](std::string_view phase, bool measured) {
    for (const std::string_view model : models)
      if (found.empty()) found = of(model, phase, measured);
  };
  look(name.phase, true);
  look(name.phase, false);
  look("", true);
  if (found.empty()) {
    found = of("", name.phase, true);
    if (found.empty()) found = of("", "", true);
    return {found, false};
  }
  std::vector<int> same_batch;
  for (const int i : found)
    if (!name.batch.empty() && names_[std::size_t(i)].batch == name.batch) same_batch.push_back(i);
  return {same_batch.empty() ? found : same_batch, true};
}

KindPicker::Choice KindPicker::pick(std::string_view job_kind, std::uint64_t hash) {
  auto found = cache_.find(job_kind);
  if (found == cache_.end()) found = cache_.emplace(std::string(job_kind), candidates(job_kind)).first;
  const Candidates& choices = found->second;
  return {choices.curves[hash % choices.curves.size()], choices.by_name};
}

}  // namespace smartmig
