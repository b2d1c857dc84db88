// Which living instances are ours. One file in the state directory, written before a create (as a promise: GPU and
// placement) and after it (as a UUID), so that an instance whose maker was killed in between is still known as ours and
// one made by hand never is. Written durably; a promise that no instance fulfils is dropped when the driver opens.
#pragma once
#include <set>
#include <string>
#include <utility>

#include "base/result.h"

namespace smartmig {

class Ledger {
 public:
  // No file yet: empty. An empty path keeps the ledger in memory.
  static Result<Ledger> open(std::string path);
  static Result<Ledger> parse(std::string path, std::string_view text);

  bool owns(const std::string& uuid) const { return owned_.contains(uuid); }
  bool promised(const std::string& gpu, const std::string& slice) const { return promised_.contains({gpu, slice}); }
  const std::set<std::string>& owned() const { return owned_; }
  const std::set<std::pair<std::string, std::string>>& promises() const { return promised_; }

  Result<Ok> promise(const std::string& gpu, const std::string& slice);
  Result<Ok> keep(const std::string& gpu, const std::string& slice, const std::string& uuid);  // promise becomes UUID
  Result<Ok> drop_promise(const std::string& gpu, const std::string& slice);
  Result<Ok> forget(const std::string& gpu, const std::string& slice, const std::string& uuid);  // promise and UUID
  Result<Ok> retain_only(const std::set<std::string>& living);  // forgets UUIDs that are no more

  std::string text() const;

 private:
  Result<Ok> save() const;
  std::string path_;
  std::set<std::string> owned_;
  std::set<std::pair<std::string, std::string>> promised_;
};

}  // namespace smartmig
