#include "http/http_gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::size_t kLeastBody = 1024;
constexpr int kQuick = 3, kGzip = 15 + 16;  // level for what is made anew each time; window bits with a gzip header

class Deflater {
 public:
  explicit Deflater(int level) {
    SMARTMIG_CHECK(deflateInit2(&z_, level, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib is out of memory");
  }
  ~Deflater() { deflateEnd(&z_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(std::string_view text, int flush, std::string& out) {
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z_.avail_in = uInt(text.size());
    do {
      const std::size_t had = out.size(), room = 16 << 10;
      out.resize(had + room);
      z_.next_out = reinterpret_cast<Bytef*>(out.data() + had);
      z_.avail_out = uInt(room);
      deflate(&z_, flush);
      out.resize(had + room - z_.avail_out);
    } while (z_.avail_out == 0);
  }

 private:
  z_stream z_{};
};

// Every piece can be read as soon as it has arrived.
class GzipStream final : public ReplyStream {
 public:
  explicit GzipStream(std::unique_ptr<ReplyStream> of) : of_(std::move(of)) {}
  Step pull(std::string& out) override {
    std::string piece;
    const Step step = of_->pull(piece);
    if (step == kWait) return kWait;
    deflater_.add(piece, step == kEnd ? Z_FINISH : Z_SYNC_FLUSH, out);
    return step;
  }
  bool wait(double seconds) override { return of_->wait(seconds); }

 private:
  std::unique_ptr<ReplyStream> of_;
  Deflater deflater_{kQuick};
};

bool has_header(const HttpReply& reply, std::string_view name) {
  for (const auto& header : reply.headers)
    if (header.first == name) return true;
  return false;
}

}  // namespace

bool takes_gzip(const HttpRequest& request) {
  const std::string accepted = request.header("accept-encoding");
  for (const std::string_view part : split(accepted, ',')) {
    const std::string_view coding = trim(part.substr(0, part.find(';')));
    if (coding != "gzip" && coding != "*") continue;
    const auto weight = part.find("q=");
    return weight == part.npos || part.find_first_of("123456789", weight + 2) != part.npos;
  }
  return false;
}

std::string gzip(std::string_view text, int level) {
  std::string out;
  Deflater(level).add(text, Z_FINISH, out);
  return out;
}

void pack_reply(const HttpRequest& request, HttpReply& reply) {
  if (has_header(reply, "Content-Encoding") || !takes_gzip(request)) return;
  if (reply.stream)
    reply.stream = std::make_unique<GzipStream>(std::move(reply.stream));
  else if (reply.body.size() >= kLeastBody)
    reply.body = gzip(reply.body, kQuick);
  else
    return;
  reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.headers.emplace_back("Vary", "Accept-Encoding");
}

void tag_reply(const HttpRequest& request, HttpReply& reply) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : reply.body) hash = (hash ^ std::uint8_t(c)) * 0x100000001b3;
  const std::string tag = fmt::format("\"{:016x}-{}\"", hash, reply.body.size());
  reply.headers.emplace_back("ETag", tag);
  const std::string has = request.header("if-none-match");
  if (has.find(tag) == has.npos) return;
  reply.status = 304;
  reply.body.clear();
}

}  // namespace smartmig
