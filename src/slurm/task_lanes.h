// Threads that ask agents while the controller goes on: one lane for each name, tasks of a lane one after another in the
// order of posting. Ends when every task that was begun has ended; the rest is dropped. Thread rule: post() from one
// thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace smartmig {

class TaskLanes {
 public:
  ~TaskLanes();
  void post(const std::string& lane, std::function<void()> task);

 private:
  struct Lane {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::function<void()>> tasks;
    bool stop = false;
    std::thread thread;
    void run();
  };
  std::map<std::string, std::unique_ptr<Lane>> lanes_;
};

}  // namespace smartmig
