// The agents as the controller sees them: one request to one node, with a time limit. Implementations: sealed messages
// over TCP, and agents in the same process in tests.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "base/units.h"
#include "cluster/wire.h"

namespace smartmig {

// Signed messages between controller and agents. Munge signs a text with its sender's user and a time to live, and
// opens each message once on a host. Everybody with Slurm's munge key is trusted, and nobody else. libmunge is opened
// at run time, so the program also starts on machines without it.
struct Opened {
  std::string text;
  std::uint32_t uid = 0;  // who sealed it
};

class Seal {
 public:
  virtual ~Seal() = default;
  virtual Result<std::string> seal(std::string_view text) = 0;
  // kNoPermission: unsigned, of another cluster, too old, or seen before; the sentence says which.
  virtual Result<Opened> open(const std::string& sealed) = 0;
};

// `socket`: of munged; empty: the system's. Thread rule: free.
Result<std::unique_ptr<Seal>> open_munge(std::string socket, Time time_to_live = Time(30'000'000));

class Agents {
 public:
  virtual ~Agents() = default;
  // The answer where the agent says ok; its refusal as an error with its code. kIo, kTimeout: it could not be asked, or
  // what it did is not known. Thread rule: free.
  virtual Result<Json> ask(const std::string& node, Json request, Patience patience) = 0;
};

class WireAgents : public Agents {
 public:
  explicit WireAgents(std::shared_ptr<Seal> seal) : seal_(std::move(seal)) {}
  void set_address(const std::string& node, std::string address) { addresses_[node] = std::move(address); }
  bool has_address(const std::string& node) const { return addresses_.contains(node); }
  Result<Json> ask(const std::string& node, Json request, Patience patience) override;

 private:
  std::shared_ptr<Seal> seal_;
  std::map<std::string, std::string> addresses_;
};

// The same question to each of these nodes, at most kMostAskers at a time; answers in the order of `nodes`.
inline constexpr std::size_t kMostAskers = 64;
std::vector<Result<Json>> ask_each(Agents& agents, const std::vector<std::string>& nodes, const Json& request,
                                   Patience patience);

// What an agent tells of jobs that are over: node and their numbers.
std::string ended_text(const std::string& node, const std::vector<std::uint32_t>& jobs);
Result<std::pair<std::string, std::vector<std::uint32_t>>> read_ended(const std::string& text);

// What an answer's text says; kNoPermission also where it answers another question (`id`).
Result<Json> read_agent_answer(const std::string& node, const std::string& text, std::uint64_t id);

}  // namespace smartmig
