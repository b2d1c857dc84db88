#include "live/gpu/quarantine.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
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
  Quarantine quarantine;
  if (const auto read = quarantine.read(path, text); !read)
    return invalid("{}; remove the file to release all", read.error().what);
  quarantine.path_ = std::move(path);
  return quarantine;
}

Result<Ok> Quarantine::read(const std::string& path, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(path, text));
  if (!json.is_array()) return invalid("{}: not a list of quarantined GPUs", path);
  for (const Json& entry : json) {
    SMARTMIG_TRY(const JsonObject object,
                 JsonObject::open(entry, path, fmt::format("[{}]", entries_.size()), {"gpu", "slice", "reason"}));
    Entry e;
    SMARTMIG_TRY(e.gpu, object.any_text("gpu"));
    SMARTMIG_TRY(e.slice, object.any_text("slice"));
    SMARTMIG_TRY(e.reason, object.any_text("reason"));
    entries_.push_back(std::move(e));
  }
  return Ok{};
}

std::string Quarantine::written() const {
  auto json = nlohmann::ordered_json::array();
  for (const Entry& e : entries_) json.push_back({{"gpu", e.gpu}, {"slice", e.slice}, {"reason", e.reason}});
  return json_dump(json, 1) + "\n";
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

// Another process may have added some of other GPUs.
Result<Ok> Quarantine::load() {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return Ok{};
  SMARTMIG_TRY(const std::string text, read_file(path_));
  entries_.clear();
  return read(path_, text);
}

Result<Ok> Quarantine::add(Entry entry) {
  const auto guard = lock();
  SMARTMIG_TRY(const FileTurn turn, FileTurn::take(path_));
  SMARTMIG_RETURN_IF_ERROR(load());
  std::erase_if(entries_, [&](const Entry& e) { return e.gpu == entry.gpu && e.slice == entry.slice; });
  entries_.push_back(std::move(entry));
  return write_durably(path_, written());
}

Result<int> Quarantine::release(const std::string& gpu) {
  const auto guard = lock();
  SMARTMIG_TRY(const FileTurn turn, FileTurn::take(path_));
  SMARTMIG_RETURN_IF_ERROR(load());
  const auto released = int(std::erase_if(entries_, [&](const Entry& e) { return e.gpu == gpu; }));
  if (released > 0) SMARTMIG_RETURN_IF_ERROR(write_durably(path_, written()));
  return released;
}

}  // namespace smartmig
