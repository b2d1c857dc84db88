#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace smartmig::cli {
namespace {
std::size_t text_width(const std::string& text) {  // code points, so that ± and – count once
  return std::size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}
}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> width;
  const auto measure = [&](const std::vector<std::string>& row) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], text_width(row[i]));
  };
  measure(header_);
  for (const auto& row : rows_) measure(row);
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(width[i] - text_width(row[i]), ' ');
      if (i > 0) text += "  ";
      text += i == 0 ? row[i] + pad : pad + row[i];
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line(header_);
  std::size_t total = 0;
  for (std::size_t w : width) total += w + 2;
  out += std::string(total > 2 ? total - 2 : 0, '-') + "\n";
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace smartmig::cli
