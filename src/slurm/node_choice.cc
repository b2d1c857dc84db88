#include "slurm/node_choice.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/text.h"
#include "slurm/host_list.h"

namespace smartmig {
namespace {

bool is_among(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Recursive descent over '|' (weaker), '&', parentheses, brackets and names; nothing: not understood.
class FeatureReader {
 public:
  FeatureReader(std::string_view text, const std::vector<std::string>& features) : text_(text), features_(features) {}
  std::optional<bool> read() {
    const auto value = any();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 32;
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<bool> any() {
    auto value = all();
    while (value && take('|')) {
      const auto more = all();
      if (!more) return std::nullopt;
      value = *value || *more;
    }
    return value;
  }
  std::optional<bool> all() {
    auto value = one();
    while (value && take('&')) {
      const auto more = one();
      if (!more) return std::nullopt;
      value = *value && *more;
    }
    return value;
  }
  std::optional<bool> one() {
    for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
      if (!take(open)) continue;
      if (++depth_ > kDeepest) return std::nullopt;
      const auto value = any();
      --depth_;
      return take(close) ? value : std::nullopt;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("|&()[]*").find(text_[at_]) == std::string_view::npos) ++at_;
    const std::string_view name = trim(text_.substr(begin, at_ - begin));
    if (name.empty()) return std::nullopt;
    if (take('*'))  // of so many nodes: a job here has one
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return is_among(features_, name);
  }
  std::string_view text_;
  const std::vector<std::string>& features_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool features_allow(std::string_view expression, const std::vector<std::string>& features) {
  if (trim(expression).empty()) return true;
  return FeatureReader(trim(expression), features).read().value_or(true);
}

int cpus_on(const SlurmNode& node, const SlurmJob& job) { return job.whole_node ? node.cpus : job.cpus; }

int mem_on(const SlurmNode& node, const SlurmJob& job) {
  return job.whole_node || job.mem_mib == 0 ? node.mem_mib : job.mem_mib;
}

std::string objection_to(const SlurmNode& node, const SlurmJob& job, std::string_view asked) {
  if (!asked.empty() && asked != node.name) return fmt::format("is not {}, which it asks for", asked);
  const auto excluded = expand_host_list(job.excluded_nodes);
  if (excluded && is_among(*excluded, node.name)) return "is excluded by its owner";
  const auto partitions = split(job.partition, ',');
  if (!node.partitions.empty() && std::none_of(partitions.begin(), partitions.end(), [&](std::string_view partition) {
        return is_among(node.partitions, trim(partition));
      }))
    return fmt::format("is not in the partition {}", job.partition);
  if (!features_allow(job.features, node.features)) return fmt::format("lacks the features {}", job.features);
  if (job.reservation.empty() && !node.reservations.empty())
    return fmt::format("is kept for the reservation {}", node.reservations.front());
  if (!job.reservation.empty()) {
    const auto reservations = split(job.reservation, ',');
    if (std::none_of(reservations.begin(), reservations.end(),
                     [&](std::string_view one) { return is_among(node.reservations, trim(one)); }))
      return fmt::format("is not in the reservation {}, or that is not active", job.reservation);
  }
  if (node.cpus > 0 && job.cpus > node.cpus) return fmt::format("has {} CPUs, not {}", node.cpus, job.cpus);
  if (node.mem_mib > 0 && job.mem_mib > node.mem_mib)
    return fmt::format("has {} MiB of memory, not {}", node.mem_mib, job.mem_mib);
  return {};
}

std::string node_needs(const SlurmJob& job, std::string_view asked) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", asked, job.excluded_nodes, job.partition, job.features, job.reservation,
                     job.cpus, job.mem_mib, job.whole_node);
}

}  // namespace smartmig
