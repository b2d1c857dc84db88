#include "queue/answers/requests.h"

#include <gtest/gtest.h>

#include <thread>

namespace smartmig {
namespace {

// Asks on a thread of its own while `owner` plays the daemon.
template <class T>
Result<T> ask_while(Requests& requests, std::function<Result<T>()> work, bool changes,
                    const std::function<void()>& owner) {
  auto answer = std::async(std::launch::async, [&] { return requests.ask<T>(work, changes); });
  while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) owner();
  return answer.get();
}

TEST(RequestsThread, AnAnswerComesAfterTheCommit) {
  RealClock clock;
  Requests requests(clock);
  bool worked = false, stored = false;
  const auto answer = ask_while<bool>(
      requests,
      [&]() -> Result<bool> {
        worked = true;
        return stored;
      },
      true,
      [&] {
        requests.carry_out();
        stored = worked;
        requests.answer(nullptr);
      });
  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer) << "the work was done before";
}

TEST(RequestsThread, WhatCouldNotBeStoredIsAnErrorForWhoChangesSomething) {
  RealClock clock;
  Requests requests(clock);
  const Error full{Error::kIo, "no space left"};
  const auto owner = [&] {
    requests.carry_out();
    requests.answer(&full);
  };
  const auto work = []() -> Result<int> { return 1; };
  EXPECT_EQ(ask_while<int>(requests, work, true, owner).error().what, "no space left");
  EXPECT_TRUE(ask_while<int>(requests, work, false, owner)) << "a question only";
}

TEST(RequestsThread, WhatCannotBeStoredIsNotDone) {
  RealClock clock;
  Requests requests(clock);
  int asked = 0, done = 0;
  const auto owner = [&] {
    requests.carry_out([&]() -> Result<Ok> { return ++asked, io_error("no space left"); });
    requests.answer(nullptr);
  };
  const auto work = [&]() -> Result<int> { return ++done; };
  EXPECT_EQ(ask_while<int>(requests, work, true, owner).error().what, "no space left");
  EXPECT_EQ(done, 0);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(ask_while<int>(requests, work, false, owner)) << "a question only";
  EXPECT_EQ(done, 1);
  EXPECT_EQ(asked, 1);
}

TEST(RequestsThread, ADaemonThatGoesDownAnswersWhoAskedTooLate) {
  RealClock clock;
  Requests requests(clock);
  const auto late = ask_while<int>(
      requests, []() -> Result<int> { return 1; }, false,
      [&] {
        requests.stop();
        requests.close();
      });
  EXPECT_EQ(late.error().code, Error::kLost);
  EXPECT_EQ(requests.ask<int>([]() -> Result<int> { return 1; }, false).error().code, Error::kLost);
  EXPECT_FALSE(requests.wait_for_news(0, 10)) << "at once";
}

TEST(RequestsThread, NewsEndTheWait) {
  RealClock clock;
  Requests requests(clock);
  requests.stored(3);
  EXPECT_TRUE(requests.wait_for_news(2, 10));
  EXPECT_TRUE(requests.wait_for_news(3, 0.001)) << "time is over";
}

}  // namespace
}  // namespace smartmig
