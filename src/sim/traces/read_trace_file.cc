// Recognises the format of a file and calls its reader.
#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "sim/sacct.h"
#include "sim/traces/map_guess.h"
#include "sim/traces/trace_formats.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_rows.h"

namespace smartmig {
namespace {

struct FirstLine {
  std::string text;  // without comments, blank lines and the byte order mark
  std::int64_t line = 0;
};

Result<FirstLine> first_line(const TraceSource& source) {
  SMARTMIG_TRY(LineReader lines, source.open());
  for (;;) {
    SMARTMIG_TRY(auto line, lines.next());
    if (!line)
      return invalid("{} is empty; a workload file has a header line, a JSON object or SWF lines", source.name);
    if (lines.line() == 1) line = without_byte_order_mark(*line);
    if (line->starts_with("PAR1"))
      return invalid("{} is Parquet; export the table to CSV with its own column names", source.name);
    if (line->starts_with("PK\x03\x04"))
      return invalid("{} is a ZIP archive; unpack it and give the file in it", source.name);
    if (line->size() > 262 && line->substr(257, 5) == "ustar")
      return invalid("{} is a tar archive; give the file in it, for example tar xzOf {} | smartmig workload -",
                     source.name, source.name);
    const std::string_view text = trim(*line);
    if (text.empty() || text[0] == '#') continue;
    return FirstLine{std::string(text), lines.line()};
  }
}

char delimiter_of(std::string_view line) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char c : {',', '\t', ';', '|'})
    if (const auto count = std::count(line.begin(), line.end(), c); count > most) {
      most = count;
      best = c;
    }
  return best;
}

std::string delimiter_words(char c) {
  return c == '\t'  ? "tab-separated"
         : c == ';' ? "semicolon-separated"
         : c == '|' ? "bar-separated"
                    : "comma-separated";
}

Result<std::vector<std::string>> header_of(const TraceSource& source, const FirstLine& first, char delimiter) {
  SMARTMIG_TRY(const CsvReader csv, CsvReader::open(LineReader::over(source.name, first.text), {delimiter, {}}));
  return csv.header();
}

std::vector<std::string> missing_columns(const TraceFormat& format, const std::vector<std::string>& header) {
  std::vector<std::string> missing;
  for (const std::string& column : format.known_by)
    if (std::none_of(header.begin(), header.end(),
                     [&](const std::string& name) { return lower(name) == lower(column); }))
      missing.push_back(column);
  return missing;
}

const TraceFormat* format_named(std::string_view name) {
  for (const TraceFormat& format : trace_formats())
    if (format.name == name) return &format;
  return nullptr;
}

Error unknown_format(const std::string& name) {
  std::vector<std::string> names;
  for (const TraceFormat& format : trace_formats()) names.emplace_back(format.name);
  const std::string near = nearest(name, names);
  return invalid("unknown format '{}'{}; choose one of {}", name,
                 near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", "));
}

const TraceFormat* json_format(const FirstLine& first) {
  if (first.text[0] == '[') return format_named("philly");
  const auto object = Json::parse(first.text, nullptr, false);
  const bool complete = !object.is_discarded() && object.is_object();
  return format_named(complete && (object.contains("arrivalMS") || object.contains("computeCoreMS")) ? "migbench"
                                                                                                     : "batsim");
}

Error not_recognised(const TraceSource& source, const FirstLine& first, const std::vector<std::string>& header) {
  const TraceFormat* nearest_format = nullptr;
  std::vector<std::string> lacking;
  for (const TraceFormat& format : trace_formats()) {
    auto missing = missing_columns(format, header);
    if (format.known_by.empty() || 2 * missing.size() > format.known_by.size()) continue;
    if (nearest_format == nullptr || missing.size() < lacking.size()) {
      nearest_format = &format;
      lacking = std::move(missing);
    }
  }
  std::string near;
  if (nearest_format != nullptr)
    near = fmt::format("; it is nearest to {}, but lacks {}", nearest_format->name, fmt::join(lacking, ", "));
  const MapGuess guess = guess_map(header);
  return invalid(
      "{} line {} starts no known workload format: its columns are {}{}. Say which column means what (docs/workloads.md): "
      "--map '{}'{}",
      source.name, first.line, fmt::join(header, ", "), near, guess.text,
      guess.missing.empty() ? "" : fmt::format("; no column looks like {}", fmt::join(guess.missing, " or ")));
}

struct Recognised {
  const TraceFormat* format = nullptr;
  CsvDialect dialect;
  std::vector<std::string> columns;
  std::string why;
};

