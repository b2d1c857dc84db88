#include "live/gpu/ledger.h"

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "live/durable_file.h"

namespace smartmig {

Result<Ledger> Ledger::open(std::string path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) {
    Ledger ledger;
    ledger.path_ = std::move(path);
    return ledger;
  }
  SMARTMIG_TRY(const std::string text, read_file(path));
  return parse(std::move(path), text);
}

Result<Ledger> Ledger::parse(std::string path, std::string_view text) {
  Ledger ledger;
  if (const auto read = ledger.read(path, text); !read)
    return invalid("{}; remove the file, then take the instances over with --adopt", read.error().what);
  ledger.path_ = std::move(path);
  return ledger;
}

Result<Ok> Ledger::read(const std::string& path, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(path, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, path, "", {"owned", "promised"}));
  SMARTMIG_TRY(const Json* owned, root.list("owned"));
  for (const Json& uuid : *owned) {
    SMARTMIG_TRY(std::string known, root.text_in(uuid, "owned"));
    owned_.insert(std::move(known));
  }
  SMARTMIG_TRY(const Json* promised, root.list("promised"));
  for (const Json& entry : *promised) {
    if (!entry.is_array() || entry.size() != 2) return root.error("promised", "must hold [GPU, slice]");
    SMARTMIG_TRY(std::string gpu, root.text_in(entry[0], "promised"));
    SMARTMIG_TRY(std::string slice, root.text_in(entry[1], "promised"));
    promised_.emplace(std::move(gpu), std::move(slice));
  }
  return Ok{};
}

bool Ledger::owns(const std::string& uuid) const {
  const auto guard = lock();
  return owned_.contains(uuid);
}
bool Ledger::promised(const std::string& gpu, const std::string& slice) const {
  const auto guard = lock();
  return promised_.contains({gpu, slice});
}
std::set<std::string> Ledger::owned() const {
  const auto guard = lock();
  return owned_;
}
std::set<std::pair<std::string, std::string>> Ledger::promises() const {
  const auto guard = lock();
  return promised_;
}
std::string Ledger::text() const {
  const auto guard = lock();
  return written();
}

std::string Ledger::written() const {
  nlohmann::ordered_json json;
  json["owned"] = owned_;
  json["promised"] = nlohmann::ordered_json::array();
  for (const auto& [gpu, slice] : promised_) json["promised"].push_back({gpu, slice});
  return json_dump(json, 1) + "\n";
}

Result<Ok> Ledger::load() {
  std::error_code error;
  if (path_.empty() || !std::filesystem::exists(path_, error)) return Ok{};
  SMARTMIG_TRY(const std::string text, read_file(path_));
  owned_.clear();
  promised_.clear();
  return read(path_, text);
}

Result<Ok> Ledger::reload() {
  const auto guard = lock();
  return load();
}

template <class Change>
Result<Ok> Ledger::change(const Change& apply) {
  const auto guard = lock();
  if (path_.empty()) {
    apply();
    return Ok{};
  }
  SMARTMIG_TRY(const FileTurn turn, FileTurn::take(path_));
  SMARTMIG_RETURN_IF_ERROR(load());
  return apply() ? write_durably(path_, written()) : Result<Ok>(Ok{});
}

Result<Ok> Ledger::promise(const std::string& gpu, const std::string& slice) {
  return change([&] { return promised_.emplace(gpu, slice).second; });
}

Result<Ok> Ledger::keep(const std::string& gpu, const std::string& slice, const std::string& uuid) {
  return change([&] {
    promised_.erase({gpu, slice});
    owned_.insert(uuid);
    return true;
  });
}

Result<Ok> Ledger::drop_promise(const std::string& gpu, const std::string& slice) {
  return change([&] { return promised_.erase({gpu, slice}) > 0; });
}

Result<Ok> Ledger::forget(const std::string& gpu, const std::string& slice, const std::string& uuid) {
  return change([&] { return promised_.erase({gpu, slice}) + owned_.erase(uuid) > 0; });
}

Result<Ok> Ledger::retain_only(const std::set<std::string>& living) {
  return change(
      [&] { return std::erase_if(owned_, [&](const std::string& uuid) { return !living.contains(uuid); }) > 0; });
}

}  // namespace smartmig
