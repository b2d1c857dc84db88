// Running jobs by expected finish, then id. A binary heap that knows each job's position, so a preempted job leaves in
// O(log running). Allocates only to grow.
#pragma once
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace smartmig {

class CompletionHeap {
 public:
  struct Entry {
    Time finish;
    JobId job;
  };

  explicit CompletionHeap(std::size_t jobs) : position_(jobs, kAbsent) {}
  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_.front(); }
  bool contains(JobId job) const { return position_[index(job)] != kAbsent; }

  void push(JobId job, Time finish) {
    heap_.push_back({finish, job});
    up(heap_.size() - 1, {finish, job});
  }
  void move(JobId job, Time finish) {
    remove(job);
    push(job, finish);
  }
  void pop() { remove_at(0); }
  void remove(JobId job) { remove_at(position_[index(job)]); }

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
  static bool before(const Entry& a, const Entry& b) {
    return a.finish != b.finish ? a.finish < b.finish : index(a.job) < index(b.job);
  }

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    position_[index(entry.job)] = std::uint32_t(at);
  }
  void up(std::size_t at, const Entry& entry) {
    while (at > 0 && before(entry, heap_[(at - 1) / 2])) {
      put(at, heap_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, entry);
  }
  void down(std::size_t at, const Entry& entry) {
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entry)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, entry);
  }
  void remove_at(std::size_t at) {
    position_[index(heap_[at].job)] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (at > 0 && before(last, heap_[(at - 1) / 2]))
      up(at, last);
    else
      down(at, last);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace smartmig
