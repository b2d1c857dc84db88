// The frame of every page: one self-contained file with its style and scripts inside, light or dark as the reader's
// system asks, no address outside itself. Bodies are HTML that the caller has escaped.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smartmig {

// `scripts`: names of files of web/plain, apart by spaces, each after those that it imports. What they draw and how it looks
// is shared with the page in a browser.
std::string html_page(std::string_view title, std::string_view body, std::string_view scripts = {});

struct Card {
  std::string label, value, unit, note;  // plain text
};
std::string html_cards(const std::vector<Card>& cards);
// A row of "key value" facts under a title.
std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts);
std::string html_section(std::string_view title, std::string_view note, std::string_view inner);  // inner is HTML

// Colour classes for kinds of jobs: k0 .. k6 in order of importance, then k-other.
inline constexpr int kKindColours = 7;
std::string kind_class(int rank);

}  // namespace smartmig
