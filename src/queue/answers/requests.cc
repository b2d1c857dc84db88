#include "queue/answers/requests.h"

#include "base/errors.h"

namespace smartmig {

Error going_down() { return lost_error("the daemon is stopping; try again when it has restarted"); }

bool Requests::add(Request request) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    waiting_.push_back(std::move(request));
  }
  clock_.wake();
  return true;
}

void Requests::carry_out(const std::function<Result<Ok>()>& can_change) {
  std::deque<Request> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(waiting_);
  }
  Result<Ok> can = Ok{};  // the first refusal is that of all others: a store that is locked is waited for once
  for (Request& request : taken) {
    if (request.changes && can && can_change) can = can_change();
    request.work(request.changes && !can ? &can.error() : nullptr);
    answers_.push_back(std::move(request.answer));
  }
}

void Requests::answer(const Error* not_stored) {
  for (Answer& answer : std::exchange(answers_, {})) answer(not_stored);
}

void Requests::stored(std::uint64_t journal_position) {
  {
    std::lock_guard lock(news_mutex_);
    stored_position_ = journal_position;
  }
  news_.notify_all();
}

bool Requests::wait_for_news(std::uint64_t position, double seconds) const {
  std::unique_lock lock(news_mutex_);
  news_.wait_for(lock, std::chrono::duration<double>(seconds),
                 [&] { return stored_position_ > position || stopping_.load(); });
  return !stopping_;
}

void Requests::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  clock_.wake();
}

void Requests::close() {
  {
    std::lock_guard lock(mutex_);
    for (Request& request : waiting_) answers_.push_back(std::move(request.answer));
    waiting_.clear();
  }
  const Error gone = going_down();
  answer(&gone);
  news_.notify_all();
}

}  // namespace smartmig
