// The formats of recorded workloads: one table with the name of each, what a file is known by, who documents it, and
// its reader. Most are a map of columns (trace_map.h); the others have a file of their own beside this one. A file is
// recognised by its content: the columns of its header, or the shape of its first line where it has no header. Every
// file may be gzip. docs/workloads.md lists them.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "sim/workload_spec.h"

namespace smartmig {

struct TraceSource {
  std::string name;
  std::function<Result<LineReader>()> open;    // from its beginning, each time
  std::function<Result<std::string>()> whole;  // all of it, for formats that do not stream
  CsvDialect dialect;                          // of a table, once it is recognised
};

struct TraceFormat {
  using Reader = Result<Workload> (*)(const TraceSource&, const TraceFormat&, const LoadOptions&);
  using Shape = bool (*)(const std::vector<std::string_view>& fields, char delimiter);

  std::string_view name, what;
  std::vector<std::string> known_by;     // columns of the header; empty: no table with a header
  std::string_view map;                  // trace_map.h
  std::string_view source;               // who documents the header
  Reader read = nullptr;                 // null: by the map alone
  std::vector<std::string> header = {};  // of files without one, in order
  Shape shape = nullptr;                 // is this the first line of such a file?
};

const std::vector<TraceFormat>& trace_formats();

// Recognises and reads a file that is no generator spec. Fills options.reading where there is one.
Result<Workload> read_trace_file(TraceSource source, const LoadOptions& options);

}  // namespace smartmig
