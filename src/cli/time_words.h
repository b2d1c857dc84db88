// Reads and writes amounts of time, memory and energy at the command line. Reading follows Slurm if Slurm has a form: a
// bare number for --time means minutes; "16:00" is minutes and seconds as a duration, but a clock time as an instant;
// "1-12:00:00" is days and hours. Written values always have a unit. Clock times are local (TZ).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_words.h"
#include "base/result.h"
#include "base/units.h"

namespace smartmig::cli {

UnixTime unix_now();
UnixTime midnight_before(UnixTime now);  // the last one, of the local clock

// "30m", "2h", "1h30m", "1.5d", "90s"; "90" in `bare` units; "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS".
Result<Time> read_duration(std::string_view text, Time bare);
// "16:00" (the next one), "2026-11-15T16:00[:SS][Z|+01:00]", "2026-11-15", "now+2h".
Result<UnixTime> read_instant(std::string_view text, UnixTime now);
// "18G", "512M", "1.5T", "20480" (MiB), with or without B or iB: MiB, rounded up.
Result<int> read_mib(std::string_view text);

struct TaskList {
  std::vector<int> tasks;  // ascending, each once
  int limit = 0;           // at once; 0: no limit
};
Result<TaskList> read_tasks(std::string_view text);  // "0-15%4", "1,3,5-9:2"

using smartmig::duration_words;
std::string relative_words(double at_s, double now_s);        // "in 12 min", "3 min ago", "now"
std::string clock_words(double at_s, double now_s);           // "16:04", "Tue 16:04", "2026-11-15 16:04"
std::string when_words(double at_s, double now_s);            // "16:04 (in 12 min)"
std::string energy_words(double joules);                      // "512 J", "33.1 kJ", "4.20 kWh"
std::string mib_words(double mib);                            // "512 MiB", "18.0 GiB"
std::string cost_words(double cost);                          // "0.42"
std::string cut(std::string_view text, std::size_t columns);  // at most so many code points; "..." where it was cut

}  // namespace smartmig::cli
