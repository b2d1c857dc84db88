// Reads and writes files. Reading takes plain or gzip files, line by line, and notices truncation. Writing goes through
// a temporary sibling and a rename, so a reader never sees half a file or half a run directory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

Result<std::string> read_file(const std::string& path);  // the whole file, unpacked if it is gzip; at most 4 GiB

// Lines of a plain or gzip file, or of a string (tests, fuzzers, embedded tables), without the line end.
class LineReader {
 public:
  static Result<LineReader> open(const std::string& path);  // "-" is standard input
  static LineReader over(std::string name, std::string_view text);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // Returns the next line, or nullopt at the end. A truncated gzip, a read error or a line over 16 MiB is an error.
  // The view is valid until the next call.
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

Result<Ok> write_file(const std::string& path, std::string_view text);  // replaces the file atomically

// A directory that appears under its final name on commit(), whole. Without commit() the destructor removes it.
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
