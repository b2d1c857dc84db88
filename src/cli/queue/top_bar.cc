#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/queue/top_view.h"
#include "mig/catalog.h"

namespace smartmig::cli {
namespace {

struct Box {
  int start = 0, size = 1;  // memory slices
  std::string label;
  char fill = ' ';
  Style style = Style::kPlain;
};

// The beginning of `text` and then `fill`; where there is room for a number, one column of fill always shows.
std::string padded(std::string text, int width, char fill) {
  if (width <= 0) return "";
  const auto number = std::min(text.find(' '), text.size());
  const int room = fill != ' ' && int(number) < width ? width - 1 : width;
  std::size_t end = 0;
  for (int count = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && count++ == room) break;
  text.resize(end);
  return text + std::string(std::size_t(width) - columns_of(text), fill);
}

std::string name_of_job(const Json& jobs, std::uint64_t id) {
  for (const Json& job : jobs)
    if (id_at(job, "id") == id) return " " + job_title(job);
  return "";
}

// "3g.20gb@4" -> its start and its length on the axis of that model; nothing where the model is not known.
std::optional<Box> coming_box(const std::string& model, std::string_view word) {
  const auto at = word.find('@');
  if (at == word.npos) return std::nullopt;
  const auto start = parse_int(word.substr(at + 1));
  const auto known = Catalog::builtin().find(model);
  if (!start || *start < 0 || *start > 64 || !known) return std::nullopt;
  for (const Profile& profile : (*known)->spec().profiles)
    if (profile.name == word.substr(0, at))
      return Box{int(*start), profile.memory_slices, "+" + profile.name, '+', Style::kComing};
  return std::nullopt;
}

std::vector<Box> boxes_of(const Json& gpu, const Json& jobs, int axis) {
  std::vector<Box> boxes;
  const std::string target = text_at(gpu, "target");
  std::set<std::string, std::less<>> wanted;
  if (!target.empty())
    for (const std::string_view word : split(target, '+')) wanted.emplace(word);
  std::vector<bool> taken(std::size_t(axis), false);
  const auto place = [&](Box box) {
    if (box.start < 0 || box.size < 1 || box.start + box.size > axis) return;
    for (int i = box.start; i < box.start + box.size; ++i)
      if (taken[std::size_t(i)]) return;
    for (int i = box.start; i < box.start + box.size; ++i) taken[std::size_t(i)] = true;
    boxes.push_back(std::move(box));
  };
  std::set<std::string, std::less<>> present;
  for (const Json& slice : list_at(gpu, "slices")) {
    const std::string name = text_at(slice, "name");
    present.insert(name);
    const std::uint64_t job = id_at(slice, "job");
    const bool leaving = !wanted.empty() && !wanted.count(name);
    Box box{int(number_at(slice, "start").value_or(-1)), int(number_at(slice, "memory_slices").value_or(1)), "idle",
            ' ', Style::kIdle};
    if (job) {
      box.label = fmt::format("{}{}", job, name_of_job(jobs, job));
      box.fill = '=';
      box.style = Style::kBusy;
    }
    if (text_at(slice, "state") == "quarantined") {
      box.label = "dead memory";
      box.fill = 'x';
      box.style = Style::kBad;
    }
    if (leaving) {
      box.fill = '~';
      box.style = Style::kLeaving;
    }
    place(std::move(box));
  }
  for (const std::string& word : wanted)
    if (!present.count(word))
      if (auto box = coming_box(text_at(gpu, "model"), word)) place(std::move(*box));
  for (int i = 0; i < axis; ++i)
    if (!taken[std::size_t(i)]) {
      int end = i;
      while (end < axis && !taken[std::size_t(end)]) ++end;
      place({i, end - i, "", '.', Style::kDim});
    }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.start < b.start; });
  return boxes;
}

}  // namespace

Line gpu_bar(const Json& gpu, const Json& jobs, int width) {
  if (width < 1) return {};
  const std::string state = text_at(gpu, "state", "ok");
  if (state == "lost") return {{padded("lost: " + text_at(gpu, "words", "no answer"), width, ' '), Style::kBad}};
  const int axis = std::clamp(int(number_at(gpu, "memory_slices").value_or(8)), 1, 64);
  if (width < 3) return {{padded("", width, '.'), Style::kDim}};
  Line line;
  const auto column = [&](int slice) { return slice * (width - 1) / axis; };  // where the boundary stands
  int used = 0;
  for (const Box& box : boxes_of(gpu, jobs, axis)) {
    const int from = column(box.start), to = column(box.start + box.size);
    if (to <= from) continue;  // narrower than a column
    line.push_back({"|", Style::kDim});
    line.push_back({padded(box.label, to - from - 1, box.fill), box.style});
    used = to;
  }
  line.push_back({"|", Style::kDim});
  if (used + 1 < width) line.push_back({std::string(std::size_t(width - used - 1), ' '), Style::kPlain});
  return line;
}

}  // namespace smartmig::cli
