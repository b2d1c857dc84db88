// Text tables for people. Each column is as wide as its widest cell. Verbs that print a table also have --json.
#pragma once
#include <string>
#include <vector>

namespace smartmig::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;  // first column to the left, the others to the right

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace smartmig::cli
