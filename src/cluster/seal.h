// Signed messages between controller and agents. Munge signs a text with its sender's user and a time to live, and
// opens each message once on a host. Everybody with Slurm's munge key is trusted, and nobody else. libmunge is opened
// at run time, so the program also starts on machines without it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "base/units.h"

namespace smartmig {

struct Opened {
  std::string text;
  std::uint32_t uid = 0;  // who sealed it
};

class Seal {
 public:
  virtual ~Seal() = default;
  virtual Result<std::string> seal(std::string_view text) = 0;
  // kNoPermission: unsigned, of another cluster, too old, or seen before; the sentence says which.
  virtual Result<Opened> open(const std::string& sealed) = 0;
};

// `socket`: of munged; empty: the system's. Thread rule: free.
Result<std::unique_ptr<Seal>> open_munge(std::string socket, Time time_to_live = Time(30'000'000));

}  // namespace smartmig
