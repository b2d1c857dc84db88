// What an experiment of src/papers returns: sections, each a table with what the paper prints beside what we measure,
// sometimes with a chart. Data only: src/cli shows it as text, as JSON or as one self-contained page.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace smartmig {

struct PaperSection {
  std::string name, title, note;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();  // one object per row, numbers unrounded
  std::string svg;                                                // shown on the page only
  std::string below;                                              // whole lines under the table
  bool apart = true;                                              // as text: an empty line before it
};

struct PaperReport {
  std::string title, note;  // empty: the sections' own titles say enough
  std::vector<PaperSection> sections;
  std::string closing;          // whole lines after the last section
  nlohmann::ordered_json json;  // what --json prints; null: title, note and the sections with their rows
};

// Told how much of the part `what` of an experiment is done, 0 to 1. Called from several threads.
using PaperProgress = std::function<void(std::string_view what, double share)>;

}  // namespace smartmig
