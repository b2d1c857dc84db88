#include "queue/jobs/job_groups.h"

#include "base/json.h"

namespace smartmig {

int JobGroups::limit(const std::string& group) const {
  const auto at = group.empty() ? limits_.end() : limits_.find(group);
  return at == limits_.end() ? 0 : at->second;
}

void JobGroups::set(const std::string& group, int limit) {
  if (limit > 0)
    limits_[group] = limit;
  else
    limits_.erase(group);
}

std::string JobGroups::to_text() const { return json_dump(Json(limits_)); }

void JobGroups::load(const std::string& text) {
  const auto stored = parse_json("the stored groups", text);
  if (!stored || !stored->is_object()) return;
  for (const auto& [group, limit] : stored->items())
    if (limit.is_number_integer()) set(group, limit.get<int>());
}

}  // namespace smartmig
