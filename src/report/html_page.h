// The frame of every page: one self-contained file that includes its style and scripts and refers to no other address.
// It is light or dark as the reader's system asks. Bodies are HTML that the caller has escaped.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smartmig {

// `scripts`: names of files of web/plain, separated by spaces, each after its imports. The browser page shares what
// they draw and its style.
std::string html_page(std::string_view title, std::string_view body, std::string_view scripts = {});

struct Card {
  std::string label, value, unit, note;  // plain text
};
std::string html_cards(const std::vector<Card>& cards);
// A row of "key value" facts under a title.
std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts);
std::string html_section(std::string_view title, std::string_view note, std::string_view inner);  // inner is HTML

// Colour classes: k0 .. k7 for names (name_colours.h), then k-other.
inline constexpr int kKindColours = 8;
std::string kind_class(int rank);

// Which smartmig made the page, and the command that makes it again, if there is one.
std::string html_footer(std::string_view version, std::string_view command);

}  // namespace smartmig
