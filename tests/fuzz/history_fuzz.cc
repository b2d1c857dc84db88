// Histories of past runs: never crashes, and what is accepted is written and read again alike.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "queue/learning/history.h"

SMARTMIG_FUZZ_TARGET(history) {
  using namespace smartmig;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  signature_of({std::string(text.substr(0, size / 2)), std::string(text.substr(size / 2))}, text);
  auto history = History::parse("fuzz", text);
  if (!history) return 0;
  auto again = History::parse("again", history->to_json());
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(again->to_json() == history->to_json(), "written differently");
  again->merge(*history);
  const CommandKey key{"x", {}};
  again->forecast(key, {});
  again->add(key, {10, 1, 7});
  const Forecast known = again->forecast(key, {});
  for (int k = 0; k < 7; ++k)
    SMARTMIG_CHECK(known.sizes[std::size_t(k)].s > 0 && known.sizes[std::size_t(k)].s < 1e11, "a time of {} s",
                   known.sizes[std::size_t(k)].s);
  return 0;
}
