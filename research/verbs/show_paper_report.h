// Shows a report of research/papers as text, as JSON and as a page. See papers/paper_report.h.
#pragma once
#include <string>

#include "research/papers/paper_report.h"

namespace smartmig::cli {

std::string paper_text(const PaperReport& report);
std::string paper_json(const PaperReport& report);
std::string paper_page(const PaperReport& report);

}  // namespace smartmig::cli
