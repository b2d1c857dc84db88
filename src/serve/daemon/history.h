// What past runs of a command say about the next one: run time on the whole GPU, its spread, GPU memory. Kept by the
// command's signature, so that `train.py --lr 0.1` and `train.py --lr 0.2` learn from each other.
//
// Signature: the last path component of argv[0]; then each argument in order: of an option its name, and its value
// unless that is a number; any other argument as it is unless it is a number. A number (also with k, M, G or % behind
// it, or a comma-separated list of numbers) reads as '#'. A script's text comes in as a hash. Longer than 200 bytes:
// cut, and a hash of the whole behind it. Run time: each run gives its time times (model time on the whole GPU / model
// time on the slice it had), the whole-GPU seconds. The estimate is the median of the last 16. Spread: sigma of the
// logarithm, 1.4826 x the median distance of the logarithms from theirs, mixed with two imagined runs of 0.5, so that
// one run is never certainty. Memory: the largest peak of the last 16, plus 5 % and plus another 45 % / runs; at
// least 1.25 x what a run once ran out of memory with. Bounded: the 10,000 signatures last used. Failed runs teach
// memory only. Not thread-safe; one owner.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace smartmig {

std::string signature_of(const std::vector<std::string>& command, std::string_view script = {});

struct PastRun {
  double ran_s = -1;            // on its slice; below 0: ended in failure, its time says nothing
  double whole_over_slice = 1;  // model time on the whole GPU / on that slice
  int peak_mib = -1;            // -1: not seen
  int out_of_memory_mib = -1;   // the memory it had when it ran out; -1: it did not
};

struct Forecast {
  std::optional<double> whole_s;  // on the whole GPU
  double sigma = 0.5;             // of its logarithm
  std::optional<int> mem_mib;
  int runs = 0;
};

class History {
 public:
  static constexpr std::size_t kSignatures = 10'000, kRuns = 16;

  void add(const std::string& signature, const PastRun& run);
  Forecast forecast(const std::string& signature);  // counts as a use
  void merge(const History& other);                 // runs of `other` come after ours
  std::size_t size() const { return entries_.size(); }

  std::string to_json() const;                                                   // one line; least recently used first
  static Result<History> parse(const std::string& name, std::string_view text);  // strict; `name` is for complaints

 private:
  struct Entry {
    std::string signature;
    std::vector<double> whole_s;  // newest last
    std::vector<int> peak_mib;
    int runs = 0, out_of_memory_mib = -1;
  };
  Entry& touch(const std::string& signature);

  std::list<Entry> entries_;  // most recently used last
  std::unordered_map<std::string, std::list<Entry>::iterator> by_signature_;

 public:
  History() = default;
  History(History&&) = default;  // list iterators stay valid when moved
  History& operator=(History&&) = default;
};

}  // namespace smartmig
