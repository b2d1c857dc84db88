#include "serve/api/path_looks.h"

#include <system_error>
#include <thread>
#include <utility>

#include "base/errors.h"

namespace smartmig {
namespace {

struct Look {
  std::condition_variable answered;
  std::optional<PathLooks::Seen> seen;  // guarded by the mutex of the books, as what follows
  bool late = false;
};

}  // namespace

Result<PathLooks::Seen> PathLooks::at(std::uint32_t uid, const std::string& what, std::function<Seen()> look) {
  const auto patience_s = seconds(patience_);
  {
    const std::scoped_lock lock(books_->mutex);
    const auto of_user = books_->of_user.find(uid);
    if (books_->all >= kMostUnansweredInAll || (of_user != books_->of_user.end() && of_user->second >= kMostUnanswered))
      return timeout_error("{} paths named before {} do not answer yet; submit again when they do",
                           of_user == books_->of_user.end() ? books_->all : of_user->second, what);
  }
  const auto state = std::make_shared<Look>();
  try {
    std::thread([state, books = books_, uid, look = std::move(look)] {
      Seen seen = look();
      const std::scoped_lock lock(books->mutex);
      state->seen = std::move(seen);
      if (state->late) {
        --books->all;
        if (const auto at = books->of_user.find(uid); --at->second == 0) books->of_user.erase(at);
      }
      state->answered.notify_all();
    }).detach();
  } catch (const std::system_error& failed) {
    return io_error("cannot start a thread to check {}: {}; try again", what, failed.code().message());
  }
  std::unique_lock lock(books_->mutex);
  if (state->answered.wait_for(lock, patience_, [&] { return state->seen.has_value(); }))
    return std::move(*state->seen);
  state->late = true;
  ++books_->all;
  ++books_->of_user[uid];
  return timeout_error(
      "{} does not answer within {:g} s; if it is on a network file system, submit again when "
      "that is back",
      what, patience_s);
}

int PathLooks::unanswered() const {
  const std::scoped_lock lock(books_->mutex);
  return books_->all;
}

}  // namespace smartmig
