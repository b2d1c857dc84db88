#include "live/gpu/holders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The capability nodes of one instance: lines "gpu0/gi1/access 30" and "gpu0/gi1/ci0/access 31".
std::vector<std::string> capability_nodes(const HolderQuery& query) {
  std::vector<std::string> nodes;
  const std::string& machine = query.machine;
  std::ifstream in((machine.empty() ? query.proc_root : machine + "/proc") + "/driver/nvidia-caps/mig-minors");
  const std::string gi = fmt::format("gpu{}/gi{}/", query.minor, query.gpu_instance);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(gi)) continue;
    std::istringstream words(line);
    std::string path;
    int minor = -1;
    if (!(words >> path >> minor)) continue;
    if (query.compute_instance >= 0 && path.starts_with(gi + "ci") &&
        !path.starts_with(fmt::format("{}ci{}/", gi, query.compute_instance)))
      continue;
    nodes.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor));
  }
  return nodes;
}

bool is_board_node(const std::string& target, int minor) {
  if (minor >= 0) return target == fmt::format("/dev/nvidia{}", minor);
  const std::string_view prefix = "/dev/nvidia";
  return target.starts_with(prefix) && target.size() > prefix.size() &&
         parse_int(std::string_view(target).substr(prefix.size())).has_value();
}

}  // namespace

std::string emulated_machine() {
  const char* const state = std::getenv("NVML_SIM_STATE");
  if (!state || !*state) return "";
  std::error_code error;
  const fs::path whole = fs::canonical(state, error);
  return error ? std::string(state) : whole.string();
}

std::vector<Holder> find_holders(const HolderQuery& query) {
  const bool one_instance = query.minor >= 0 && query.gpu_instance >= 0;
  const std::vector<std::string> nodes = one_instance ? capability_nodes(query) : std::vector<std::string>{};
  std::vector<Holder> holders;
  std::error_code error;
  for (fs::directory_iterator at(query.proc_root, error), end; !error && at != end; at.increment(error)) {
    const auto pid = parse_int(at->path().filename().string());
    if (!pid || *pid <= 0 || (query.proc_root == "/proc" && *pid == ::getpid())) continue;
    Holder holder{std::uint32_t(*pid), {}, {}};
    std::error_code denied;
    for (fs::directory_iterator fd(at->path() / "fd", denied), last; !denied && fd != last; fd.increment(denied)) {
      std::error_code gone;
      std::string target = fs::read_symlink(fd->path(), gone).string();
      if (gone) continue;
      if (!query.machine.empty() && target.starts_with(query.machine + "/dev/")) target.erase(0, query.machine.size());
      // Without the table of minors every capability counts: better one name too many than none.
      const bool capability = target.starts_with("/dev/nvidia-caps/") &&
                              (nodes.empty() || std::find(nodes.begin(), nodes.end(), target) != nodes.end());
      if (capability || (is_board_node(target, query.minor) && !(one_instance && !nodes.empty())))
        holder.nodes.push_back(target);
    }
    if (holder.nodes.empty()) continue;
    std::sort(holder.nodes.begin(), holder.nodes.end());
    holder.nodes.erase(std::unique(holder.nodes.begin(), holder.nodes.end()), holder.nodes.end());
    holder.name = first_line((at->path() / "comm").string());
    holders.push_back(std::move(holder));
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) { return a.pid < b.pid; });
  return holders;
}

std::vector<std::string> nodes_of_slice(const HolderQuery& query) {
  std::vector<std::string> nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                    fmt::format("/dev/nvidia{}", query.minor)};
  if (query.gpu_instance >= 0)
    for (std::string& node : capability_nodes(query)) nodes.push_back(std::move(node));
  for (std::string& node : nodes) node.insert(0, query.machine);
  return nodes;
}

std::string describe(const std::vector<Holder>& holders) {
  std::vector<std::string> words;
  for (const Holder& h : holders)
    words.push_back(
        fmt::format("pid {} ({}) through {}", h.pid, h.name.empty() ? "?" : h.name, fmt::join(h.nodes, " ")));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace smartmig
