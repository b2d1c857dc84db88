// GPUs and slices that could not be repaired: who (GPU UUID, and a slice or nothing for the whole board) and why, kept
// in one durable file until a person releases them. Nothing is created or destroyed where an entry stands.
#pragma once
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

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& gpu, const std::string& slice = "") const;
  Result<Ok> add(Entry entry);                  // replaces the reason of an old entry
  Result<int> release(const std::string& gpu);  // all entries of a GPU; how many there were
  std::string text() const;

 private:
  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace smartmig
