// The agents as the controller sees them: one question to one node, with a limit. Behind it stand sealed messages over
// TCP; agents in the same process in tests.
#pragma once
#include <map>
#include <memory>

#include "base/json.h"
#include "slurm/seal.h"

namespace smartmig {

class Agents {
 public:
  virtual ~Agents() = default;
  // The answer where the agent says ok; its refusal as an error with its code. kIo, kTimeout: it could not be asked, or
  // what it did is not known. Thread rule: free.
  virtual Result<Json> ask(const std::string& node, Json request, Time limit) = 0;
};

class WireAgents : public Agents {
 public:
  explicit WireAgents(std::shared_ptr<Seal> seal) : seal_(std::move(seal)) {}
  void set_address(const std::string& node, std::string address) { addresses_[node] = std::move(address); }
  bool has_address(const std::string& node) const { return addresses_.contains(node); }
  Result<Json> ask(const std::string& node, Json request, Time limit) override;

 private:
  std::shared_ptr<Seal> seal_;
  std::map<std::string, std::string> addresses_;
};

// What an answer's text says; kNoPermission also where it answers another question (`id`).
Result<Json> read_agent_answer(const std::string& node, const std::string& text, std::uint64_t id);

}  // namespace smartmig
