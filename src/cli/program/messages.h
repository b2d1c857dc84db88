// Every message that the program can end with, as it stands in the sources, {} where the object is named; made while
// the program is built (cmake/messages.awk), so that the list is never out of date. Sorted by file.
#pragma once
#include <span>

namespace smartmig::cli {

struct Message {
  const char *code, *text, *file;
};

std::span<const Message> messages();

}  // namespace smartmig::cli
