// Files in and out. Reading: plain or gzip, line by line, truncation noticed. Writing: whole or not at all, through a
// temporary sibling and a rename, so that no reader ever meets half a file or half a run directory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

Result<std::string> read_file(const std::string& path);  // whole file, gunzipped if it is gzip; at most 4 GiB

// Lines of a plain or gzip file, or of a string (tests, fuzzers, embedded tables), without the line end.
class LineReader {
 public:
  static Result<LineReader> open(const std::string& path);  // "-" is standard input
  static LineReader over(std::string name, std::string_view text);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // The next line, nullopt at the end; an error for a truncated gzip, a read error or a line over 16 MiB.
  // The view holds until the next call.
  Result<std::optional<std::string_view>> next();
  std::int64_t line() const { return line_; }  // number of the line last returned, from 1
  const std::string& name() const { return name_; }

 private:
  struct Stream;
  LineReader(std::string name, std::unique_ptr<Stream> stream);
  std::string name_;
  std::unique_ptr<Stream> stream_;
  std::int64_t line_ = 0;
};

Result<Ok> write_file(const std::string& path, std::string_view text);  // atomic replace

// A directory that appears whole under its final name on commit(), or not at all. The destructor removes the remains.
class OutputDir {
 public:
  static Result<OutputDir> create(const std::string& path, bool replace_existing);
  OutputDir(OutputDir&&) noexcept;
  OutputDir& operator=(OutputDir&&) = delete;
  ~OutputDir();

  Result<Ok> add(const std::string& name, std::string_view text);
  Result<Ok> commit();
  const std::string& path() const { return path_; }

 private:
  OutputDir(std::string path, std::string temporary, bool replace)
      : path_(std::move(path)), temporary_(std::move(temporary)), replace_(replace) {}
  std::string path_, temporary_;
  bool replace_ = false;
};

}  // namespace smartmig
