// The log of an attempt on its way to a client, in pieces of at most 64 KiB, and with `follow` until the attempt has
// ended and everything is sent. A log is kept as PATH.1 and PATH (live/jobs/log_capture.h): the older segment comes
// first, and a rotation while it is read loses nothing that is still on the disk. A log that was cut is read from its
// beginning.
#pragma once
#include "http/http_types.h"

namespace smartmig {

class LogStream final : public ReplyStream {
 public:
  struct Ask {
    std::uint64_t job = 0;
    int attempt = 0;
    std::int64_t offset = 0;  // bytes of what is kept to skip
    bool follow = false;
  };
  static Result<std::unique_ptr<ReplyStream>> open(Service& service, const Caller& caller, const Ask& ask);
  ~LogStream() override;
  Step pull(std::string& out) override;

 private:
  LogStream(Service& service, const Caller& caller, const Ask& ask, Service::Log log)
      : service_(service), caller_(caller), ask_(ask), log_(std::move(log)) {}
  Result<bool> open_file(const std::string& path);  // from its beginning; false: it is not there (yet)
  Result<bool> open_next();                         // false: nothing follows what was read, for now
  void skip();

  Service& service_;
  Caller caller_;
  Ask ask_;
  Service::Log log_;
  int fd_ = -1;
  std::int64_t at_ = 0;
};

}  // namespace smartmig
