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

Result<Ok> Ledger::save() const { return path_.empty() ? Result<Ok>(Ok{}) : write_durably(path_, written()); }

Result<Ok> Ledger::promise(const std::string& gpu, const std::string& slice) {
  const auto guard = lock();
  return promised_.emplace(gpu, slice).second ? save() : Result<Ok>(Ok{});
}

Result<Ok> Ledger::keep(const std::string& gpu, const std::string& slice, const std::string& uuid) {
  const auto guard = lock();
  promised_.erase({gpu, slice});
  owned_.insert(uuid);
  return save();
}

Result<Ok> Ledger::drop_promise(const std::string& gpu, const std::string& slice) {
  const auto guard = lock();
  return promised_.erase({gpu, slice}) > 0 ? save() : Result<Ok>(Ok{});
}

Result<Ok> Ledger::forget(const std::string& gpu, const std::string& slice, const std::string& uuid) {
  const auto guard = lock();
  const auto promises = promised_.erase({gpu, slice}), uuids = owned_.erase(uuid);
  return promises + uuids > 0 ? save() : Result<Ok>(Ok{});
}

Result<Ok> Ledger::retain_only(const std::set<std::string>& living) {
  const auto guard = lock();
  const std::size_t before = owned_.size();
  std::erase_if(owned_, [&](const std::string& uuid) { return !living.contains(uuid); });
  return owned_.size() != before ? save() : Result<Ok>(Ok{});
}

}  // namespace smartmig
