#include "cluster/agents.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/thread.h"

namespace smartmig {
namespace {

Error::Code code_of(const std::string& name) {
  if (name == "busy") return Error::kBusy;
  if (name == "not_found") return Error::kNotFound;
  if (name == "no_permission") return Error::kNoPermission;
  if (name == "lost") return Error::kLost;
  if (name == "timeout") return Error::kTimeout;
  if (name == "io") return Error::kIo;
  return Error::kInvalid;
}

}  // namespace

std::string ended_text(const std::string& node, const std::vector<std::uint32_t>& jobs) {
  return json_dump(Json{{"v", 1}, {"node", node}, {"op", "ended"}, {"jobs", jobs}});
}

Result<std::pair<std::string, std::vector<std::uint32_t>>> read_ended(const std::string& text) {
  SMARTMIG_TRY(Json json, parse_json("report of an agent", text));
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(json, "report of an agent", "", {"v", "node", "op", "jobs"}));
  SMARTMIG_TRY(const std::string op, object.text("op"));
  if (op != "ended") return invalid("report of an agent: unknown operation '{}'", op);
  SMARTMIG_TRY(const std::string node, object.text("node"));
  SMARTMIG_TRY(const auto numbers, object.counts("jobs"));
  std::vector<std::uint32_t> jobs;
  for (const std::uint64_t number : numbers) {
    if (number == 0 || number > 0xFFFFFFFEull) return invalid("report of an agent: {} is not a job", number);
    jobs.push_back(std::uint32_t(number));
  }
  return std::pair(node, std::move(jobs));
}

Result<Json> read_agent_answer(const std::string& node, const std::string& text, std::uint64_t id) {
  SMARTMIG_TRY(Json json, parse_json("the answer of " + node, text));
  SMARTMIG_TRY(const JsonObject answer, JsonObject::open(json, "the answer of " + node, ""));
  SMARTMIG_TRY(const auto of, answer.integer("id", 0, std::int64_t(1) << 62));
  if (std::uint64_t(of) != id) return no_permission("{} replied to a different request", node);
  SMARTMIG_TRY(const bool ok, answer.yes_or_no("ok"));
  if (ok) return json;
  SMARTMIG_TRY(const std::string code, answer.text("code"));
  SMARTMIG_TRY(const std::string words, answer.any_text("error"));
  return Error{code_of(code), words};
}

Result<Json> WireAgents::ask(const std::string& node, Json request, Patience patience) {
  const auto address = addresses_.find(node);
  if (address == addresses_.end()) return not_found("the address of the agent on {} is unknown", node);
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != ssize_t(sizeof id)) return io_error("the kernel provides no random numbers");
  id >>= 3;
  request["v"] = 1;
  request["node"] = node;
  request["id"] = id;
  SMARTMIG_TRY(const std::string sealed, seal_->seal(json_dump(request)));
  SMARTMIG_TRY(const std::string answer, ask_over_wire(address->second, sealed, patience));
  if (answer.empty()) return io_error("the agent on {} closed the connection", node);
  SMARTMIG_TRY(const Opened opened, seal_->open(answer));
  if (opened.uid != 0 && opened.uid != ::geteuid())
    return no_permission("the answer of {} comes from user {}, not from an agent", node, opened.uid);
  return read_agent_answer(node, opened.text, id);
}

std::vector<Result<Json>> ask_each(Agents& agents, const std::vector<std::string>& nodes, const Json& request,
                                   Patience patience) {
  std::vector<Result<Json>> out(nodes.size(), Result<Json>(io_error("not asked")));
  std::atomic<std::size_t> next = 0;
  const auto ask = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) out[i] = agents.ask(nodes[i], request, patience);
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(nodes.size(), kMostAskers); ++t)
    if (auto thread = start_thread("asking agents", ask)) threads.push_back(std::move(*thread));
  ask();
  for (std::thread& thread : threads) thread.join();
  return out;
}

}  // namespace smartmig
