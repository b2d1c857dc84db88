#include "memory/model_source/command_flags.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

CommandFlags::CommandFlags(const std::vector<std::string>& words) : words_(words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-' || parse_double(word)) continue;
    const auto equals = word.find('=');
    std::string name(word.substr(0, equals));
    if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '-', '_');
    std::string value;
    if (equals != word.npos)
      value = word.substr(equals + 1);
    else if (i + 1 < words.size() && (words[i + 1].empty() || words[i + 1][0] != '-' || parse_double(words[i + 1])))
      value = words[i + 1];
    values_[name] = value;
  }
}

bool CommandFlags::has(const std::string& name) const {
  const auto at = values_.find(name);
  return at != values_.end() && lower(at->second) != "false" && at->second != "0";
}

std::string CommandFlags::text(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? "" : at->second;
}

bool CommandFlags::take(ModelFacts& facts, const char* key, std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (const std::string value = text(name); !value.empty()) {
      facts.set(key, value, name);
      return true;
    }
  return false;
}

std::string CommandFlags::script() const {
  for (const std::string& word : words_)
    if (word.ends_with(".py")) return word.substr(word.rfind('/') + 1);
  return "";
}

bool CommandFlags::names(std::string_view program) const {
  return std::any_of(words_.begin(), words_.end(),
                     [&](const std::string& w) { return w.substr(w.rfind('/') + 1) == program; });
}

std::string CommandFlags::after(std::string_view program) const {
  for (std::size_t i = 0; i + 1 < words_.size(); ++i)
    if (words_[i] == program && !words_[i + 1].starts_with("-")) return words_[i + 1];
  return "";
}

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      open = true;
    } else if (c == ' ' || c == '\t' || c == ';' || c == '&' || c == '|') {
      if (open) out.push_back(std::move(word));
      word.clear();
      open = false;
    } else if (c == '#' && !open) {
      break;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) out.push_back(std::move(word));
  return out;
}

}  // namespace smartmig
