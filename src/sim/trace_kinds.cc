#include "sim/trace_kinds.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {
namespace {

// Model names with this beginning may stand for each other, nearest first.
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
      {"cyclegan", {"cyclegan"}},
      {"cifar10", {"resnet50", "resnet"}},   // training names of Pollux and Sia: ResNet-18
      {"imagenet", {"resnet50", "resnet"}},  // ... ResNet-50
      {"ncf", {"embedding"}},                // ... neural collaborative filtering
      {"recommendation", {"embedding"}},
      {"rec", {"embedding"}},
      {"genai", {"llm", "transformer", "bert"}},
  };
  return table;
}

std::vector<SpeedTable::Row> rows_on(std::string_view gpu) {
  std::vector<SpeedTable::Row> rows;
  for (const SpeedTable::Row& row : SpeedTable::builtin().rows())
    if (row.gpu == gpu && !split_kind(row.kind).phase.empty()) rows.push_back(row);
  return rows;
}

// "train:transformer_train32" and "train:Transformer (batch size 32)" are model transformer, phase train, batch 32.
// "train" alone is a phase.
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
  if (const auto at = text.find(" (batch size "); at != text.npos) {
    name.batch = text.substr(at + 13, text.find(')', at) - at - 13);
    text.erase(at);
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

std::vector<int> KindPicker::by_name(const KindName& name) const {
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
  return found;
}

KindPicker::Candidates KindPicker::candidates(std::string_view job_kind) const {
  for (std::size_t i = 0; i < curves_.size(); ++i)
    if (curves_[i].kind == job_kind) return {{int(i)}, How::kByName};
  KindName name = name_in_trace(job_kind);
  const auto named = [&]() -> std::vector<int> {
    const std::vector<int> found = by_name(name);
    std::vector<int> same_batch;
    for (const int i : found)
      if (!name.batch.empty() && names_[std::size_t(i)].batch == name.batch) same_batch.push_back(i);
    return same_batch.empty() ? found : same_batch;
  };
  if (auto found = named(); !found.empty()) return {std::move(found), How::kByName};
  if (name.phase.empty()) name.phase = phase_of_class(job_kind);
  for (const std::string& phase : {name.phase, std::string()})
    if (const auto given = defaults_.find(phase); given != defaults_.end()) return {given->second, How::kByDefault};
  if (!name.phase.empty())
    for (const bool measured : {true, false})
      if (const std::vector<int> found = of("", name.phase, measured); !found.empty()) return {found, How::kByPhase};
  name.phase.clear();
  if (auto found = named(); !found.empty()) return {std::move(found), How::kByName};
  return {of("", "", true), How::kByHash};
}

Result<Ok> KindPicker::set_default_kind(std::string_view text) {
  for (const std::string_view item : split(text, ',')) {
    const auto equals = item.find('=');
    const std::string phase = equals == item.npos ? "" : phase_of_class(trim(item.substr(0, equals)));
    const std::string kind(trim(equals == item.npos ? item : item.substr(equals + 1)));
    if (equals != item.npos && phase.empty())
      return invalid("--default-kind '{}': the class must be infer or train, for example infer=bert-infer", item);
    std::vector<std::string> all;
    std::vector<int> found;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      all.push_back(curves_[i].kind);
      if (curves_[i].kind == kind) found.push_back(int(i));
    }
    if (found.empty()) {
      const std::string near = nearest(kind, all);
      return invalid("--default-kind '{}': {} has no such kind{}; it has {}", kind, gpu_,
                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(all, ", "));
    }
    defaults_[phase] = found;
  }
  cache_.clear();
  return Ok{};
}

KindPicker::Choice KindPicker::pick(std::string_view job_kind, std::uint64_t hash) {
  auto found = cache_.find(job_kind);
  if (found == cache_.end()) found = cache_.emplace(std::string(job_kind), candidates(job_kind)).first;
  const Candidates& choices = found->second;
  return {choices.curves[hash % choices.curves.size()], choices.how};
}

std::string phase_of_class(std::string_view word) {
  const std::string text = lower(trim(word));
  const auto says = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (text == "ls" || says("infer") || says("serving") || says("eval") || says("decode")) return "infer";
  if (says("train") || text == "sft" || text == "mllm" || says("finetun") || says("fine-tun")) return "train";
  return "";
}

}  // namespace smartmig
