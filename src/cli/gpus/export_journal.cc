// smartmig export --journal: the daemon's journal as JSON lines, the form that the simulator writes and replay reads.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/queue/daemon_options.h"
#include "cli/verbs.h"

namespace smartmig::cli {

int run_export_journal(const Arguments& arguments) {
  DaemonOptions options;
  std::string output;
  bool journal = false;
  Command cmd("export", "--journal",
              "Writes the daemon's journal as JSON lines, the format that smartmig sim writes and "
              "smartmig replay reads.",
              "smartmig export --journal -o journal.jsonl");
  cmd.flag("--journal", journal, "write the daemon's journal");
  cmd.option("--output", output, "FILE", "write to this file, which appears once it is complete")
      .alias("-o")
      .also("--output-file");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  auto client = options.connect();
  if (!client) return failure(client.error());
  const std::string temporary = output + fmt::format(".{}.part", ::getpid());
  std::FILE* file = output.empty() ? stdout : std::fopen(temporary.c_str(), "wxe");
  if (!file) return failure(io_error("cannot write {}: {}", temporary, std::strerror(errno)));
  bool written = true;
  auto read = client->stream("/v1/journal", [&](std::string_view piece) {
    written = std::fwrite(piece.data(), 1, piece.size(), file) == piece.size();
    return written;
  });
  written = std::fflush(file) == 0 && written;
  if (!output.empty()) {
    written = std::fclose(file) == 0 && written;
    if (read && written && std::rename(temporary.c_str(), output.c_str()) == 0) return 0;
    const int problem = errno;
    std::remove(temporary.c_str());
    if (read) return failure(io_error("cannot write {}: {}", output, std::strerror(problem)));
  }
  if (!read) return failure(read.error());
  return written ? 0 : failure(io_error("standard output cannot be written"));
}

}  // namespace smartmig::cli
