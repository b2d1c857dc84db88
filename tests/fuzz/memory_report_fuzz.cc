// Records of CUDA memory: never crashes, and every number that comes out is in its bounds, also in sum. Bytes behind a
// whole number of records are cut off; a first byte decides whether the head is repaired so that the rest is reached, and
// as which kind of record.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "fuzz/target.h"
#include "live/jobs/memory_record.h"
#include "live/jobs/memory_report.h"

SMARTMIG_FUZZ_TARGET(memory_report) {
  using namespace smartmig;
  if (size == 0) return 0;
  const bool repair = data[0] % 2;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<ProcessMemory> all;
  if (const auto whole = parse_memory_record(bytes)) all.push_back(*whole);
  for (; bytes.size() >= sizeof(SmartmigMemoryRecord); bytes.erase(0, sizeof(SmartmigMemoryRecord))) {
    std::string one = bytes.substr(0, sizeof(SmartmigMemoryRecord));
    const std::uint64_t head[] = {data[0] & 2 ? SMARTMIG_HELD_MAGIC : SMARTMIG_MEMORY_MAGIC, SMARTMIG_MEMORY_VERSION};
    if (repair) std::memcpy(one.data(), head, sizeof(head));
    if (const auto process = parse_memory_record(one)) all.push_back(*process);
  }
  constexpr std::int64_t kMost = std::int64_t(1) << 46;
  for (const ProcessMemory& p : all) {
    SMARTMIG_CHECK(p.pid > 0, "pid {}", p.pid);
    SMARTMIG_CHECK(0 <= p.managed_bytes && p.managed_bytes <= p.now_bytes && p.now_bytes <= p.peak_bytes, "amounts");
    SMARTMIG_CHECK(p.peak_bytes <= kMost && p.failed_bytes <= kMost && p.held_at_failure <= kMost, "bounds");
    SMARTMIG_CHECK(p.failed_bytes >= 0 && p.held_at_failure >= 0 && p.allocations >= 0 && p.failures >= 0, "signs");
  }
  const JobMemory sum = sum_memory(all);
  SMARTMIG_CHECK(sum.tensors_bytes >= -1 && sum.tensors_peak_bytes >= sum.tensors_bytes, "tensors");
  SMARTMIG_CHECK(sum.now_bytes >= 0 && sum.needed_bytes >= 0 && sum.peak_bytes >= sum.now_bytes, "sum");
  return 0;
}
