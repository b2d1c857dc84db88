#include "policy/job_value.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace smartmig {
namespace {

constexpr WeightField kFields[] = {
    {"urgent", &JobWeights::urgent},
    {"urgent_per_late", &JobWeights::urgent_per_late},
    {"ramp", &JobWeights::ramp},
    {"ramp_min", &JobWeights::ramp_min},
    {"lead", &JobWeights::lead},
    {"margin_min", &JobWeights::margin_min},
    {"early", &JobWeights::early},
    {"early_per_late", &JobWeights::early_per_late},
    {"saving", &JobWeights::saving},
    {"pace", &JobWeights::pace},
    {"beyond_pace", &JobWeights::beyond_pace},
    {"long_min", &JobWeights::long_min},
    {"sublinear", &JobWeights::sublinear},
};

}  // namespace

std::span<const WeightField> weight_fields() { return kFields; }

void JobValue::look(const JobOutlook& job) {
  const double wanting = weights_.lead * job.least_min + weights_.margin_min - job.slack_min;
  const double urgency = std::clamp(wanting / (weights_.ramp * job.least_min + weights_.ramp_min), 0.0, 1.0);
  value_ = urgency * urgent_ * std::max(0.05, 1 - weights_.sublinear * (1 - job.linearity)) /
           (1 + job.least_min / weights_.long_min);
  early_now_ = early_ + weights_.saving * job.energy;
  pace_ = job.slack_min > 0 ? std::min(1.0, weights_.pace * job.least_min / job.slack_min) : 1.0;
}

Result<WeightFile> parse_weight_file(const std::string& name, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("smartmig_planner"))
    return invalid("{} is no file of planner weights: it must be a JSON object with \"smartmig_planner\": 1", name);
  if (json["smartmig_planner"] != 1)
    return invalid("{}: planner weights of version {}, this program reads version 1", name,
                   json["smartmig_planner"].dump());
  if (!json.contains("weights") || !json["weights"].is_object())
    return invalid("{}: \"weights\" is missing: an object with one number per weight", name);
  WeightFile file;
  const auto& weights = json["weights"];
  for (const WeightField& field : kFields) {
    if (!weights.contains(field.name) || !weights[field.name].is_number())
      return invalid("{}: the weight \"{}\" is missing or no number", name, field.name);
    const double value = weights[field.name].get<double>();
    if (!std::isfinite(value) || value < 0 || value > 1e9)
      return invalid("{}: the weight \"{}\" is {}; it must lie between 0 and 1e9", name, field.name, value);
    file.weights.*field.value = value;
  }
  for (auto at = weights.begin(); at != weights.end(); ++at) {
    const std::string& key = at.key();
    if (std::none_of(std::begin(kFields), std::end(kFields), [&](const WeightField& f) { return key == f.name; }))
      return invalid("{}: there is no weight \"{}\"", name, key);
  }
  if (file.weights.ramp_min <= 0 || file.weights.long_min <= 0)
    return invalid("{}: ramp_min and long_min must be above 0", name);
  if (json.contains("source")) {
    if (!json["source"].is_string()) return invalid("{}: \"source\" must be a text", name);
    file.source = json["source"].get<std::string>();
  }
  if (json.contains("workloads")) {
    if (!json["workloads"].is_array()) return invalid("{}: \"workloads\" must be a list of texts", name);
    for (const auto& item : json["workloads"]) {
      if (!item.is_string()) return invalid("{}: \"workloads\" must be a list of texts", name);
      file.workloads.push_back(item.get<std::string>());
    }
  }
  if (json.contains("seeds")) {
    if (!json["seeds"].is_array()) return invalid("{}: \"seeds\" must be a list of numbers", name);
    for (const auto& item : json["seeds"]) {
      if (!item.is_number_unsigned()) return invalid("{}: \"seeds\" must be a list of numbers", name);
      file.seeds.push_back(item.get<std::uint64_t>());
    }
  }
  return file;
}

std::string to_json(const WeightFile& file) {
  nlohmann::ordered_json json;
  json["smartmig_planner"] = 1;
  json["source"] = file.source;
  for (const WeightField& field : kFields) json["weights"][field.name] = file.weights.*field.value;
  json["workloads"] = file.workloads;
  json["seeds"] = file.seeds;
  return json.dump(2) + "\n";
}

}  // namespace smartmig
