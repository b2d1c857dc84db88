// Prints a history simulated under policies (eval/history_trial.h) as text, JSON and a page.
#pragma once
#include <string>

#include "eval/history_trial.h"
#include "report/history_page.h"
#include "sim/traces/trace_reading.h"

namespace smartmig::cli {

struct HistoryReport {
  const HistoryQuestion& question;
  const HistoryAnswer& answer;
  const TraceReading& reading;
  std::string command;  // of the page
};
std::string history_text(const HistoryReport& report);
std::string history_json(const HistoryReport& report);
HistoryPage history_page_of(const HistoryReport& report);

}  // namespace smartmig::cli
