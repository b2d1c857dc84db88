// The sections of a reproduction: each a table with what the paper prints beside what we measure, sometimes with a
// chart. Collected once, shown as text, JSON or one self-contained page.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

struct ReproSection {
  std::string name, title, note;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();  // one object per row, numbers unrounded
  std::string svg;                                                // shown on the page only
};

class ReproReport {
 public:
  ReproReport(std::string title, std::string note) : title_(std::move(title)), note_(std::move(note)) {}
  void add(ReproSection section) { sections_.push_back(std::move(section)); }
  std::string text() const;
  std::string json() const;
  std::string html() const;

 private:
  std::string title_, note_;
  std::vector<ReproSection> sections_;
};

struct ReproOptions {
  std::int64_t days = 30, threads = 1, bound_days = 0;
  std::string html;  // a page to write
  bool json = false, force = false;
};

int reproduce_a(const ReproOptions& options);
int reproduce_b(const ReproOptions& options);
int show(const ReproReport& report, const ReproOptions& options);

}  // namespace smartmig::cli
