#include "serve/gpus/board_load.h"

#include <algorithm>

#include "base/moved.h"
#include "model/job.h"

namespace smartmig {

void BoardLoad::began(std::uint64_t job, double share, UnixTime at) { runs_.push_back({job, share, at, kNeverUnix}); }

void BoardLoad::clock_stepped(Time by) {
  for (Run& run : runs_) {
    run.from = moved(run.from, by);
    run.until = moved(run.until, by);
  }
}

double BoardLoad::ended(std::uint64_t job, UnixTime at) {
  const auto own = std::find_if(runs_.begin(), runs_.end(),
                                [&](const Run& run) { return run.job == job && run.until == kNeverUnix; });
  if (own == runs_.end()) return 0;
  own->until = std::max(at, own->from);
  const UnixTime from = own->from, until = own->until;
  double others = 0;
  for (const Run& run : runs_)
    if (&run != &*own)
      others += run.share * seconds(std::max(Time{0}, std::min(until, run.until) - std::max(from, run.from)));
  UnixTime earliest = kNeverUnix;
  for (const Run& run : runs_)
    if (run.until == kNeverUnix) earliest = std::min(earliest, run.from);
  std::erase_if(runs_, [&](const Run& run) { return run.until <= earliest; });
  return until > from ? std::min(kMostBeside, others / seconds(until - from)) : 0;
}

}  // namespace smartmig
