#include "cli/queue/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"

namespace smartmig::cli {
namespace {

constexpr int kGpuColumn = 64;  // least width of a GPU when several stand side by side

int width_of(const Line& line) {
  int width = 0;
  for (const Span& span : line) width += int(columns_of(span.text));
  return width;
}

Line fitted(const Line& line, int width) {
  Line out;
  for (const Span& span : line) {
    if (width <= 0) break;
    out.push_back({cut(span.text, std::size_t(width)), span.style});
    width -= int(columns_of(out.back().text));
  }
  return out;
}

// Words from left to right as long as they fit; the first always stands.
Line packed(const std::vector<Span>& words, int width) {
  Line line;
  for (const Span& word : words) {
    if (word.text.empty()) continue;
    const int space = line.empty() ? 0 : 2;
    if (!line.empty() && width_of(line) + space + int(columns_of(word.text)) > width) break;
    if (space) line.push_back({"  "});
    line.push_back(word);
  }
  return fitted(line, width);
}

Line head_line(const TopState& state, const TopFrame& frame) {
  const double watts = number_at(state.status, "watts_w").value_or(0);
  const auto cap = number_at(state.status, "power_cap_w");
  const Json& energy = object_at(state.status, "energy");
  const auto attributed = number_at(energy, "attributed_j");
  std::vector<Span> words = {
      {"smartmig " + clock_words(frame.now, frame.now), Style::kBold},
      {cap ? fmt::format("{:.0f} W of {:.0f} W", watts, *cap) : fmt::format("{:.0f} W", watts),
       cap && watts > *cap ? Style::kBad : Style::kBold},
      {history_line(frame.watts, std::size_t(std::clamp(frame.width / 5, 4, 40)), frame.unicode), Style::kDim},
      {attributed ? energy_words(*attributed) + " attributed" : "", Style::kPlain},
      {text_at(state.status, "policy"), Style::kPlain},
      {fmt::format("{} GPU{}", state.gpus.size(), state.gpus.size() == 1 ? "" : "s"), Style::kPlain}};
  if (text_at(state.status, "clock") == "virtual") words.push_back({"virtual clock"});
  return packed(words, frame.width);
}

Line queue_line(const TopState& state, const TopFrame& frame) {
  const Json& queue = object_at(state.status, "queue");
  std::vector<Span> words;
  if (frame.frozen) words.push_back({"FROZEN", Style::kBad});
  if (yes_at(state.status, "paused")) words.push_back({"PAUSED", Style::kBad});
  if (const std::string disk = text_at(state.status, "disk", "ok"); disk != "ok")
    words.push_back({"DISK: " + cut(disk, 40), Style::kBad});
  for (const char* name :
       {"running", "starting", "stopping", "queued", "held", "done", "failed", "cancelled", "timed_out"})
    if (const auto count = number_at(queue, name); count && (*count > 0 || *name == 'r' || *name == 'q'))
      words.push_back({fmt::format("{:.0f} {}", *count, name == std::string_view("timed_out") ? "timed out" : name),
                       *name == 'f' ? Style::kBad : Style::kPlain});
  if (text_at(state.status, "isolation") == "cooperative") words.push_back({"cooperative isolation", Style::kDim});
  if (words.empty()) words.push_back({"the queue is empty"});
  return packed(words, frame.width);
}

Line gpu_line(const Json& gpu, const Json& jobs, int width) {
  const std::string state = text_at(gpu, "state", "ok");
  std::string head = fmt::format("{:>2.0f} ", number_at(gpu, "index").value_or(0));
  if (width >= 60) {
    const std::string name = cut(state == "ok" ? text_at(gpu, "model") : state, 12);
    head += name + std::string(13 - columns_of(name), ' ');
  } else if (state != "ok") {
    head += state.substr(0, 1) + " ";
  }
  head += fmt::format("{:>4.0f} W ", number_at(gpu, "watts_w").value_or(0));
  Line line = {{head, state == "ok" ? Style::kPlain : Style::kBad}};
  for (Span& span : gpu_bar(gpu, jobs, width - int(columns_of(head)))) line.push_back(std::move(span));
  return fitted(line, width);
}

int rank(const Json& job) {
  const std::string state = text_at(job, "state");
  return state == "running" || state == "stopping" || state == "starting" ? 0 : state == "queued" ? 1 : 2;
}

std::vector<Line> job_lines(const TopState& state, const TopFrame& frame, int first, int rows) {
  std::vector<const Json*> order;
  for (const Json& job : state.jobs) order.push_back(&job);
  std::stable_sort(order.begin(), order.end(), [](const Json* a, const Json* b) { return rank(*a) < rank(*b); });
  const bool middle = frame.width >= 60, wide = frame.width >= 110;
  std::vector<Columns::Head> heads = {{"job", true}, {"name"}, {"state"}};
  if (wide) heads.push_back({"user"});
  if (middle) heads.push_back({"slice"});
  heads.push_back({"time", true});
  if (middle) heads.push_back({"deadline"});
  if (wide) heads.insert(heads.end(), {{"attributed", true}, {"estimate", true}, {"cost", true}});
  Columns table(heads);
  std::vector<Style> styles = {Style::kBold};
  for (int i = first; i < std::min(int(order.size()), first + rows); ++i) {
    const Json& job = *order[std::size_t(i)];
    std::vector<std::string> row = {fmt::format("{}", id_at(job, "id")),
                                    cut(job_title(job), wide     ? 28
                                                        : middle ? 16
                                                                 : 12),
                                    yes_at(job, "suspended") ? "suspended" : text_at(job, "state", "?")};
    if (wide) row.push_back(cut(text_at(job, "user"), 10));
    if (middle) row.push_back(place_words(job));
    row.push_back(time_words(job, frame.now));
    if (middle) row.push_back(deadline_words(job, frame.now));
    if (wide) {
      const auto joules = number_at(object_at(job, "energy"), "energy_j"), cost = number_at(job, "cost");
      row.push_back(joules ? energy_words(*joules) : "-");
      row.push_back(estimate_words(job));
      row.push_back(cost ? cost_words(*cost) : "-");
    }
    table.add(std::move(row));
    styles.push_back(number_at(job, "late_s").value_or(0) >= 1 ? Style::kBad
                     : rank(job) == 2                          ? Style::kDim
                                                               : Style::kPlain);
  }
  std::vector<Line> lines;
  const std::string text = table.text();
  for (std::size_t begin = 0; begin < text.size() && lines.size() < styles.size();) {
    const auto end = text.find('\n', begin);
    lines.push_back(fitted({{text.substr(begin, end - begin), styles[lines.size()]}}, frame.width));
    begin = end + 1;
  }
  return lines;
}

std::string range_words(const char* what, int first, int shown, int all) {
  return all > shown ? fmt::format("{} {}-{} of {}", what, shown ? first + 1 : 0, first + shown, all) : "";
}

}  // namespace

std::string history_line(const std::vector<double>& values, std::size_t columns, bool unicode) {
  static const char* const kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char* const kMarks[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::size_t count = std::min(columns, values.size());
  double most = 0;
  for (std::size_t i = values.size() - count; i < values.size(); ++i) most = std::max(most, values[i]);
  std::string out;
  for (std::size_t i = values.size() - count; i < values.size(); ++i) {
    const int level = most > 0 ? std::clamp(int(std::floor(8 * values[i] / most)), 0, 7) : 0;
    out += unicode ? kBlocks[level] : kMarks[level];
  }
  return out;
}

std::vector<Line> top_lines(const TopState& state, const TopFrame& frame) {
  const int width = std::max(frame.width, 1), height = std::max(frame.height, 1);
  std::vector<Line> lines = {head_line(state, frame)};
  if (height > 1) lines.push_back(queue_line(state, frame));
  const int room = height - 4, gpus = int(state.gpus.size()), jobs = int(state.jobs.size());
  int gpu_rows = 0, beside = 1, first_gpu = 0, job_rows = 0, first_job = 0, gpus_shown = 0;
  if (room > 0) {
    if (gpus > room / 2) beside = std::max(1, width / kGpuColumn);
    const int needed = (gpus + beside - 1) / beside;
    gpu_rows = std::min(needed, std::max({1, (room + 1) / 2, room - jobs}));
    first_gpu = std::clamp(frame.first_gpu, 0, std::max(0, gpus - gpu_rows * beside));
    gpus_shown = std::min(gpus - first_gpu, gpu_rows * beside);
    const int each = (width - (beside - 1)) / beside;
    for (int row = 0; row < gpu_rows; ++row) {
      Line line;
      for (int side = 0; side < beside; ++side) {
        const int i = first_gpu + side * gpu_rows + row;  // down the columns
        if (side * gpu_rows + row >= gpus_shown) break;
        if (side) line.push_back({" "});
        for (Span& span : gpu_line(state.gpus[std::size_t(i)], state.jobs, each)) line.push_back(std::move(span));
      }
      lines.push_back(fitted(line, width));
    }
    job_rows = std::min(jobs, room - gpu_rows);
    first_job = std::clamp(frame.first_job, 0, std::max(0, jobs - job_rows));
    for (Line& line : job_lines(state, frame, first_job, job_rows)) lines.push_back(std::move(line));
  }
  if (height > 2) {
    while (int(lines.size()) < height - 1) lines.push_back({});
    const std::string keys = "q quit  space freeze  p pause  arrows";
    std::vector<Span> words = {
        {frame.message.empty() ? keys : frame.message, frame.message.empty() ? Style::kDim : Style::kBad}};
    words.push_back({range_words("GPUs", first_gpu, gpus_shown, gpus), Style::kDim});
    words.push_back({range_words("jobs", first_job, job_rows, jobs), Style::kDim});
    lines.push_back(packed(words, width));
  }
  if (int(lines.size()) > height) lines.resize(std::size_t(height));
  return lines;
}

std::string plain_text(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) {
    std::string text;
    for (const Span& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace smartmig::cli
