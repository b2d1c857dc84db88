#include "base/csv.h"

#include "base/text.h"

namespace smartmig {

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

Result<CsvReader> CsvReader::open(LineReader lines, CsvDialect dialect) {
  CsvReader reader(std::move(lines));
  reader.delimiter_ = dialect.delimiter;
  if (!dialect.header.empty()) {
    reader.header_ = std::move(dialect.header);
    return reader;
  }
  for (;;) {
    SMARTMIG_TRY(auto line, reader.lines_.next());
    if (!line) return invalid("{} is empty; it needs a header line with the column names", reader.name());
    if (reader.lines_.line() == 1) line = without_byte_order_mark(*line);
    if (trim(*line).empty()) continue;
    if (line->front() == '#') {
      reader.comments_.emplace_back(*line);
      continue;
    }
    SMARTMIG_RETURN_IF_ERROR(reader.parse(*line));
    reader.header_ = reader.fields_;
    for (std::string& name : reader.header_) name = std::string(trim(name));
    return reader;
  }
}

Result<bool> CsvReader::next() {
  for (;;) {
    SMARTMIG_TRY(auto line, lines_.next());
    if (!line) return false;
    if (lines_.line() == 1) line = without_byte_order_mark(*line);
    if (trim(*line).empty()) continue;
    SMARTMIG_RETURN_IF_ERROR(parse(*line));
    if (fields_.size() != header_.size())
      return invalid("{} line {}: {} fields where the header has {}", name(), lines_.line(), fields_.size(),
                     header_.size());
    return true;
  }
}

Result<Ok> CsvReader::parse(std::string_view line) {
  std::size_t count = 0, i = 0;
  for (;;) {
    if (count == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[count++];
    field.clear();
    if (i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i >= line.size()) return invalid("{} line {}: a quoted field is not closed", name(), lines_.line());
        if (line[i] != '"')
          field += line[i];
        else if (i + 1 < line.size() && line[i + 1] == '"')
          field += line[++i];
        else
          break;
      }
      ++i;
      if (i < line.size() && line[i] != delimiter_)
        return invalid("{} line {}: text after a closing quote", name(), lines_.line());
    } else {
      const std::size_t comma = line.find(delimiter_, i);
      field = std::string(trim(line.substr(i, comma == line.npos ? line.npos : comma - i)));
      i = comma == line.npos ? line.size() : comma;
    }
    if (i >= line.size()) break;
    ++i;  // the comma; a trailing one adds a last, empty field
  }
  fields_.resize(count);
  return Ok{};
}

int CsvReader::column(std::string_view wanted) const {
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i] == wanted) return int(i);
  return -1;
}

int CsvReader::column_in_any_case(std::string_view wanted) const {
  if (const int exact = column(wanted); exact >= 0) return exact;
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (lower(header_[i]) == lower(wanted)) return int(i);
  return -1;
}

Result<int> CsvReader::require(std::string_view wanted) const {
  const int found = column(wanted);
  if (found < 0) return invalid("{}: the header has no column '{}'", name(), wanted);
  return found;
}

Result<double> CsvReader::number(int column) const {
  const auto value = parse_double(text(column));
  if (!value) return error(column, fmt::format("'{}' is not a finite number", text(column)));
  return *value;
}

Result<std::int64_t> CsvReader::integer(int column) const {
  const auto value = parse_int(text(column));
  if (!value) return error(column, fmt::format("'{}' is not a whole number", text(column)));
  return *value;
}

Result<std::optional<double>> CsvReader::optional_number(int column) const {
  if (empty(column)) return std::optional<double>();
  SMARTMIG_TRY(const double value, number(column));
  return std::optional<double>(value);
}

Error CsvReader::error(int column, std::string_view message) const {
  return invalid("{} line {}, column '{}': {}", name(), lines_.line(), column < 0 ? "?" : header_[std::size_t(column)],
                 message);
}

}  // namespace smartmig