Result<Recognised> recognise(const TraceSource& source, const FirstLine& first, const std::string& wanted) {
  Recognised out;
  const TraceFormat* asked = nullptr;
  if (!wanted.empty()) {
    asked = format_named(wanted);
    if (asked == nullptr) return unknown_format(wanted);
  }
  const std::string name = lower(source.name);
  const auto settle = [&](const TraceFormat* format, std::string why) {
    out.format = format;
    out.why = asked != nullptr ? "--format" : std::move(why);
    return out;
  };
  if (first.text[0] == '{' || first.text[0] == '[')
    return settle(asked != nullptr ? asked : json_format(first), "its JSON keys");
  if (asked == nullptr && (first.text[0] == ';' || name.ends_with(".swf") || name.ends_with(".swf.gz")))
    return settle(format_named("swf"), "its first line");
  if (asked == nullptr && is_sacct_header(first.text)) return settle(format_named("sacct"), "its columns");
  out.dialect.delimiter = delimiter_of(first.text);
  const std::vector<std::string_view> fields = split(first.text, out.dialect.delimiter);
  SMARTMIG_TRY(out.columns, header_of(source, first, out.dialect.delimiter));
  const TraceFormat* best = nullptr;
  for (const TraceFormat& format : trace_formats()) {
    if (asked != nullptr && asked != &format) continue;
    if (!format.known_by.empty() && missing_columns(format, out.columns).empty() &&
        (best == nullptr || format.known_by.size() > best->known_by.size()))
      best = &format;
  }
  if (best != nullptr) return settle(best, "the columns " + fmt::format("{}", fmt::join(best->known_by, ", ")));
  // A file that resembles a job CSV is read as one: its reader says which column is wrong.
  for (const std::string& column : out.columns)
    if (asked == nullptr && (column == "submit_s" || column == "work_1g_s")) return settle(format_named("job-csv"), "");
  for (const TraceFormat& format : trace_formats()) {
    if (asked != nullptr ? asked != &format : format.shape == nullptr || !format.shape(fields, out.dialect.delimiter))
      continue;
    if (!format.known_by.empty() && format.header.empty()) continue;  // describes a table without a header
    if (!format.header.empty()) {
      out.dialect.header = format.header;
      if (fields.size() > format.header.size())
        return invalid("{} line {}: {} fields where {} has {}", source.name, first.line, fields.size(), format.name,
                       format.header.size());
    }
    return settle(&format, "the shape of its first line (it has no header)");
  }
  if (asked != nullptr)
    return invalid("{} is not {}: its header lacks {}", source.name, asked->name,
                   fmt::join(missing_columns(*asked, out.columns), ", "));
  return not_recognised(source, first, out.columns);
}

Result<Workload> told_as_map(Result<Workload> workload, const LoadOptions& options) {
  if (workload && options.reading != nullptr) options.reading->map = map_of(*options.reading);
  return workload;
}

// --map on a file of any table. If the map gives all columns by number, there is no header.
Result<Workload> read_by_map(TraceSource source, const FirstLine& first, const LoadOptions& options) {
  SMARTMIG_TRY(const TraceMap map, parse_trace_map(options.map));
  source.dialect.delimiter = delimiter_of(first.text);
  SMARTMIG_TRY(const auto columns, header_of(source, first, source.dialect.delimiter));
  const bool by_number = std::all_of(map.entries.begin(), map.entries.end(), [](const TraceMap::Entry& entry) {
    return !entry.given() || entry.constant || entry.column[0] == '#';
  });
  if (by_number)
    for (std::size_t c = 0; c < columns.size(); ++c) source.dialect.header.push_back(fmt::format("#{}", c + 1));
  if (options.reading != nullptr) {
    options.reading->format = "map";
    options.reading->what = "a table with the columns of --map";
    options.reading->known_by = "--map";
    options.reading->layout = fmt::format("{}, {} columns, {}", delimiter_words(source.dialect.delimiter),
                                          columns.size(), by_number ? "no header" : "header");
  }
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), source.dialect));
  return told_as_map(read_trace_rows(std::move(csv), map, options), options);
}

// The columns of the map that the file has: a format's optional ones may be missing, those of known_by are there.
TraceMap within_file(TraceMap map, const CsvReader& csv) {
  for (TraceMap::Entry& entry : map.entries)
    if (entry.given() && !entry.constant && csv.column_in_any_case(entry.column) < 0) entry = {};
  return map;
}

}  // namespace

Result<Workload> read_trace_file(TraceSource source, const LoadOptions& options) {
  auto first = first_line(source);
  if (!first) {  // a JSON file may be one line that exceeds the limit
    const auto text = source.whole();
    const std::string_view begin = text ? trim(without_byte_order_mark(*text)) : std::string_view();
    if (begin.empty() || (begin[0] != '[' && begin[0] != '{')) return first.error();
    first = FirstLine{std::string(1, begin[0]), 1};
  }
  if (!options.map.empty()) {
    if (!options.format.empty()) return invalid("--map names the columns; leave out --format");
    return read_by_map(std::move(source), *first, options);
  }
  SMARTMIG_TRY(Recognised found, recognise(source, *first, options.format));
  source.dialect = std::move(found.dialect);
  const TraceFormat& format = *found.format;
  if (TraceReading* reading = options.reading; reading != nullptr) {
    reading->format = format.name;
    reading->what = format.what;
    reading->known_by = found.why;
    reading->source = format.source;
    if (!found.columns.empty())
      reading->layout = fmt::format("{}, {} columns, {}", delimiter_words(source.dialect.delimiter),
                                    found.columns.size(), source.dialect.header.empty() ? "header" : "no header");
  }
  if (format.read != nullptr) return format.read(source, format, options);
  SMARTMIG_TRY(const TraceMap map, parse_trace_map(format.map));
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), source.dialect));
  const TraceMap own = within_file(map, csv);
  return told_as_map(read_trace_rows(std::move(csv), own, options), options);
}

}  // namespace smartmig
