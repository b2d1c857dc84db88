#include "slurm/drained_nodes.h"

#include "base/file.h"
#include "base/json.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

constexpr Time kSettles{10'000'000};  // slurmctld requeues the job meanwhile
constexpr Time kWindow{3'600'000'000};

}  // namespace

bool drained_by_hooks(const SlurmNode& node) {
  return node.state.starts_with("drain") && node.state.find('*') == std::string::npos &&
         (node.reason == "Prolog error" || node.reason == "Epilog error");
}

void DrainedNodes::read() {
  read_ = true;
  const auto text = read_file(file_);
  if (!text) return;
  const auto json = parse_json(file_, *text);
  if (!json || !json->is_object()) return;
  for (const auto& [node, times] : json->items())
    if (times.is_array())
      for (const Json& at : times)
        if (at.is_number_integer()) resumed_[node].push_back(from_unix_us(at.get<std::int64_t>() * 1'000'000));
}

Result<Ok> DrainedNodes::write() const {
  Json json = Json::object();
  for (const auto& [node, times] : resumed_)
    for (const UnixTime at : times) json[node].push_back(unix_us(at) / 1'000'000);
  return write_durably(file_, json_dump(json) + "\n");
}

std::vector<DrainedNodes::Verdict> DrainedNodes::look(const std::vector<SlurmNode>& nodes, UnixTime now) {
  std::vector<Verdict> out;
  if (most_ == 0) return out;
  if (!read_) read();
  for (const SlurmNode& node : nodes) {
    if (!drained_by_hooks(node)) {
      drained_.erase(node.name);
      continue;
    }
    Drained& drained = drained_.try_emplace(node.name, Drained{now, false}).first->second;
    if (drained.told || now - drained.since < kSettles) continue;
    const auto stays = [&](const std::string& why) {
      drained.told = true;
      out.push_back({node.name, fmt::format("node {} stays drained ({}): {}", node.name, node.reason, why), false});
    };
    std::vector<UnixTime>& times = resumed_[node.name];
    std::erase_if(times, [&](UnixTime at) { return now - at >= kWindow; });
    if (int(times.size()) >= most_) {
      stays(
          fmt::format("smartmig resumed it {} times within an hour; read slurmd's log there, then run scontrol "
                      "update NodeName={} State=RESUME",
                      times.size(), node.name));
      continue;
    }
    times.push_back(now);
    if (const auto written = write(); !written) {
      times.pop_back();
      stays(written.error().what);
      continue;
    }
    drained.since = now;  // where it does not help, again after a while
    out.push_back({node.name,
                   fmt::format("node {} was drained because a script failed ({}); smartmig resumes it ({} of {} times "
                               "an hour)",
                               node.name, node.reason, times.size(), most_),
                   true});
  }
  return out;
}

}  // namespace smartmig
