#include "slurm/host_list.h"

#include "base/errors.h"
#include "base/text.h"

namespace smartmig {
namespace {

// Commas inside brackets separate numbers, those outside names.
std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

// "1-3", "05", "08-10": numbers keep their width.
Result<std::vector<std::string>> numbers_in(std::string_view range, std::size_t most) {
  const auto dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const auto first = parse_int(low), last = dash == range.npos ? first : parse_int(range.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= std::int64_t(most))
    return invalid("'{}' is not a range of nodes", range);
  std::vector<std::string> out;
  for (std::int64_t number = *first; number <= *last; ++number)
    out.push_back(fmt::format("{:0{}}", number, int(std::min<std::size_t>(low.size(), 20))));
  return out;
}

Result<Ok> expand_name(std::string_view name, const std::string& begun, std::size_t most,
                       std::vector<std::string>& out) {
  const auto open = name.find('[');
  if (open == name.npos) {
    if (name.find(']') != name.npos || out.size() >= most) return invalid("'{}' is not a list of nodes", name);
    out.push_back(begun + std::string(name));
    return Ok{};
  }
  const auto close = name.find(']', open);
  if (close == name.npos) return invalid("'{}' is not a list of nodes: a bracket is open", name);
  for (const std::string_view range : split(name.substr(open + 1, close - open - 1), ',')) {
    SMARTMIG_TRY(const auto numbers, numbers_in(range, most));
    for (const std::string& number : numbers)
      SMARTMIG_RETURN_IF_ERROR(
          expand_name(name.substr(close + 1), begun + std::string(name.substr(0, open)) + number, most, out));
  }
  return Ok{};
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text, std::size_t most) {
  std::vector<std::string> out;
  text = trim(text);
  if (text == "(null)" || text == "None") return out;
  for (const std::string_view name : names_in(text)) SMARTMIG_RETURN_IF_ERROR(expand_name(name, "", most, out));
  return out;
}

}  // namespace smartmig
