#include "queue/learning/command_key.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/math.h"
#include "base/text.h"

namespace smartmig {
namespace {

bool is_number(std::string_view text) {
  for (std::string_view part : split(text, ',')) {
    if (!part.empty() && std::string_view("kKmMgGtT%").find(part.back()) != std::string_view::npos)
      part.remove_suffix(1);
    if (!parse_double(part)) return false;
  }
  return true;
}

// Of "18G" 18; of a list the first. Five digits: it is stored.
double log_of_number(std::string_view text) {
  text = text.substr(0, text.find(','));
  if (!text.empty() && std::string_view("kKmMgGtT%").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  const double value = parse_double(text).value_or(0);
  if (!(value > 0 && value < 1e300)) return 0;
  return double(std::llround(1e5 * deterministic_log(value))) / 1e5;
}

class KeyWriter {
 public:
  CommandKey key;
  void word(std::string_view text) {
    if (!is_number(text)) {
      key.signature += text;
      return;
    }
    key.signature += '#';
    if (found_ < kRunNumbers) key.numbers[found_++] = log_of_number(text);
  }

 private:
  std::size_t found_ = 0;
};

}  // namespace

CommandKey key_of(const std::vector<std::string>& command, std::string_view script) {
  return key_of(command, script.empty() ? 0 : hash_text(script));
}

CommandKey key_of(const std::vector<std::string>& command, std::uint64_t script) {
  KeyWriter out;
  std::string& signature = out.key.signature;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (i > 0) signature += ' ';
    if (i == 0) {
      signature += word.substr(word.rfind('/') + 1);  // npos + 1 is 0
    } else if (word.size() > 1 && word[0] == '-' && !is_number(word)) {
      const auto equals = word.find('=');
      signature += word.substr(0, equals);
      if (equals != word.npos) {
        signature += '=';
        out.word(word.substr(equals + 1));
      }
    } else {
      out.word(word);
    }
  }
  if (script != 0) signature += fmt::format(" script:{:016x}", script);
  for (char& c : signature)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) >= 127) c = '?';
  if (signature.size() > kLongestSignature) {
    const std::string tail = fmt::format("...{:016x}", hash_text(signature));
    signature.resize(kLongestSignature - tail.size());
    signature += tail;
  }
  return std::move(out.key);
}

std::string signature_of(const std::vector<std::string>& command, std::string_view script) {
  return key_of(command, script).signature;
}

std::string_view program_of(std::string_view signature) {
  std::size_t end = signature.find(' ');
  if (end == signature.npos) return signature;
  const std::string_view next = signature.substr(end + 1);
  if (next.empty() || next[0] == '-' || next[0] == '#') return signature.substr(0, end);
  const std::size_t word = next.find(' ');
  return word == next.npos ? signature : signature.substr(0, end + 1 + word);
}

double likeness(std::string_view a, std::string_view b) {
  std::vector<std::string_view> words = split(a, ' '), others = split(b, ' '), both;
  std::sort(words.begin(), words.end());
  std::sort(others.begin(), others.end());
  std::set_intersection(words.begin(), words.end(), others.begin(), others.end(), std::back_inserter(both));
  return double(both.size()) / double(words.size() + others.size() - both.size());
}

}  // namespace smartmig
