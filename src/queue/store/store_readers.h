// The connections that read: as many as the options allow, opened when needed, each used by one thread at a time.
// Thread rule: any thread; a caller waits while all are taken.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>

#include "queue/store/sqlite_db.h"
#include "queue/store/store_rows.h"

namespace smartmig {

class StoreReaders {
 public:
  StoreReaders(std::string path, int most) : path_(std::move(path)), readers_left_(most) {}
  Result<std::optional<JobRow>> job(std::uint64_t id);
  Result<std::vector<JobRow>> find(const StoreFind& find);
  Result<std::vector<JobEnd>> ended(JobEnd after, std::int64_t before_us, int limit);
  Result<std::vector<EventRow>> events_after(std::uint64_t sequence, int limit);
  Result<std::vector<UsageRow>> usage(const StoreUsage& usage);
  Result<std::vector<DamagedRow>> damaged(int limit);
  Result<Ok> backup(const std::string& path);

 private:
  struct Reader {
    SqliteDb db;
    SqliteStatement job, events;
  };
  Result<std::unique_ptr<Reader>> open_reader();
  template <class T, class Work>
  Result<T> reading(const Work& work);

  std::string path_;
  std::mutex reading_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Reader>> idle_;
  int readers_left_;  // that may still be opened
};

template <class T, class Work>
Result<T> StoreReaders::reading(const Work& work) {
  std::unique_ptr<Reader> reader;
  {
    std::unique_lock lock(reading_);
    freed_.wait(lock, [&] { return !idle_.empty() || readers_left_ > 0; });
    if (!idle_.empty()) {
      reader = std::move(idle_.back());
      idle_.pop_back();
    } else {
      --readers_left_;
    }
  }
  Result<T> answer = Error{};
  if (!reader) {
    if (auto opened = open_reader())
      reader = std::move(*opened);
    else
      answer = opened.error();
  }
  if (reader) answer = work(*reader);
  const std::scoped_lock lock(reading_);
  if (answer)
    idle_.push_back(std::move(reader));
  else
    ++readers_left_;  // a connection that failed is not used again
  freed_.notify_one();
  return answer;
}

}  // namespace smartmig
