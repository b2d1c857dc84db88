#include "queue/policies/advisor.h"

#include "base/thread.h"

namespace smartmig {

Advisor::~Advisor() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Advisor::Answer Advisor::think(const Fork& fork, const std::vector<Candidate>& candidates) {
  Answer answer;
  answer.asked = fork.now;
  for (const Candidate& candidate : candidates) {
    answer.names.push_back(candidate.name);
    auto outcome = run_future(fork, candidate.policy);
    answer.outcomes.push_back(outcome ? std::optional(std::move(*outcome)) : std::nullopt);
  }
  return answer;
}

bool Advisor::ask(Fork fork, std::vector<Candidate> candidates) {
  if (in_line_) {
    answer_ = think(fork, candidates);
    return true;
  }
  std::lock_guard lock(mutex_);
  if (thinking_ || question_) return false;
  if (!thread_.joinable()) {
    auto thread = start_thread("the comparison of policies", [this] { work(); });
    if (!thread) return false;
    thread_ = std::move(*thread);
  }
  question_.emplace(std::move(fork), std::move(candidates));
  wake_.notify_one();
  return true;
}

std::optional<Advisor::Answer> Advisor::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

void Advisor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || question_; });
    if (stop_) return;
    const auto question = std::move(*question_);
    question_.reset();
    thinking_ = true;
    lock.unlock();
    Answer answer = think(question.first, question.second);
    lock.lock();
    answer_ = std::move(answer);
    thinking_ = false;
    lock.unlock();
    done_();
    lock.lock();
  }
}

}  // namespace smartmig
