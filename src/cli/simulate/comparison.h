// A comparison of policies (eval/comparison.h) as text, as JSON and as a page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "eval/comparison.h"
#include "report/compare_report.h"

namespace smartmig::cli {

std::string signed_percent(const Difference& difference);  // "+1.2 ± 0.3 %"
std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
// The same as a page, to be given curves or written.
ComparisonPage page_of(const Comparison& comparison, std::string title, std::string note);
Result<Ok> write_comparison_page(const std::string& path, const Comparison& comparison, bool force);

// "static[1,2]+cedf,none+edf" at the commas outside brackets.
std::vector<std::string> split_policies(std::string_view text);

}  // namespace smartmig::cli
