// The result of an experiment of research/papers: sections, each a table of printed values against measured ones,
// sometimes with a chart. Data only; research/verbs shows it as text, as JSON or as one self-contained page.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

// A value that a paper prints, and our measurement.
struct PaperClaim {
  enum class Sense { kNear, kAtLeast, kAtMost };
  std::string what;  // "tardiness of EDF, min"
  double printed = 0, measured = 0;
  double within = 0;  // accepted difference, in the unit of the value
  Sense sense = Sense::kNear;
  std::string reading;  // if the paper leaves a choice: claims of one reading belong together
};

struct PaperSection {
  std::string name, title, note;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();  // one object per row, numbers unrounded
  std::string svg;                                                // only on the page
  std::string below;                                              // whole lines under the table
  bool apart = true;                                              // as text: preceded by an empty line
  std::vector<PaperClaim> claims;
  std::string why;    // reason of a difference; without claims: why there is nothing to compare
  bool ours = false;  // not a figure of the paper, shown next to it
  std::string paper, mark,
      met;  // in a report on several papers: its paper, its mark (paper_marks.h), the met values in words
};

struct PaperReport {
  std::string title, note;  // empty: the sections' own titles suffice
  std::vector<PaperSection> sections;
  std::string closing;          // whole lines after the last section
  nlohmann::ordered_json json;  // printed by --json; null: title, note and the sections with their rows
};

// Receives the finished share, 0 to 1, of the part `what` of an experiment. Several threads call it.
using PaperProgress = std::function<void(std::string_view what, double share)>;

// A piece of an experiment that can be run and kept separately.
struct PaperPart {
  std::string name;                 // unique within its experiment
  nlohmann::ordered_json settings;  // all that its figures depend on, apart from the program
  std::function<Result<std::vector<PaperSection>>(const PaperProgress&)> run;
};

}  // namespace smartmig
