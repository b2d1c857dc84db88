// The terminal of a full-screen view: raw keys, the alternate screen, no cursor. The previous state is restored however
// the program ends (return, error, signal, crash). Ctrl-Z restores it too, and continuing takes the terminal again. One
// instance at a time; main thread only.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig::cli {

class Terminal {
 public:
  static Result<Terminal> open();  // standard input and output must be terminals
  Terminal(Terminal&& other) noexcept : held_(other.held_) { other.held_ = false; }
  ~Terminal();

  enum class Key { kNone, kOther, kQuit, kSpace, kPause, kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kEnded };
  // The next key, or kNone after `seconds` or when the size changed; kEnded: a signal asks to end.
  Key wait_key(double seconds);
  void show(const std::string& frame);  // whole screen, from its top left corner

 private:
  Terminal() = default;
  bool held_ = true;
};

struct TerminalSize {
  int width = 80, height = 24;
};
TerminalSize terminal_size();  // of standard output, else COLUMNS and LINES, else 80 x 24

}  // namespace smartmig::cli
