#include "serve/attempts/clock_steps.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr Time kNoticed = RealClock::kSlewed;

}  // namespace

std::string clock_reading(const LiveClock& clock) {
  const std::string boot = clock.boot();
  return boot.empty() ? boot : fmt::format("{} {} {}", boot, clock.steady().count(), unix_us(clock.now()));
}

Time step_since(const std::string& reading, const LiveClock& clock) {
  const auto words = split(reading, ' ');
  if (words.size() != 3 || clock.boot().empty()) return Time{0};
  const auto steady = parse_int(words[1]), unix = parse_int(words[2]);
  constexpr std::int64_t kMost = 100'000'000'000'000'000;
  if (!steady || !unix || *steady < 0 || *steady > kMost || *unix < 0 || *unix > kMost) return Time{0};
  const bool same_boot = words[0] == clock.boot();
  const UnixTime expected = from_unix_us(*unix) + (same_boot ? clock.steady() - Time(*steady) : Time{0});
  const Time by = clock.now() - expected;
  if (!same_boot) return std::min(by, Time{0});
  return by > kNoticed || by < -kNoticed ? by : Time{0};
}

std::string step_words(Time by, bool while_down) {
  return fmt::format("the time of day was set {} by {:.0f} s{}; run times do not change",
                     by > Time{0} ? "forward" : "back", std::abs(seconds(by)),
                     while_down ? " while the daemon was down" : "");
}

void place_exit(AttemptExit& exit, UnixTime& started, bool began_ahead, const LiveClock& clock) {
  const auto ended_steady = std::exchange(exit.ended_steady, std::nullopt);
  if (clock.boot().empty()) return;
  const UnixTime now = clock.now();
  if (ended_steady) {
    exit.ended = now - std::max(Time{0}, clock.steady() - *ended_steady);
  } else if (exit.ran && started != kNotYet && !began_ahead) {
    const Time wrong = (exit.ended - started) - *exit.ran;
    if (wrong > kNoticed || wrong < -kNoticed) started = exit.ended - *exit.ran;
  }
  exit.ended = std::min(exit.ended, now);
  if (started != kNotYet) exit.ended = std::max(exit.ended, std::min(started, now));
  if (exit.ran) exit.started = exit.ended - *exit.ran;
  exit.started = std::min(exit.started, exit.ended);
}

}  // namespace smartmig
