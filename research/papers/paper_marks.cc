#include "research/papers/paper_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smartmig {
namespace {

using Sense = PaperClaim::Sense;

struct Count {
  std::string reading;
  std::size_t met = 0, all = 0;
  double share() const { return double(met) / double(all); }
};

std::vector<Count> count_by_reading(const std::vector<PaperClaim>& claims) {
  std::vector<Count> counts;
  for (const PaperClaim& claim : claims) {
    auto at = std::find_if(counts.begin(), counts.end(), [&](const Count& c) { return c.reading == claim.reading; });
    if (at == counts.end()) at = counts.insert(at, Count{claim.reading});
    ++at->all;
    at->met += is_met(claim);
  }
  return counts;
}

}  // namespace

std::string marks_in_words() {
  return "a printed value counts as met: energy within 5 %, energy or tardiness above a bound and shares of time within 5 "
         "points, mean tardiness within 25 % or 0.1 min, a gain in ET at least the printed one less 5 points, a ratio at least "
         "95 % of the printed. reproduced: every value met, by one reading where the paper leaves a choice; differs: not all, "
         "with the reason; not possible here: nothing to compare with; not built: this program does not have it";
}

bool is_met(const PaperClaim& claim) {
  switch (claim.sense) {
    case Sense::kAtLeast:
      return claim.measured >= claim.printed - claim.within;
    case Sense::kAtMost:
      return claim.measured <= claim.printed + claim.within;
    default:
      return std::abs(claim.measured - claim.printed) <= claim.within;
  }
}

void mark_section(PaperSection& section) {
  if (!section.mark.empty()) return;
  if (section.claims.empty()) {
    section.mark = section.ours ? kMarkOurs : kMarkNotPossible;
    section.met = "-";
    return;
  }
  const auto counts = count_by_reading(section.claims);
  const Count& best = *std::max_element(counts.begin(), counts.end(),
                                        [](const Count& x, const Count& y) { return x.share() < y.share(); });
  section.mark = best.met == best.all ? kMarkReproduced : kMarkDiffers;
  section.met = fmt::format("{} of {}{}", best.met, best.all, best.reading.empty() ? "" : ", " + best.reading);
}

PaperClaim energy_claim(const std::string& of, double printed, double measured) {
  return {fmt::format("energy of {}, M Wmin", of), printed, measured, 0.05 * printed, Sense::kNear, ""};
}
PaperClaim tardiness_claim(const std::string& of, double printed, double measured) {
  const double within = std::max(0.1, 0.25 * printed);
  return {fmt::format("mean tardiness of {}, min", of), printed, measured, within, Sense::kNear, ""};
}
PaperClaim above_bound_claim(const std::string& of, double printed, double measured) {
  return {fmt::format("{} above the bound, %", of), printed, measured, 5, Sense::kNear, ""};
}
PaperClaim change_claim(const std::string& what, double printed, double measured) {
  return {what + ", %", printed, measured, 5, Sense::kAtMost, ""};
}
PaperClaim ratio_claim(const std::string& what, double printed, double measured) {
  return {what + ", x", printed, measured, 0.05 * printed, Sense::kAtLeast, ""};
}
PaperClaim share_claim(const std::string& what, double printed, double measured) {
  return {what + ", %", printed, measured, 5, Sense::kNear, ""};
}
PaperClaim value_claim(const std::string& what, double printed, double measured) {
  return {what, printed, measured, 0.01 * std::abs(printed), Sense::kNear, ""};
}

Result<std::vector<PaperSection>> one_section(Result<PaperSection> section) {
  if (!section) return section.error();
  std::vector<PaperSection> out;
  out.push_back(std::move(*section));
  return out;
}

Result<std::vector<PaperSection>> run_parts(const std::vector<PaperPart>& parts, const PaperProgress& progress) {
  std::vector<PaperSection> out;
  for (const PaperPart& part : parts) {
    SMARTMIG_TRY(auto sections, part.run(progress));
    for (PaperSection& section : sections) out.push_back(std::move(section));
  }
  return out;
}

}  // namespace smartmig
