#include "http/http_gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace smartmig {
namespace {

std::string unpacked(const std::string& packed) {
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, 15 + 16), Z_OK);
  std::string out(1 << 20, 0);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = uInt(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = uInt(out.size());
  inflate(&z, Z_SYNC_FLUSH);
  out.resize(out.size() - z.avail_out);
  inflateEnd(&z);
  return out;
}

HttpRequest request_with(const char* name, const std::string& value) {
  HttpRequest request;
  request.headers[name] = value;
  return request;
}

std::string header_of(const HttpReply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers)
    if (key == name) return value;
  return {};
}

TEST(HttpGzip, OnlyForThoseThatTakeIt) {
  EXPECT_FALSE(takes_gzip({}));
  EXPECT_TRUE(takes_gzip(request_with("accept-encoding", "gzip, deflate, br")));
  EXPECT_TRUE(takes_gzip(request_with("accept-encoding", "br;q=1.0, gzip;q=0.8")));
  EXPECT_FALSE(takes_gzip(request_with("accept-encoding", "gzip;q=0, br")));
  EXPECT_FALSE(takes_gzip(request_with("accept-encoding", "identity")));
  HttpReply reply;
  reply.body.assign(5000, 'x');
  pack_reply({}, reply);
  EXPECT_EQ(reply.body.size(), 5000u);
  EXPECT_TRUE(reply.headers.empty());
}

TEST(HttpGzip, PacksABodyOnce) {
  const HttpRequest request = request_with("accept-encoding", "gzip");
  HttpReply reply, small;
  reply.body.assign(5000, 'x');
  small.body = "{}";
  for (int i = 0; i < 2; ++i) pack_reply(request, reply);
  pack_reply(request, small);
  EXPECT_LT(reply.body.size(), 100u);
  EXPECT_EQ(unpacked(reply.body), std::string(5000, 'x'));
  EXPECT_EQ(header_of(reply, "Content-Encoding"), "gzip");
  EXPECT_EQ(header_of(reply, "Vary"), "Accept-Encoding");
  EXPECT_EQ(small.body, "{}");
}

class ThreePieces final : public ReplyStream {
 public:
  Step pull(std::string& out) override {
    if (count_ == 3) return kEnd;
    if (waits_ = !waits_; waits_) return kWait;
    out += "piece " + std::to_string(++count_) + "\n";
    return kData;
  }

 private:
  int count_ = 0;
  bool waits_ = false;
};

TEST(HttpGzip, EachPieceOfAStreamCanBeReadAtOnce) {
  HttpReply reply;
  reply.stream = std::make_unique<ThreePieces>();
  pack_reply(request_with("accept-encoding", "gzip"), reply);
  std::string all, wanted;
  int pieces = 0;
  for (;;) {
    std::string piece;
    const auto step = reply.stream->pull(piece);
    all += piece;
    if (step == ReplyStream::kWait) continue;
    if (step == ReplyStream::kEnd) break;
    wanted += "piece " + std::to_string(++pieces) + "\n";
    EXPECT_EQ(unpacked(all), wanted);
  }
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(unpacked(all), wanted);
}

TEST(HttpGzip, WhatAClientHasIsNotSentAgain) {
  HttpReply first, again, changed;
  first.body = again.body = "one";
  changed.body = "two";
  tag_reply({}, first);
  const std::string tag = header_of(first, "ETag");
  EXPECT_EQ(first.status, 200);
  tag_reply(request_with("if-none-match", "\"other\", " + tag), again);
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  tag_reply(request_with("if-none-match", tag), changed);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body, "two");
}

}  // namespace
}  // namespace smartmig
