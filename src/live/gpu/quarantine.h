// GPUs and slices that could not be repaired: the GPU's UUID, the slice (empty: the whole board) and the reason, kept
// in one durable file until a person releases them. Nothing is created or destroyed on a quarantined GPU or slice.
// Thread rule: any thread may call.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

class Quarantine {
 public:
  struct Entry {
    std::string gpu, slice, reason;  // slice empty: the whole GPU
  };
  static Result<Quarantine> open(std::string path);  // no file yet: empty
  static Result<Quarantine> parse(std::string path, std::string_view text);

  std::vector<Entry> entries() const;
  std::optional<Entry> find(const std::string& gpu, const std::string& slice = "") const;
  Result<Ok> add(Entry entry);                  // replaces the reason of an old entry
  Result<int> release(const std::string& gpu);  // all entries of a GPU; how many there were
  std::string text() const;

 private:
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(*mutex_); }
  Result<Ok> read(const std::string& path, std::string_view text);
  Result<Ok> load();
  std::string written() const;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();  // apart, so that a quarantine can be moved
  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace smartmig
