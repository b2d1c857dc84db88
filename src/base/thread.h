// Threads that cannot always be had: a machine short of processes or memory refuses one, and std::thread throws. Here
// that is an expected failure like any other. Every thread of the daemon is made by start_thread.
#pragma once
#include <string_view>
#include <system_error>
#include <thread>

#include "base/result.h"

namespace smartmig {

template <class Work>
Result<std::thread> start_thread(std::string_view what_for, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& refused) {
    return io_error("no thread for {}: {}; the machine is short of processes or memory", what_for,
                    refused.code().message());
  }
}

}  // namespace smartmig
