// Rows of the store, as a damaged file may hold them: an error that names the job, or a record that is written and read
// again alike; and what clocks said before, as the store keeps it. Input: status, submitted_us and ended_us in one line,
// the spec in the next, the state in the rest.
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "fuzz/target.h"
#include "queue/jobs/job_json.h"
#include "serve/attempts/clock_steps.h"
#include "support/set_clock.h"
#include "support/stepped_clock.h"

SMARTMIG_FUZZ_TARGET(stored_row) {
  using namespace smartmig;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return piece;
  };
  JobRow row;
  row.id = 7;
  const std::string_view numbers = line();
  const auto words = split(numbers, ' ');
  const auto number = [&](std::size_t i) { return i < words.size() ? parse_int(words[i]).value_or(0) : 0; };
  row.status = int(number(0) % 100);
  row.submitted_us = number(1);
  row.ended_us = number(2);
  row.spec = line();
  row.state = text;
  const SteppedClock clock(std::make_shared<SetClock>(UnixTime(std::chrono::hours(1000))));
  (void)step_since(std::string(numbers), clock);
  (void)step_since("this-boot " + std::string(numbers), clock);
  const auto job = from_row(row);
  if (!job) {
    SMARTMIG_CHECK(!job.error().what.empty(), "no words");
    return 0;
  }
  const JobRow written = to_row(*job, true);
  const auto again = from_row(written);
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(to_row(*again, true).state == written.state, "written differently");
  (void)to_json(*again, {});
  return 0;
}
