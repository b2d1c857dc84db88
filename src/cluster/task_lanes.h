// Threads that send requests to agents while the controller continues. Tasks of one lane run one after another, in the
// order of posting. Lanes share a bounded number of threads, which are started when needed: a cluster of 1,000 nodes
// has thousands of lanes.
//
// An agent that does not answer occupies a thread until the time limit. To keep a dead rack from occupying all threads,
// each lane belongs to a party (a node). Parties whose last task failed share a small part of the threads until one of
// their tasks succeeds; the rest is always available to the others. The destructor waits for all tasks that have
// started and drops the rest. After `grace`, running tasks are told to give up (given_up()). post() and waiting() from
// one thread.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace smartmig {

class TaskLanes {
 public:
  struct Limits {
    std::size_t threads = 64;
    std::size_t doubtful = 16;  // of these, for parties that did not answer; below `threads`
    std::chrono::milliseconds grace{5'000};
  };
  TaskLanes();
  explicit TaskLanes(Limits limits);
  ~TaskLanes();

  using Task = std::function<bool()>;  // false: its party did not answer
  void post(const std::string& lane, const std::string& party, Task task);

  std::size_t threads();  // that were begun: never more than the limit
  std::size_t waiting();  // tasks that have not begun
  const std::atomic<bool>& given_up() const { return given_up_; }

 private:
  struct Lane {
    std::string name, party;
    std::deque<Task> tasks;
  };
  void run();
  Lane* take(bool& doubtful);   // the next lane whose turn it is; null: none may begin now
  void make_ready(Lane& lane);  // it has a task and none of its tasks runs
  std::size_t beginnable() const;
  void call_threads(std::size_t free);

  const Limits limits_;
  std::mutex mutex_;  // of all below
  std::condition_variable wake_, ended_;
  std::map<std::string, std::unique_ptr<Lane>> lanes_;  // with a task that runs or waits
  std::deque<Lane*> ready_, ready_doubtful_;
  std::set<std::string> doubted_;                              // parties
  std::size_t idle_ = 0, running_ = 0, running_doubtful_ = 0;  // idle: also one that has just been begun
  bool stop_ = false;
  std::atomic<bool> given_up_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smartmig
