// The files of data/ and web/plain/ as strings inside the program. One binary carries its tables and the drawing code
// of its reports, and needs no path at run time. cmake/embed.cmake generates them. Names are relative to their folder:
// "gpus.csv".
#pragma once
#include <span>
#include <string_view>

namespace smartmig {

struct EmbeddedFile {
  const char* name;
  const char* begin;
  const char* end;
  std::string_view text() const { return {begin, std::size_t(end - begin)}; }
};

std::span<const EmbeddedFile> embedded_files();

// The text of one embedded file. A missing file is a bug of the build.
std::string_view embedded_file(std::string_view name);
std::string_view text_of(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace smartmig
