// The formats of recorded workloads: one table with the name of each, how a file is recognised, the source of its
// documentation, and its reader. Most are a map of columns (trace_map.h); the others have their own file in this
// folder. The content decides: the columns of the header, or the shape of the first line if there is no header. Every
// file may be gzip. docs/workloads.md lists the formats.
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
  std::function<Result<LineReader>()> open;    // opens it at its start, each time
  std::function<Result<std::string>()> whole;  // reads all of it, for formats that do not stream
  CsvDialect dialect;                          // of a table, once recognised
};

struct TraceFormat {
  using Reader = Result<Workload> (*)(const TraceSource&, const TraceFormat&, const LoadOptions&);
  using Shape = bool (*)(const std::vector<std::string_view>& fields, char delimiter);

  std::string_view name, what;
  std::vector<std::string> known_by;     // columns of the header; empty: not a table with a header
  std::string_view map;                  // trace_map.h
  std::string_view source;               // the source of the header's documentation
  Reader read = nullptr;                 // null: the map suffices
  std::vector<std::string> header = {};  // column names of files without a header, in order
  Shape shape = nullptr;                 // whether this is the first line of such a file
};

const std::vector<TraceFormat>& trace_formats();

// Recognises and reads a file; generator specs are not handled here. Fills options.reading if it is set.
Result<Workload> read_trace_file(TraceSource source, const LoadOptions& options);

}  // namespace smartmig
