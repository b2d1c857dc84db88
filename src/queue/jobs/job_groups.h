// Groups of jobs (`submit --group NAME`) whose number of running jobs the operator limits. A group without a limit has
// no effect. Limits are stored as one named value, "groups". Thread rule: the owner's.
#pragma once
#include <map>
#include <string>

namespace smartmig {

class JobGroups {
 public:
  int limit(const std::string& group) const;  // 0: none
  void set(const std::string& group, int limit);
  const std::map<std::string, int>& limits() const { return limits_; }
  std::string to_text() const;  // JSON
  void load(const std::string& text);

 private:
  std::map<std::string, int> limits_;
};

}  // namespace smartmig
