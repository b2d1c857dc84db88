// Starts threads. std::thread throws when the machine is short of processes or memory. start_thread() returns that as
// an expected failure. The daemon makes every thread through it.
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
