#include "queue/learning/work_log.h"

#include <algorithm>
#include <fstream>

#include "base/text.h"

namespace smartmig {

void WorkLog::set_command(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (word.substr(0, 2) != "--") continue;
    const std::size_t equals = word.find('=');
    const std::string_view value = equals != word.npos      ? word.substr(equals + 1)
                                   : i + 1 < command.size() ? std::string_view(command[i + 1])
                                                            : std::string_view();
    if (const auto number = parse_double(value)) told_.add(words_of_option(word.substr(0, equals), *number));
  }
}

void WorkLog::take(std::string_view text) {
  rest_ += text;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1)
    fresh_.add(work_words_of(std::string_view(rest_).substr(begin, end - begin)));
  rest_.erase(0, begin);
  const std::size_t bar = rest_.rfind('\r');  // what is drawn over itself has no line's end
  if (bar != rest_.npos && bar > 0) {
    fresh_.add(work_words_of(std::string_view(rest_).substr(0, bar)));
    rest_.erase(0, bar);
  }
  if (rest_.size() > kMost) rest_.clear();
}

const WorkWords& WorkLog::read(const std::string& path) {
  fresh_ = {};
  if (std::ifstream file(path, std::ios::binary | std::ios::ate); !path.empty() && file) {
    const auto size = std::uint64_t(std::max<std::streamoff>(0, file.tellg()));
    if (size < at_) at_ = 0, rest_.clear();
    if (size > at_ + kMost) at_ = size - kMost, rest_.clear();
    std::string text(std::size_t(size - at_), '\0');
    file.seekg(std::streamoff(at_));
    file.read(text.data(), std::streamsize(text.size()));
    text.resize(std::size_t(std::max<std::streamsize>(0, file.gcount())));
    at_ += text.size();
    take(text);
  }
  if (fresh_.size >= 0) told_.size = -1;
  told_.add(fresh_);
  return told_;
}

}  // namespace smartmig
