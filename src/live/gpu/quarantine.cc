#include "live/gpu/quarantine.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "live/durable_file.h"

namespace smartmig {

Result<Quarantine> Quarantine::open(std::string path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    Quarantine empty;
    empty.path_ = std::move(path);
    return empty;
  }
  SMARTMIG_TRY(const std::string text, read_file(path));
  return parse(std::move(path), text);
}

Result<Quarantine> Quarantine::parse(std::string path, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return invalid("{}: not a list of quarantined GPUs; remove it to release all", path);
  Quarantine quarantine;
  for (const auto& entry : json) {
    Entry e;
    for (const auto& [key, field] :
         {std::pair("gpu", &e.gpu), std::pair("slice", &e.slice), std::pair("reason", &e.reason)}) {
      if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string())
        return invalid("{}: an entry without the text '{}'; remove the file to release all", path, key);
      *field = entry[key].get<std::string>();
    }
    quarantine.entries_.push_back(std::move(e));
  }
  quarantine.path_ = std::move(path);
  return quarantine;
}

std::string Quarantine::written() const {
  auto json = nlohmann::ordered_json::array();
  for (const Entry& e : entries_) json.push_back({{"gpu", e.gpu}, {"slice", e.slice}, {"reason", e.reason}});
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Quarantine::text() const {
  const auto guard = lock();
  return written();
}

std::vector<Quarantine::Entry> Quarantine::entries() const {
  const auto guard = lock();
  return entries_;
}

std::optional<Quarantine::Entry> Quarantine::find(const std::string& gpu, const std::string& slice) const {
  const auto guard = lock();
  for (const Entry& e : entries_)
    if (e.gpu == gpu && e.slice == slice) return e;
  return std::nullopt;
}

Result<Ok> Quarantine::add(Entry entry) {
  const auto guard = lock();
  std::erase_if(entries_, [&](const Entry& e) { return e.gpu == entry.gpu && e.slice == entry.slice; });
  entries_.push_back(std::move(entry));
  return write_durably(path_, written());
}

Result<int> Quarantine::release(const std::string& gpu) {
  const auto guard = lock();
  const auto released = int(std::erase_if(entries_, [&](const Entry& e) { return e.gpu == gpu; }));
  if (released > 0) SMARTMIG_RETURN_IF_ERROR(write_durably(path_, written()));
  return released;
}

}  // namespace smartmig
