// The page of `smartmig explain`: the layouts that a policy takes by hour and by state of the queue, as stacked
// columns; its shares next to the paper's; the decision table as nested rules. Plain data in, one self-contained page
// out.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/html_page.h"

namespace smartmig {

struct ExplainPage {
  std::string title, note, version;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Card> cards;
  struct LayoutRow {
    std::string label, name;
    double time_percent = 0, call_percent = 0;
    std::optional<double> paper_percent;
  };
  std::vector<LayoutRow> layouts;
  std::string paper_note;
  struct Chart {
    std::string title, x_title;
    struct Column {
      std::string label;
      double gpu_hours = 0;         // per day
      std::vector<double> percent;  // by layout
    };
    std::vector<Column> columns;
  };
  std::vector<Chart> charts;
  struct Rule {
    int depth = 0;
    std::string condition;        // "late jobs per GPU < 0.5"; "otherwise"
    std::vector<double> percent;  // a leaf's, by layout; empty: not a leaf
    double call_percent = 0;
  };
  std::vector<Rule> rules;
  std::string rules_note;
};

std::string explain_page(const ExplainPage& page);

}  // namespace smartmig
