// Shared by cancel, requeue, hold and similar verbs: the selection of jobs, as options and as the body of a request,
// and the printed result. All selected jobs are one request, so the daemon needs one transaction.
#pragma once
#include <functional>

#include "cli/queue/daemon_options.h"

namespace smartmig::cli {

struct JobsMeant {
  std::vector<std::string> words;
  bool all = false, everyone = false;
  std::int64_t array = 0;
  std::string user, name, state;

  void declare(Command& cmd);
  // After parsing. kInvalid: none is named.
  Result<Json> body(const Command& cmd, const char* verb) const;
};

std::string changed_words(const Json& job);  // "job 12 train: held, ..."
// Asks for `verb` with this body; prints what became of each job in `words`, or of many how many. The exit code.
int change_jobs(const DaemonOptions& options, const char* verb, const Json& body,
                const std::function<std::string(const Json& job)>& words = changed_words);

}  // namespace smartmig::cli
