// Bodies that grow while they are sent: events and logs.
#include <fstream>

#include "http/event_stream.h"
#include "http/log_stream.h"
#include "support/api_world.h"

namespace smartmig {
namespace {

using namespace api_test;

TEST(Api, EventsComeFromAnyPosition) {
  ApiWorld w;
  for (int i = 0; i < 600; ++i) w.service.say("started");
  auto reply = w.ask("GET", "/v1/events?after=598");
  ASSERT_TRUE(reply.stream);
  EXPECT_EQ(reply.type, "text/event-stream");
  std::string text;
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kData);
  EXPECT_EQ(
      text,
      ": journal of smartmig\n\nid: 599\nevent: started\ndata: {\"t\":598,\"seq\":598,\"ev\":\"started\",\"job\":0}\n\n"
      "id: 600\nevent: started\ndata: {\"t\":599,\"seq\":599,\"ev\":\"started\",\"job\":0}\n\n");
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kWait);
  w.service.say("finished");
  EXPECT_TRUE(reply.stream->wait(5));
  text.clear();
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kData);
  EXPECT_EQ(text.substr(0, 23), "id: 601\nevent: finished");
  w.service.close();
  EXPECT_EQ(reply.stream->pull(text), ReplyStream::kEnd);

  HttpRequest again;
  again.method = "GET";
  again.path = "/v1/events";
  again.headers["last-event-id"] = "600";
  text = all_of(*w.api.handle(again).stream);
  EXPECT_NE(text.find("id: 601\n"), std::string::npos);
  EXPECT_EQ(text.find("id: 600\n"), std::string::npos);
  again.headers["last-event-id"] = "x";
  EXPECT_EQ(w.api.handle(again).status, 400);
}

TEST(Api, AnEventIsOneLineWhateverTheJournalHolds) {
  std::string text;
  append_event(text, 3, "{\"ev\":\"a b\",\n\"x\":1}\r");
  EXPECT_EQ(text, "id: 3\nevent: event\ndata: {\"ev\":\"a b\",\"x\":1}\n\n");
}

TEST(Api, TheJournalIsComplete) {
  ApiWorld w;
  for (int i = 0; i < 1000; ++i) w.service.say("started");
  const std::string text = all_of(*w.ask("GET", "/v1/journal").stream);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1000);
  EXPECT_TRUE(Json::accept(text.substr(0, text.find('\n'))));
  EXPECT_EQ(all_of(*w.ask("GET", "/v1/journal?after=1000").stream), "");
}

class Logs : public ::testing::Test {
 protected:
  Logs() {
    path_ = dir_.path() + "/log";
    w_.service.log_path = path_;
    w_.ask("POST", "/v1/jobs", R"({"command":["true"]})");
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::unique_ptr<ReplyStream> open(const std::string& query) {
    auto reply = w_.ask("GET", "/v1/jobs/1/log" + query);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::move(reply.stream);
  }
  static std::string now(ReplyStream& stream) {
    std::string text;
    while (stream.pull(text) == ReplyStream::kData)
      ;
    return text;
  }
  TempDir dir_;
  std::string path_;
  ApiWorld w_;
};

TEST_F(Logs, ComeInPiecesAndFromAnOffset) {
  append(std::string(200'000, 'a') + "end");
  auto stream = open("?offset=199999");
  EXPECT_EQ(now(*stream), "aend");
  stream = open("");
  std::string piece;
  EXPECT_EQ(stream->pull(piece), ReplyStream::kData);
  EXPECT_EQ(piece.size(), 65'536u);
  stream = open("?offset=999999999");
  EXPECT_EQ(now(*stream), "");
}

TEST_F(Logs, AreFollowedUntilTheAttemptEnds) {
  auto stream = open("?follow=1");  // not there yet
  std::string text;
  EXPECT_EQ(stream->pull(text), ReplyStream::kWait);
  append("one\n");
  EXPECT_EQ(now(*stream), "one\n");
  append("two\n");
  EXPECT_EQ(now(*stream), "two\n");
  EXPECT_EQ(stream->pull(text), ReplyStream::kWait);
  append("three\n");
  w_.service.end_log();
  EXPECT_EQ(now(*stream), "three\n");
  EXPECT_EQ(stream->pull(text), ReplyStream::kEnd);
}

TEST_F(Logs, ARotationLosesNothing) {
  append("one\n");
  auto stream = open("?follow=1");
  EXPECT_EQ(now(*stream), "one\n");
  append("two\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("three\n");
  EXPECT_EQ(now(*stream), "two\nthree\n");
  append("four\n");
  std::filesystem::rename(path_, path_ + ".1");  // twice between two looks: the older of both is first
  append("five\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("six\n");
  EXPECT_EQ(now(*stream), "four\nfive\nsix\n");
  std::filesystem::resize_file(path_, 0);
  append("7\n");
  EXPECT_EQ(now(*stream), "7\n");
}

TEST_F(Logs, BeginWithTheOlderSegment) {
  append("older\n");
  std::filesystem::rename(path_, path_ + ".1");
  append("newer\n");
  EXPECT_EQ(now(*open("")), "older\nnewer\n");
  EXPECT_EQ(now(*open("?offset=3")), "er\nnewer\n");
  EXPECT_EQ(now(*open("?offset=8")), "wer\n");
  EXPECT_EQ(now(*open("?offset=80")), "");
}

TEST_F(Logs, LinksAndDevicesAreNotRead) {
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 507);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 507);
  std::filesystem::remove(path_);
  w_.service.end_log();
  EXPECT_EQ(w_.ask("GET", "/v1/jobs/1/log").status, 404);
}

}  // namespace
}  // namespace smartmig
