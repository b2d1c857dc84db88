// When a printed value counts as met, and how a figure is marked by its values. One place, so that no experiment judges
// by a rule of its own:
//   energy in M watt-minutes           within 5 %
//   energy above the paper's bound     within 5 points
//   mean tardiness                     within 25 % or 0.1 min, whichever is more: days differ widely
//   change of ET against a baseline    at least the printed gain, less 5 points
//   times faster, work per joule       at least 95 % of what is printed
//   share of time in a layout          within 5 points
//   tardiness above the bound          within 5 points
// Where a figure has several readings, it is reproduced if one of them meets every value.
#pragma once
#include <string>
#include <vector>

#include "research/papers/paper_report.h"

namespace smartmig {

inline constexpr const char *kMarkReproduced = "reproduced", *kMarkDiffers = "differs",
                            *kMarkNotPossible = "not possible here", *kMarkNotBuilt = "not built", *kMarkOurs = "ours";
std::string marks_in_words();  // the rules above, for a report

bool is_met(const PaperClaim& claim);
// Sets `mark` and `met` from claims and `ours`, if it has no mark yet.
void mark_section(PaperSection& section);

PaperClaim energy_claim(const std::string& of, double printed, double measured);     // M watt-minutes
PaperClaim tardiness_claim(const std::string& of, double printed, double measured);  // minutes
PaperClaim above_bound_claim(const std::string& of, double printed, double measured);
PaperClaim change_claim(const std::string& what, double printed, double measured);  // per cent, a gain is negative
PaperClaim ratio_claim(const std::string& what, double printed, double measured);
PaperClaim share_claim(const std::string& what, double printed, double measured);  // per cent
PaperClaim value_claim(const std::string& what, double printed, double measured);  // a given number: within 1 %

// Helpers of experiments made of parts.
Result<std::vector<PaperSection>> one_section(Result<PaperSection> section);
Result<std::vector<PaperSection>> run_parts(const std::vector<PaperPart>& parts, const PaperProgress& progress);

}  // namespace smartmig
