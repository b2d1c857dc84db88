// What an experiment of src/papers returns: sections, each a table with what the paper prints beside what we measure,
// sometimes with a chart. Data only: src/cli shows it as text, as JSON or as one self-contained page.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

// A value that a paper prints, and what we measured for it.
struct PaperClaim {
  enum class Sense { kNear, kAtLeast, kAtMost };
  std::string what;  // "tardiness of EDF, min"
  double printed = 0, measured = 0;
  double within = 0;  // how far off still counts, in the unit of the value
  Sense sense = Sense::kNear;
  std::string reading;  // where the paper leaves a choice: claims of one reading belong together
};

struct PaperSection {
  std::string name, title, note;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();  // one object per row, numbers unrounded
  std::string svg;                                                // shown on the page only
  std::string below;                                              // whole lines under the table
  bool apart = true;                                              // as text: an empty line before it
  std::vector<PaperClaim> claims;
  std::string why;    // why it differs where it does; without claims: why there is nothing to compare
  bool ours = false;  // no figure of the paper, shown beside it
  std::string paper, mark,
      met;  // of a report on several papers: whose it is, its mark (paper_marks.h), values met in words
};

struct PaperReport {
  std::string title, note;  // empty: the sections' own titles say enough
  std::vector<PaperSection> sections;
  std::string closing;          // whole lines after the last section
  nlohmann::ordered_json json;  // what --json prints; null: title, note and the sections with their rows
};

// Told how much of the part `what` of an experiment is done, 0 to 1. Called from several threads.
using PaperProgress = std::function<void(std::string_view what, double share)>;

// A piece of an experiment that can be run, and kept, alone.
struct PaperPart {
  std::string name;                 // unique within its experiment
  nlohmann::ordered_json settings;  // all that its figures depend on, beside the program
  std::function<Result<std::vector<PaperSection>>(const PaperProgress&)> run;
};

}  // namespace smartmig
