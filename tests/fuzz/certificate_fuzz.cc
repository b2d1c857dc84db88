// Certificates of others: never crashes, and what is accepted for this workload proves no more than a schedule that
// exists.
#include <cstddef>
#include <cstdint>

#include "bound/checker.h"
#include "fuzz/target.h"
#include "support/fixture.h"

SMARTMIG_FUZZ_TARGET(certificate) {
  using namespace smartmig;
  static const auto platform = fixture::platform("1xa100-40gb", "paper");
  static const auto jobs =
      fixture::bind({fixture::job(0, 5, fixture::linear(4)), fixture::job(1, 3, fixture::linear(2))}, *platform);
  auto certificate = parse_certificate("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!certificate) return 0;
  const auto again = parse_certificate("again", certificate_json(*certificate));
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  if (certificate->prices.windows.count() > 10'000) return 0;
  certificate->workload_hash = hash_of(jobs->workload());  // a fuzzer does not find hashes
  certificate->jobs = jobs->size();
  certificate->gpus = platform->spec();
  certificate->power_models = {"paper"};
  const auto proven = check_certificate(*certificate, *platform, *jobs);
  if (!proven) return 0;
  // Both jobs one after the other on the whole GPU: done at 4 and 6, three minutes late in all, 248.5 W throughout.
  const double energy = 248.5 * 6, tardiness = 1.5;
  const double value = certificate->objective == Objective::kEnergy
                           ? energy
                           : (certificate->objective == Objective::kEt ? certificate->a * energy : 0) + tardiness;
  SMARTMIG_CHECK(*proven <= value * (1 + 1e-9), "proved {} above {}", *proven, value);
  return 0;
}
