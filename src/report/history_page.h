// The page that a cluster's owner takes to a meeting: what the cluster's own history would have cost under each policy,
// how many GPUs each needs for the same delay, how far each is from a proven bound, and all assumptions.
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
    double energy_change = 0;                     // relative to the first policy; -0.2: a fifth less
    std::optional<double> energy_gap, delay_gap;  // value / bound - 1
    std::string gpus_needed;                      // "5", "more than 32"; empty: not determined
  };
  std::string title, note;  // note: the meaning of delay
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Card> cards;
  std::vector<Policy> policies;  // the first is the reference for the others
  std::optional<double> energy_bound_kwh, delay_bound_min;
  std::string gpus_note;             // the meaning of the count; empty: GPUs were not counted
  std::vector<std::string> assumed;  // rules as sentences
  std::string command, version;      // command: reproduces this page
};

std::string history_page(const HistoryPage& page);

}  // namespace smartmig
