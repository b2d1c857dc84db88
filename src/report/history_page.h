// The page a cluster's owner takes to a meeting: what the cluster's own history would have cost under each policy, how
// many GPUs each needs for the same delay, how far each is from a proven bound, and what was assumed to say so.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/html_page.h"

namespace smartmig {

struct HistoryPage {
  struct Policy {
    std::string name;
    double energy_kwh = 0, delay_min = 0, p99_delay_min = 0, wait_min = 0;
    double energy_change = 0;                     // part of the first policy's, -0.2: a fifth less
    std::optional<double> energy_gap, delay_gap;  // value/bound - 1
    std::string gpus_needed;                      // "5", "more than 32"; empty: not counted
  };
  std::string title, note;  // note: what delay means
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Card> cards;
  std::vector<Policy> policies;  // others are measured against the first
  std::optional<double> energy_bound_kwh, delay_bound_min;
  std::string gpus_note;             // what the count means; empty: GPUs were not counted
  std::vector<std::string> assumed;  // rules in words
  std::string command, version;      // command: how to have this page again
};

std::string history_page(const HistoryPage& page);

}  // namespace smartmig
