// Delimited tables: a header line names the columns, fields may be quoted ("" is a quote), lines that start with '#'
// before the header are comments, handed out by comments(). A byte order mark is passed over. Every complaint names
// file, line and column.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace smartmig {

std::string_view without_byte_order_mark(std::string_view text);  // the three bytes that some programs begin UTF-8 with

struct CsvDialect {
  char delimiter = ',';
  std::vector<std::string> header;  // of a file that has none; empty: its first line
};

class CsvReader {
 public:
  static Result<CsvReader> open(LineReader lines, CsvDialect dialect = {});

  // Moves to the next row; false at the end. Blank lines are skipped; a row of another width than the header is an
  // error.
  Result<bool> next();

  // Index of a column, or -1.
  int column(std::string_view name) const;
  int column_in_any_case(std::string_view name) const;  // "Submit_Time" for "submit_time"
  Result<int> require(std::string_view name) const;
  const std::vector<std::string>& header() const { return header_; }
  const std::vector<std::string>& comments() const { return comments_; }

  // Fields of the current row. A column of -1 reads as empty.
  std::string_view text(int column) const {
    return column < 0 ? std::string_view() : std::string_view(fields_[std::size_t(column)]);
  }
  bool empty(int column) const { return text(column).empty(); }
  Result<double> number(int column) const;  // finite
  Result<std::int64_t> integer(int column) const;
  // number(), with an empty field reading as nullopt.
  Result<std::optional<double>> optional_number(int column) const;

  Error error(int column, std::string_view message) const;  // "FILE line N, column 'NAME': message"
  std::int64_t line() const { return lines_.line(); }
  const std::string& name() const { return lines_.name(); }

 private:
  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}
  Result<Ok> parse(std::string_view line);
  LineReader lines_;
  char delimiter_ = ',';
  std::vector<std::string> header_, fields_, comments_;
};

}  // namespace smartmig
