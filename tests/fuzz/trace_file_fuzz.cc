// Every reader of trace files: never crashes, and what it accepts is valid. The first byte chooses how the rest is
// read: recognised by its content, by a map, or as one of the formats, whatever it looks like.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/target.h"
#include "sim/traces/trace_formats.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_reading.h"

SMARTMIG_FUZZ_TARGET(trace_file) {
  using namespace smartmig;
  if (size == 0) return 0;
  const std::size_t choice = data[0];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  TraceSource source;
  source.name = "fuzz";
  source.open = [&text]() -> Result<LineReader> { return LineReader::over("fuzz", text); };
  source.whole = [&text]() -> Result<std::string> { return text; };
  TraceReading reading;
  LoadOptions options;
  options.tokens_per_s = 100;
  options.reading = &reading;
  const auto& formats = trace_formats();
  const auto check = [](const Result<Workload>& workload) {
    SMARTMIG_CHECK(!workload || validate(*workload), "an invalid workload was accepted");
  };
  if (choice >= 0xF0) {  // the text up to the first line end is the map
    const auto end = text.find('\n');
    options.map = text.substr(0, end);
    const std::string rest = end == text.npos ? std::string() : text.substr(end + 1);
    source.open = [&rest]() -> Result<LineReader> { return LineReader::over("fuzz", rest); };
    source.whole = [&rest]() -> Result<std::string> { return rest; };
    if (!options.map.empty()) check(read_trace_file(source, options));
    return 0;
  }
  if (choice >= 0xE0) {  // Gavel, with the text up to the first line end as its throughputs
    const auto end = text.find('\n');
    const std::string throughputs = text.substr(0, end), rest = end == text.npos ? std::string() : text.substr(end + 1);
    source.open = [&rest]() -> Result<LineReader> { return LineReader::over("fuzz", rest); };
    check(read_gavel_rows(source, "throughputs", throughputs, "v100", options));
    return 0;
  }
  if (choice < formats.size()) options.format = formats[choice].name;
  check(read_trace_file(source, options));
  return 0;
}
