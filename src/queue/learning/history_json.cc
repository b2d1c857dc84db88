// The stored form of the history: version 2 is written, 1 (whole-GPU seconds by a fixed rule) is still read.
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "queue/learning/history.h"

namespace smartmig {
namespace {

constexpr double kLongestStored = 1e10;
constexpr int kMostStoredMib = 1 << 30;
constexpr std::size_t kFields = 9;  // of a run, before its numbers

// A run is a list, since there are many: the numbers at its end are as many as matter.
struct Bounds {
  double low, high;
  bool whole;
};
constexpr Bounds kBounds[kFields] = {
    {1, 64, true},                  // compute slices
    {1, 64, true},                  // of so many
    {1e-6, kLongestStored, false},  // seconds
    {0, kMostBeside, false},        // load
    {-1, kLongestStored, false},    // launch, seconds
    {-1, 1e18, false},              // joules
    {-1, kLongestStored, false},    // predicted, seconds
    {0, 1e12, true},                // ended, Unix seconds
    {0, 1e6, true},                 // epoch
};

Result<Ok> read_peaks(const JsonObject& row, std::size_t most, std::vector<int>& out) {
  SMARTMIG_TRY(const Json* peaks, row.list("peak_mib"));
  if (peaks->size() > most) return row.error("peak_mib", "is too long");
  for (const Json& x : *peaks) {
    if (!x.is_number_integer() || !(x.get<double>() >= 0 && x.get<double>() <= kMostStoredMib))
      return row.error("peak_mib", "has an invalid memory in MiB");
    out.push_back(x.get<int>());
  }
  return Ok{};
}

constexpr std::size_t kWorkFigures = 16;
constexpr double kMostFigure = 1e12;

Json work_json(const PastWork& w) {
  const auto& c = w.by_size;
  const auto figure = [](double x) { return std::isfinite(x) ? std::clamp(x, -kMostFigure, kMostFigure) : 0.0; };
  Json out = Json::array();
  for (const double x : {w.end_size, w.end_done, w.duration_s, w.of, w.last_rise_s, w.held_mib, w.peak_mib,
                         double(w.fixed), c.a, c.b, c.power, c.miss, double(c.points), c.from, c.to, c.weight})
    out.push_back(figure(x));
  if (w.held.rises.empty()) return out;
  Json held = {figure(w.held.end_done), figure(w.held.of), figure(w.held.duration_s)};
  for (const HeldProjection::Rise& r : w.held.rises) {
    held.push_back(figure(r.work));
    held.push_back(figure(r.held));
  }
  out.push_back(std::move(held));
  return out;
}

constexpr std::size_t kHeldFigures = 3;

bool are_figures(const Json& list, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i)
    if (!list[i].is_number() || !(std::abs(list[i].get<double>()) <= kMostFigure)) return false;
  return true;
}

// What its framework counted, where it was asked; false: that cannot be.
bool read_held(const Json& list, HeldRun& out) {
  const std::size_t n = list.is_array() ? list.size() : 0;
  if (n < kHeldFigures + 2 || n > kHeldFigures + 2 * HeldRun::kMost || n % 2 != kHeldFigures % 2) return false;
  if (!are_figures(list, 0, n)) return false;
  out.end_done = list[0].get<double>();
  out.of = list[1].get<double>();
  out.duration_s = list[2].get<double>();
  for (std::size_t i = kHeldFigures; i < n; i += 2) {
    const HeldProjection::Rise rise{list[i].get<double>(), list[i + 1].get<double>()};
    if (!out.rises.empty() && (rise.work < out.rises.back().work || rise.held < out.rises.back().held)) return false;
    out.rises.push_back(rise);
  }
  return out.rises.front().held >= 0 && out.duration_s > 0;
}

Result<Ok> read_works(const JsonObject& row, std::size_t most, std::vector<PastWork>& out) {
  if (!row.has("work")) return Ok{};
  SMARTMIG_TRY(const Json* works, row.list("work"));
  if (works->size() > most) return row.error("work", "is too long");
  for (const Json& one : *works) {
    double x[kWorkFigures];
    if (!one.is_array() || one.size() < kWorkFigures || one.size() > kWorkFigures + 1)
      return row.error("work", "has an invalid run");
    PastWork w;
    if (!are_figures(one, 0, kWorkFigures)) return row.error("work", "has an invalid figure");
    // A hint for the next run of one command: better none than a daemon that does not start.
    if (one.size() > kWorkFigures && !read_held(one[kWorkFigures], w.held)) w.held = {};
    for (std::size_t i = 0; i < kWorkFigures; ++i) x[i] = one[i].get<double>();
    w.end_size = x[0], w.end_done = x[1], w.duration_s = x[2], w.of = x[3], w.last_rise_s = x[4];
    w.held_mib = x[5], w.peak_mib = x[6], w.fixed = x[7] != 0;
    w.by_size.a = x[8], w.by_size.b = x[9], w.by_size.power = x[10] == 2 ? 2 : 1, w.by_size.miss = x[11];
    w.by_size.points = int(std::clamp(x[12], 0.0, 1e6)), w.by_size.from = x[13], w.by_size.to = x[14];
    w.by_size.weight = x[15];
    out.push_back(w);
  }
  return Ok{};
}

}  // namespace

