#include "policy/placing/job_value.h"

#include <algorithm>

#include "base/json.h"

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
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  if (!json.is_object() || !json.contains("smartmig_planner"))
    return invalid("{} is not a file of planner weights, which is a JSON object with \"smartmig_planner\": 1", name);
  SMARTMIG_TRY(const JsonObject root,
               JsonObject::open(json, name, "", {"smartmig_planner", "source", "weights", "workloads", "seeds"}));
  SMARTMIG_TRY(const auto version, root.integer("smartmig_planner", 1, INT64_MAX));
  if (version != 1) return invalid("{}: planner weights of version {}, this program reads version 1", name, version);
  const Json* const given = root.find("weights");
  if (!given) return root.error("weights", "is missing: an object with one number per weight");
  std::vector<std::string> known;
  for (const WeightField& field : kFields) known.emplace_back(field.name);
  SMARTMIG_TRY(const JsonObject weights, JsonObject::open(*given, name, "weights", known));
  WeightFile file;
  for (const WeightField& field : kFields) {
    SMARTMIG_TRY(file.weights.*field.value, weights.number(field.name, 0, 1e9));
  }
  if (file.weights.ramp_min <= 0 || file.weights.long_min <= 0)
    return invalid("{}: ramp_min and long_min must be above 0", name);
  if (root.has("source")) {
    SMARTMIG_TRY(file.source, root.any_text("source"));
  }
  if (root.has("workloads")) {
    SMARTMIG_TRY(file.workloads, root.texts("workloads"));
  }
  if (root.has("seeds")) {
    SMARTMIG_TRY(file.seeds, root.counts("seeds"));
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
  return json_dump(json, 2) + "\n";
}

}  // namespace smartmig
