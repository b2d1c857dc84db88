// The existing instances that smartmig created. One file in the state directory, written before a create (as a promise:
// GPU and placement) and after it (as a UUID), so that an instance is recognised as ours even if its creator was killed
// in between, and an instance made by hand never is. Written durably; a promise that no instance fulfils is dropped
// when the driver opens. Two processes may each control some of the GPUs: a change is applied to what the file then
// says. Thread rule: any thread may call; the GPUs of a machine share one ledger.
#pragma once
#include <memory>
#include <mutex>
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

  bool owns(const std::string& uuid) const;
  bool promised(const std::string& gpu, const std::string& slice) const;
  std::set<std::string> owned() const;
  std::set<std::pair<std::string, std::string>> promises() const;

  Result<Ok> promise(const std::string& gpu, const std::string& slice);
  Result<Ok> keep(const std::string& gpu, const std::string& slice, const std::string& uuid);  // promise becomes UUID
  Result<Ok> drop_promise(const std::string& gpu, const std::string& slice);
  Result<Ok> forget(const std::string& gpu, const std::string& slice, const std::string& uuid);  // promise and UUID
  Result<Ok> retain_only(const std::set<std::string>& living);  // forgets UUIDs that are no more
  Result<Ok> reload();                                          // what other processes have changed

  std::string text() const;

 private:
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(*mutex_); }
  Result<Ok> read(const std::string& path, std::string_view text);
  std::string written() const;
  Result<Ok> load();
  template <class Change>  // returns whether something changed
  Result<Ok> change(const Change& apply);
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();  // apart, so that a ledger can be moved
  std::string path_;
  std::set<std::string> owned_;
  std::set<std::pair<std::string, std::string>> promised_;
};

}  // namespace smartmig
