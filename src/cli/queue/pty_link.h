// The connection between a terminal and a job of `run --pty`: frames over a Unix socket without a file. The client
// listens under a random name, and the job connects. Neither the daemon nor the supervisor carries any data, so both
// can restart without effect. Each side accepts only processes of its own user.
//
//   'w'  rows and columns, two bytes each   client to job
//   'd'  bytes of the terminal              both ways
//   'x'  exit code, one byte                job to client, the last one
#pragma once
#include <sys/ioctl.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

inline constexpr const char* kPtyVariable = "SMARTMIG_PTY";  // the name, in the job's environment

Result<std::pair<int, std::string>> pty_listen();  // descriptor and name
Result<int> pty_connect(const std::string& name);
bool same_user(int socket);

class PtyLink {
 public:
  explicit PtyLink(int fd) : fd_(fd) {}
  PtyLink(const PtyLink&) = delete;
  ~PtyLink();
  int fd() const { return fd_; }

  bool send(char kind, std::string_view data);  // waits for room; false: nobody is there
  bool send_size(const winsize& size);
  struct Frame {
    char kind = 0;
    std::string data;
  };
  // What has come whole. False: the other side is gone; `frames` may hold its last words.
  bool receive(std::vector<Frame>& frames);

 private:
  int fd_;
  std::string unread_;
};
winsize size_in(const std::string& data);

}  // namespace smartmig::cli
