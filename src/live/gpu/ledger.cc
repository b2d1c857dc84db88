#include "live/gpu/ledger.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
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
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [&](std::string_view why) {
    return invalid("{}: {}; remove the file, then take the instances over with --adopt", path, why);
  };
  if (!json.is_object() || !json.contains("owned") || !json.contains("promised")) return bad("not a ledger");
  Ledger ledger;
  if (!json["owned"].is_array() || !json["promised"].is_array()) return bad("not a ledger");
  for (const auto& uuid : json["owned"]) {
    if (!uuid.is_string()) return bad("a UUID that is no text");
    ledger.owned_.insert(uuid.get<std::string>());
  }
  for (const auto& entry : json["promised"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
      return bad("a promise that is not [GPU, slice]");
    ledger.promised_.emplace(entry[0].get<std::string>(), entry[1].get<std::string>());
  }
  ledger.path_ = std::move(path);
  return ledger;
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
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
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
