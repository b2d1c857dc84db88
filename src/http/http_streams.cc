#include "http/http_streams.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/thread.h"

namespace smartmig {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // handed to the library at once
constexpr double kTick = 0.2;             // seconds between looks at what waits
constexpr std::chrono::milliseconds kLeastTick{10};

bool has_left(int fd) {
  pollfd look{fd, POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

}  // namespace

struct HttpStreams::Stream {
  std::unique_ptr<ReplyStream> source;  // used by one task at a time
  std::uint64_t owner = 0;
  MHD_Connection* connection = nullptr;
  int fd = -1;
  std::mutex mutex;  // of what follows
  std::string piece;
  std::size_t sent = 0;
  bool ended = false, gone = false;

  void resume(bool end, bool left) {
    {
      const std::scoped_lock lock(mutex);
      ended = end;
      gone = left;
    }
    MHD_resume_connection(connection);
  }
};

struct HttpStreams::Holder {
  HttpStreams* room;
  Shared stream;
};

std::optional<int> HttpStreams::full(std::uint64_t owner, bool stranger) const {
  if (open_in_all_ >= most_) return most_;
  const int most = std::min(most_, stranger ? std::max(1, most_ / 2) : most_of_peer_);
  const auto at = open_.find(owner);
  return at != open_.end() && at->second >= most ? std::optional(most) : std::nullopt;
}

MHD_Response* HttpStreams::respond(MHD_Connection* connection, int fd, std::uint64_t owner,
                                   std::unique_ptr<ReplyStream> source) {
  auto stream = std::make_shared<Stream>();
  stream->owner = owner;
  stream->source = std::move(source);
  stream->connection = connection;
  stream->fd = fd;
  auto* holder = new Holder{this, std::move(stream)};
  ++open_[owner];
  ++open_in_all_;
  return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kPiece, &HttpStreams::on_piece, holder,
                                           &HttpStreams::on_end);
}

ssize_t HttpStreams::on_piece(void* holder, std::uint64_t, char* buffer, std::size_t room_left) {
  auto& [room, stream] = *static_cast<Holder*>(holder);
  {
    const std::scoped_lock lock(stream->mutex);
    if (stream->gone) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (const std::size_t left = stream->piece.size() - stream->sent; left > 0) {
      const std::size_t n = std::min(left, room_left);
      std::memcpy(buffer, stream->piece.data() + stream->sent, n);
      stream->sent += n;
      return ssize_t(n);
    }
    if (stream->ended) return MHD_CONTENT_READER_END_OF_STREAM;
  }
  MHD_suspend_connection(stream->connection);
  room->try_again(stream);
  return 0;
}

void HttpStreams::on_end(void* held) {
  auto* holder = static_cast<Holder*>(held);
  HttpStreams& room = *holder->room;
  --room.open_in_all_;
  if (const auto at = room.open_.find(holder->stream->owner); --at->second == 0) room.open_.erase(at);
  delete holder;
}

void HttpStreams::try_again(const Shared& stream) {
  const bool taken =
      queue_.add([this, stream] { next_piece(stream); }, stream->owner, false, SIZE_MAX) == WorkQueue::Taken::kYes;
  if (!taken) stream->resume(true, false);  // the server stops
}

void HttpStreams::next_piece(const Shared& stream) {
  std::string piece;
  const auto step = stream->source->pull(piece);
  if (step == ReplyStream::kWait) {
    const std::scoped_lock lock(mutex_);
    if (!stopping_) {
      waiting_.push_back(stream);
      changed_.notify_all();
      return;
    }
  }
  {
    const std::scoped_lock lock(stream->mutex);
    stream->piece = std::move(piece);
    stream->sent = 0;
  }
  stream->resume(step != ReplyStream::kData, false);
}

void HttpStreams::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto list = waiting_;
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    bool waited = false;
    for (const Shared& stream : list)
      if ((waited = stream->source->wait(kTick))) break;
    lock.lock();
    const auto pause = waited ? kLeastTick : std::chrono::milliseconds(int(kTick * 1000));
    changed_.wait_until(lock, begun + pause, [&] { return stopping_; });
    if (stopping_) return;
    const auto ready = std::exchange(waiting_, {});
    lock.unlock();
    for (const Shared& stream : ready) {
      if (has_left(stream->fd))
        stream->resume(true, true);
      else
        try_again(stream);
    }
    lock.lock();
  }
}

Result<Ok> HttpStreams::start() {
  SMARTMIG_TRY(watcher_, start_thread("streams", [this] { watch(); }));
  return Ok{};
}

void HttpStreams::stop_watching() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
}

void HttpStreams::end_waiting() {
  for (const Shared& stream : std::exchange(waiting_, {})) stream->resume(true, false);
}

}  // namespace smartmig
