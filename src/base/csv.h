// Reads delimited tables. A header line names the columns. Fields may be quoted ("" is a quote). Lines that start with
// '#' before the header are comments; comments() returns them. A byte order mark is skipped. Every error names file,
// line and column.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace smartmig {

std::string_view without_byte_order_mark(std::string_view text);  // skips EF BB BF

struct CsvDialect {
  char delimiter = ',';
  std::vector<std::string> header;  // for a file without a header line; empty: the first line is the header
};

class CsvReader {
 public:
  static Result<CsvReader> open(LineReader lines, CsvDialect dialect = {});

  // Moves to the next row; false at the end. Blank lines are skipped. A row whose width differs from the header's is an
  // error.
  Result<bool> next();

  // Index of a column, or -1.
  int column(std::string_view name) const;
  int column_in_any_case(std::string_view name) const;  // finds "Submit_Time" for "submit_time"
  Result<int> require(std::string_view name) const;
  const std::vector<std::string>& header() const { return header_; }
  const std::vector<std::string>& comments() const { return comments_; }

  // Fields of the current row. A column of -1 reads as empty.
  std::string_view text(int column) const {
    return column < 0 ? std::string_view() : std::string_view(fields_[std::size_t(column)]);
  }
  bool empty(int column) const { return text(column).empty(); }
  Result<double> number(int column) const;  // a finite number
  Result<std::int64_t> integer(int column) const;
  // Like number(), but an empty field reads as nullopt.
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
