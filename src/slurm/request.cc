#include "slurm/request.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "live/gpu/memory_size.h"
#include "slurm/slurm_names.h"

namespace smartmig {
namespace {

constexpr std::string_view kMark = "smartmig:";

// Where the request lies in the text: from its mark up to a blank or a semicolon.
std::optional<std::string_view> request_part(std::string_view text) {
  const auto begin = text.find(kMark);
  if (begin == text.npos) return std::nullopt;
  const auto end = std::min(text.find_first_of(" \t\n\r\v\f;", begin), text.size());
  return text.substr(begin, end - begin);
}

bool name_of_kind(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '+' || c == '-';
  });
}

// The text without what the controller wrote behind it.
std::string_view without_words(std::string_view text) {
  std::size_t end = text.size();
  for (const char* words : {";used:", ";waits:", " used:", " waits:"}) end = std::min(end, text.find(words));
  return text.substr(0, end);
}

bool set_value(SlurmRequest& request, std::string_view key, std::string_view value) {
  if (key == "mem") {
    const auto mib = parse_mib(value);
    if (mib) request.mem_mib = *mib;
    return mib.has_value() && *mib >= 0;
  }
  if (key == "slices") {
    const auto slices = parse_int(value);
    if (!slices || *slices < 1 || *slices > 8) return false;
    request.min_slices = int(*slices);
    return true;
  }
  if (key == "kind") {
    request.kind = value;
    return name_of_kind(value);
  }
  if (key == "node") {
    request.node = value;
    return is_slurm_name(value);
  }
  const auto time = parse_duration(value);
  if (!time || *time < Time{0}) return false;
  (key == "deadline" ? request.deadline : key == "estimate" ? request.estimate : request.restart) = *time;
  return true;
}

}  // namespace

Result<std::optional<SlurmRequest>> find_slurm_request(std::string_view text) {
  const auto part = request_part(text);
  if (!part) return std::optional<SlurmRequest>();
  SlurmRequest request;
  std::set<std::string_view> seen;
  static const std::set<std::string_view> keys{"mem", "slices", "deadline", "estimate", "restart", "kind", "node"};
  for (const std::string_view item : split(part->substr(kMark.size()), ',')) {
    const auto equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    if (equals == item.npos || !keys.contains(key))
      return invalid(
          "'{}' is not a key of a request; keys are mem, slices, deadline, estimate, restart, kind "
          "and node",
          item);
    if (!seen.insert(key).second) return invalid("'{}' is given twice", key);
    if (!set_value(request, key, item.substr(equals + 1))) return invalid("'{}' has no usable value", item);
  }
  return std::optional(request);
}

std::string to_string(const SlurmRequest& request) {
  std::string out = fmt::format("{}mem={}M,slices={}", kMark, request.mem_mib, request.min_slices);
  const auto add = [&](const char* key, const std::optional<Time>& time) {
    if (time) out += fmt::format(",{}={}s", key, seconds(*time));
  };
  add("deadline", request.deadline);
  add("estimate", request.estimate);
  add("restart", request.restart);
  if (!request.kind.empty()) out += ",kind=" + request.kind;
  if (!request.node.empty()) out += ",node=" + request.node;
  return out;
}

std::string with_request(std::string_view text, const SlurmRequest& request) {
  const auto part = request_part(text);
  if (!part) return text.empty() ? to_string(request) : to_string(request) + " " + std::string(text);
  const std::size_t begin = std::size_t(part->data() - text.data());
  return std::string(text.substr(0, begin)) + to_string(request) + std::string(text.substr(begin + part->size()));
}

std::string with_place(std::string_view text, std::string_view node, int gpu, std::string_view slice) {
  return fmt::format("{};used:node={},gpu={},slice={}", without_words(text), node, gpu, slice);
}

std::string with_reason(std::string_view text, std::string_view words) {
  return fmt::format("{};waits:{}", without_words(text), words);
}

}  // namespace smartmig
