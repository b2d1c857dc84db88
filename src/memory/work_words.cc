#include "memory/work_words.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::size_t kLongestLine = 2000;
constexpr double kLargestWord = 1e12;
constexpr std::array<std::string_view, 17> kTokens = {
    "token", "tokens",  "tok",        "ctx",    "context",    "seqlen",        "seq",      "length",
    "len",   "seq_len", "seq_length", "prompt", "prompt_len", "prompt_length", "sequence", "sequence_length",
    "n_past"};
constexpr std::array<std::string_view, 5> kBatch = {"batch", "batch_size", "bs", "bsz", "batchsize"};
constexpr std::array<std::string_view, 26> kCounts = {
    "step",      "steps", "iter",     "iters",     "iteration",   "iterations", "it",       "epoch",    "request",
    "requests",  "turn",  "turns",    "sample",    "samples",     "example",    "examples", "served",   "encoded",
    "processed", "texts", "document", "documents", "global_step", "update",     "round",    "generated"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Piece {
  std::string text;  // a word in lower case; empty: a number
  double number = 0;
  bool whole = true;               // whether the number has no point
  char before = ' ', after = ' ';  // the characters around it
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::vector<Piece> pieces_of(std::string_view line) {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i;
    Piece piece;
    if (is_letter(line[i])) {
      while (i < line.size() && (is_letter(line[i]) || is_digit(line[i]) ||
                                 (line[i] == '-' && i + 1 < line.size() && is_letter(line[i + 1]))))
        piece.text += line[i] == '-' ? '_' : char(line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]), ++i;
    } else if (is_digit(line[i])) {
      std::string digits;
      while (i < line.size() && (is_digit(line[i]) || (line[i] == ',' && i + 3 < line.size() && is_digit(line[i + 1]) &&
                                                       is_digit(line[i + 2]) && is_digit(line[i + 3]))))
        if (line[i++] != ',') digits += line[i - 1];
      if (i + 1 < line.size() && line[i] == '.' && is_digit(line[i + 1])) {
        piece.whole = false;
        digits += line[i++];
        while (i < line.size() && is_digit(line[i])) digits += line[i++];
      }
      piece.number = std::min(kLargestWord, parse_double(digits).value_or(-1));
    } else {
      ++i;
      continue;
    }
    piece.before = begin > 0 ? line[begin - 1] : ' ';
    piece.after = i < line.size() ? line[i] : ' ';
    out.push_back(std::move(piece));
  }
  return out;
}

bool odd(const Piece& p) {  // Part of a clock, a share, a rate or a version.
  return p.before == '.' || p.before == '-' || p.after == '%' || p.before == '<' || p.before == '@' || p.before == '[';
}

double unit_mib(std::string_view word) {
  if (word == "mib" || word == "mb" || word == "m") return 1;
  if (word == "gib" || word == "gb" || word == "g") return 1024;
  return 0;
}

void set_size(WorkWords& out, double value) { out.size = std::max(out.size, value); }

}  // namespace

void WorkWords::add(const WorkWords& line) {
  if (line.size >= 0) size = std::max(size, line.size);
  if (line.size_max > 0) size_max = line.size_max;
  const bool part = line.of > 0 && line.done >= 0 && (of > 0 ? line.of < of && done < of : done > line.of);
  if (part) {
    part_done = line.done;
    part_of = line.of;
  } else {
    if (line.done >= 0) done = line.done, part_done = -1, part_of = 0;
    if (line.of > 0) of = line.of;
    if (done > of) of = 0;  // it was the end of something else
    if (line.part_of > 0) part_done = line.part_done, part_of = line.part_of;
  }
  if (line.held_mib >= 0) held_mib = line.held_mib;
}

WorkWords words_of_option(std::string_view name, double value) {
  WorkWords out;
  std::string key;
  for (const char c : name)
    if (c != '-' || !key.empty()) key += c == '-' ? '_' : c;
  const bool most = key.rfind("max_", 0) == 0;
  const auto has = [&](std::string_view part) { return key.find(part) != key.npos; };
  if (!(value > 0 && value <= kLargestWord)) return out;
  if ((most && has("steps")) || (is_in(kCounts, key) && key.back() == 's'))
    out.of = value;
  else if ((most && (has("token") || has("len") || has("seq") || has("ctx"))) || key == "block_size" || key == "n_ctx")
    out.size_max = value;
  return out;
}

WorkWords work_words_of(std::string_view line) {
  WorkWords out;
  if (const std::size_t part = line.find_last_of('\r', line.size() > 1 ? line.size() - 2 : 0); part != line.npos)
    line.remove_prefix(part + 1);  // a progress bar redraws itself: take the last
  const std::vector<Piece> all = pieces_of(line.substr(0, kLongestLine));
  const bool memory_line = line.find("mem") != line.npos || line.find("alloc") != line.npos;
  const auto word_at = [&](std::size_t i) {
    return i < all.size() ? std::string_view(all[i].text) : std::string_view();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Piece& p = all[i];
    if (!p.text.empty()) continue;
    std::string_view before =
        i > 0 && (p.before == ' ' || p.before == ':' || p.before == '=' || p.before == '(' || p.before == '[')
            ? word_at(i - 1)
            : std::string_view();
    const std::string_view after = word_at(i + 1);
    if (const double unit = unit_mib(after); unit > 0) {
      const std::string_view what = word_at(i + 2);
      if (memory_line && what != "reserved" && before != "reserved" && before != "total" && what != "total" &&
          what != "free")
        out.held_mib = std::max(out.held_mib, p.number * unit);
      continue;
    }
    const bool of = p.after == '/' && i + 1 < all.size() && all[i + 1].text.empty() && all[i + 1].before == '/';
    if (of) {
      const Piece& whole = all[i + 1];
      const std::string_view behind = word_at(i + 2);
      const bool clock =
          whole.after == ':' && i + 2 < all.size() && all[i + 2].text.empty() && all[i + 2].before == ':';
      const bool bar = p.before == ' ' || p.before == '[' || p.before == '(' || p.before == ':' || p.before == '=' ||
                       p.before == '|';
      if (bar && p.whole && whole.whole && whole.after != '/' && !clock && whole.number >= p.number &&
          whole.number > 1) {
        const bool named = is_in(kCounts, before) && before != "generated";
        const bool tokens = !named && (is_in(kTokens, before) || is_in(kTokens, behind));
        if (out.of == 0 || tokens) out.done = p.number, out.of = whole.number;
        if (tokens) set_size(out, p.number), out.size_max = whole.number;
      }
      ++i;
      continue;
    }
    if (odd(p) || !p.whole || (p.after == ':' && i + 1 < all.size() && all[i + 1].before == ':') ||
        (p.before == ':' && i > 0 && all[i - 1].text.empty()) || is_letter(p.after) || p.before == '/')
      continue;
    if (before.substr(0, 4) == "max_") {
      const WorkWords told = words_of_option(before, p.number);
      if (told.size_max > 0) out.size_max = told.size_max;
      if (told.of > 0) out.of = told.of;
    } else if (is_in(kTokens, before) || is_in(kBatch, before)) {
      set_size(out, p.number);
    } else if (is_in(kCounts, before) && before != "generated") {
      if (out.of == 0) out.done = p.number;
    } else if (is_in(kTokens, after)) {
      set_size(out, p.number);
    } else if (is_in(kCounts, after) && out.of == 0 && before != "in") {
      out.done = p.number;
    }
  }
  return out;
}

}  // namespace smartmig
