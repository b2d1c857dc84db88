// When a printed value counts as met, and which mark a figure gets from its values. It is in one place, so that all
// experiments judge by the same rule:
//   energy in M watt-minutes           within 5 %
//   energy above the paper's bound     within 5 points
//   mean tardiness                     within 25 % or 0.1 min, whichever is more: days differ widely
//   change of ET against a baseline    at least the printed gain, less 5 points
//   times faster, work per joule       at least 95 % of the printed value
//   share of time in a layout          within 5 points
//   tardiness above the bound          within 5 points
// A figure with several readings is reproduced if one of them meets every value.
#pragma once
#include <string>
#include <vector>

#include "research/papers/paper_report.h"

namespace smartmig {

inline constexpr const char *kMarkReproduced = "reproduced", *kMarkDiffers = "differs",
                            *kMarkNotPossible = "not possible here", *kMarkNotBuilt = "not built", *kMarkOurs = "ours";
std::string marks_in_words();  // the rules above, for a report

bool is_met(const PaperClaim& claim);
// Sets `mark` and `met` from claims and `ours`, unless it already has a mark.
void mark_section(PaperSection& section);

PaperClaim energy_claim(const std::string& of, double printed, double measured);     // M watt-minutes
PaperClaim tardiness_claim(const std::string& of, double printed, double measured);  // minutes
PaperClaim above_bound_claim(const std::string& of, double printed, double measured);
PaperClaim change_claim(const std::string& what, double printed, double measured);  // per cent; a gain is negative
PaperClaim ratio_claim(const std::string& what, double printed, double measured);
PaperClaim share_claim(const std::string& what, double printed, double measured);  // per cent
PaperClaim value_claim(const std::string& what, double printed, double measured);  // a given number: within 1 %

// Helpers for experiments that consist of parts.
Result<std::vector<PaperSection>> one_section(Result<PaperSection> section);
Result<std::vector<PaperSection>> run_parts(const std::vector<PaperPart>& parts, const PaperProgress& progress);

}  // namespace smartmig