std::string History::to_json() const {
  Json list = Json::array();
  for (const Entry& e : entries_) {
    Json seen = Json::array();
    for (const Run& run : e.seen) {
      Json one = {run.slices, run.of,          run.s,       run.load, run.launch_s,
                  run.joules, run.predicted_s, run.ended_s, run.epoch};
      std::size_t numbers = kRunNumbers;
      while (numbers > 0 && run.numbers[numbers - 1] == 0) --numbers;
      for (std::size_t i = 0; i < numbers; ++i) one.push_back(run.numbers[i]);
      seen.push_back(std::move(one));
    }
    list.push_back({{"signature", e.signature},
                    {"runs", e.runs},
                    {"epoch", e.epoch},
                    {"seen", std::move(seen)},
                    {"peak_mib", e.peak_mib},
                    {"out_of_memory_mib", e.out_of_memory_mib < 0 ? Json(nullptr) : Json(e.out_of_memory_mib)}});
    for (const PastWork& work : e.works) list.back()["work"].push_back(work_json(work));
  }
  return json_dump(Json{{"smartmig_history", 2}, {"signatures", std::move(list)}});
}

Result<Ok> History::parse_entry(const JsonObject& row, Entry& entry) {
  SMARTMIG_TRY(const std::int64_t epoch, row.integer("epoch", 0, 1'000'000));
  entry.epoch = int(epoch);
  SMARTMIG_TRY(const Json* seen, row.list("seen"));
  if (seen->size() > kRuns) return row.error("seen", "is too long");
  for (const Json& one : *seen) {
    if (!one.is_array() || one.size() < kFields || one.size() > kFields + kRunNumbers)
      return row.error("seen", "has an invalid run");
    for (std::size_t i = 0; i < one.size(); ++i) {
      const Bounds bounds = i < kFields ? kBounds[i] : Bounds{-700, 700, false};
      if (!one[i].is_number() || (bounds.whole && !one[i].is_number_integer()) ||
          !(one[i].get<double>() >= bounds.low && one[i].get<double>() <= bounds.high))
        return row.error("seen", "has a run with an invalid figure");
    }
    Run run{one[0].get<int>(),          one[1].get<int>(),
            one[8].get<int>(),          one[2].get<double>(),
            one[3].get<double>(),       one[4].get<double>(),
            one[5].get<double>(),       one[6].get<double>(),
            one[7].get<std::int64_t>(), {}};
    if (run.slices > run.of || run.epoch > entry.epoch) return row.error("seen", "has an invalid run");
    for (std::size_t i = kFields; i < one.size(); ++i) run.numbers[i - kFields] = one[i].get<double>();
    entry.seen.push_back(run);
  }
  return Ok{};
}

// Seconds on the whole GPU that follow from others by a rule: how the program's time was before, more or less.
Result<Ok> History::parse_first_version(const JsonObject& row, Entry& entry) {
  SMARTMIG_TRY(const Json* times, row.list("whole_s"));
  if (times->size() > kRuns) return row.error("whole_s", "is too long");
  entry.epoch = times->empty() ? 0 : 1;
  for (const Json& x : *times) {
    if (!x.is_number() || !(x.get<double>() >= 1e-6 && x.get<double>() <= kLongestStored))
      return row.error("whole_s", "has an invalid time in seconds");
    Run run;
    run.s = x.get<double>();
    entry.seen.push_back(run);
  }
  return Ok{};
}

Result<History> History::parse(const std::string& name, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, name, "", {"smartmig_history", "signatures"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_history", 0, 1'000'000));
  if (version != 1 && version != 2)
    return invalid("{}: the history has version {}, but this program reads only versions 1 and 2", name, version);
  SMARTMIG_TRY(const Json* list, root.list("signatures"));
  if (list->size() > kSignatures) return root.error("signatures", fmt::format("has more than {} rows", kSignatures));
  const std::vector<std::string> known =
      version == 1
          ? std::vector<std::string>{"signature", "runs", "whole_s", "peak_mib", "out_of_memory_mib"}
          : std::vector<std::string>{"signature", "runs", "epoch", "seen", "peak_mib", "out_of_memory_mib", "work"};
  History out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    SMARTMIG_TRY(const JsonObject row, JsonObject::open((*list)[i], name, fmt::format("signatures[{}]", i), known));
    SMARTMIG_TRY(const std::string signature, row.text("signature"));
    if (signature.size() > kLongestSignature) return row.error("signature", "is too long");
    if (out.by_signature_.contains(signature)) return row.error("signature", "is there twice");
    SMARTMIG_TRY(const std::int64_t runs, row.integer("runs", 0, 1'000'000'000));
    SMARTMIG_TRY(const std::int64_t short_of, row.integer("out_of_memory_mib", 0, kMostStoredMib, -1));
    Entry& entry = out.touch(signature);
    entry.runs = int(runs);
    entry.out_of_memory_mib = int(short_of);
    SMARTMIG_RETURN_IF_ERROR(read_peaks(row, kRuns, entry.peak_mib));
    SMARTMIG_RETURN_IF_ERROR(read_works(row, kWorks, entry.works));
    SMARTMIG_RETURN_IF_ERROR(version == 1 ? parse_first_version(row, entry) : parse_entry(row, entry));
  }
  return out;
}

}  // namespace smartmig
