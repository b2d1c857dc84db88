// The journal on its way to a client: as server-sent events that continue with what happens next, or as JSON lines up
// to where it stands. Each piece holds at most 256 lines, so a client that reads slowly costs no memory.
#pragma once
#include <chrono>

#include "http/http_types.h"

namespace smartmig {

class EventStream final : public ReplyStream {
 public:
  // Errors are those of the first question, before anything is sent.
  static Result<std::unique_ptr<ReplyStream>> open(Service& service, const Caller& caller, std::uint64_t after);
  Step pull(std::string& out) override;
  bool wait(double seconds) override;

 private:
  EventStream(Service& service, const Caller& caller, std::uint64_t after)
      : service_(service), caller_(caller), position_(after) {}
  void append(std::string& out, const Service::Lines& lines);

  Service& service_;
  Caller caller_;
  std::uint64_t position_;
  std::string first_;
  bool ended_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class JournalStream final : public ReplyStream {
 public:
  static Result<std::unique_ptr<ReplyStream>> open(Service& service, const Caller& caller, std::uint64_t after);
  Step pull(std::string& out) override;

 private:
  JournalStream(Service& service, const Caller& caller) : service_(service), caller_(caller) {}
  Service& service_;
  Caller caller_;
  Service::Lines lines_;
};

// One event as sent: "id: 17\nevent: started\ndata: {...}\n\n". The name is the line's "ev", "event" where it has none.
void append_event(std::string& out, std::uint64_t sequence, std::string_view line);

}  // namespace smartmig
