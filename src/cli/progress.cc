#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace smartmig::cli {

Progress::Progress(std::string label)
    : label_(std::move(label)),
      terminal_(isatty(STDERR_FILENO)),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::set(double share) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  share = std::clamp(share, 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const int filled = int(share * 30);
  const std::string left = share > 0.01 ? fmt::format("{:.0f} s left", elapsed / share * (1 - share)) : "";
  fmt::print(stderr, "\r\033[K{} [{}{}] {:3.0f} %  {}", label_, std::string(std::size_t(filled), '#'),
             std::string(std::size_t(30 - filled), '.'), share * 100, left);
  std::fflush(stderr);
}

}  // namespace smartmig::cli
