// Records and exits of attempts: never crashes; what is accepted as an exit is written back and read again as the same.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "live/jobs/attempt_record.h"
#include "live/jobs/cgroup.h"

SMARTMIG_FUZZ_TARGET(attempt_record) {
  using namespace smartmig;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = parse_attempt_record("fuzz", text))
    SMARTMIG_CHECK(record->is_void || record->pid > 0, "a record without its process");
  if (const auto exit = parse_attempt_exit("fuzz", text, {7, 1})) {
    const std::string first = to_text(*exit);
    const auto again = parse_attempt_exit("again", first, {7, 1});
    SMARTMIG_CHECK(bool(again), "{}", again.error().what);
    SMARTMIG_CHECK(to_text(*again) == first, "written twice, read differently");
  }
  const Cgroups groups = Cgroups::from(std::string(text), std::string(text), size % 2 == 0);
  for (const std::string& path : groups.plan("7.1", {1, 64, 8, {"/dev/null"}}).directories)
    SMARTMIG_CHECK(path.ends_with("/7.1"), "{}", path);
  return 0;
}
