#include "research/papers/recorded_llm.h"

#include <algorithm>
#include <map>

#include "base/csv.h"
#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr double kRecordedContextMib = 450, kRoomMib = 4000;
constexpr double kSilentLoadS = 3;
constexpr std::size_t kLoadPoints = 12;
constexpr std::size_t kSoon = 24;  // in points: 3 % of a run
constexpr int kDrawsOfCase = 3;

std::uint32_t checksum(std::string_view text) {  // CRC-32
  std::uint32_t crc = 0xffffffffu;
  for (const char c : text) {
    crc ^= std::uint8_t(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

AllocatorFamily family_of(std::string_view allocator) {
  if (allocator == "doubling") return AllocatorFamily::kDoubling;
  if (allocator == "reserved") return AllocatorFamily::kReserved;
  const bool plain = allocator == "async" || allocator == "expandable" || allocator == "uncached";
  return plain ? AllocatorFamily::kPlain : AllocatorFamily::kCaching;
}

WorkWords announced_by(const std::string& command) {
  WorkWords out;
  const std::vector<std::string_view> words = split(command, ' ');
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (const auto value = parse_double(words[i + 1]); value && words[i].rfind("--", 0) == 0)
      out.add(words_of_option(words[i], *value));
  return out;
}

// What the daemon would have seen, sample by sample.
class RecordedSamples {
 public:
  RecordedSamples(const RecordedRun& run, bool asked) : run_(run), told_(announced_by(run.command)), asked_(asked) {}
  WorkSample upto(std::size_t point, double at_s) {
    WorkSample out;
    WorkWords fresh;
    for (; next_ <= point; ++next_) {
      fresh.add(run_.points[next_].words);
      out.device_mib = std::max(out.device_mib, run_.points[next_].device_mib);
      held_peak_ = std::max(held_peak_, run_.points[next_].held_mib - kRecordedContextMib);
    }
    if (fresh.size >= 0) told_.size = -1;
    told_.add(fresh);
    out.at_s = at_s;
    out.take(told_);
    if (asked_) out.held_peak_mib = held_peak_;
    return out;
  }

 private:
  const RecordedRun& run_;
  WorkWords told_;
  bool asked_;
  double held_peak_ = -1;
  std::size_t next_ = 0;
};

PastWork past_of_run(const RecordedRun& run, double stretch, bool asked) {
  WorkProjection watch;
  watch.set_allocator(family_of(run.allocator));
  RecordedSamples samples(run, asked);
  for (std::size_t i = kRecordedEvery - 1; i < run.points.size(); i += kRecordedEvery)
    watch.add(samples.upto(i, stretch * run.whole_s * double(i + 1) / double(kRecordedPoints)));
  return watch.to_past((run.limit_mib > 0 ? run.limit_mib : kRoomMib) + kRecordedContextMib);
}

double most(const RecordedRun& run, double RecordedRun::Point::*figure) {
  double out = 0;
  for (const RecordedRun::Point& p : run.points) out = std::max(out, p.*figure);
  return out;
}

std::size_t first_above(const RecordedRun& run, double RecordedRun::Point::*figure, double mib) {
  std::size_t i = 0;
  while (i < run.points.size() && run.points[i].*figure <= mib) ++i;
  return i;
}

}  // namespace

RecordedPart part_of(std::string_view group) {
  const std::string_view number = group.substr(std::min(group.size(), group.rfind('/') + 1));
  return number == "0" || number == "1" ? RecordedPart::kTuning : RecordedPart::kReport;
}

Result<std::vector<RecordedRun>> parse_recorded_runs(std::string_view runs_csv, std::string_view series_csv) {
  struct Row {
    double at_s, device, held;
    WorkWords words;
  };
  std::vector<RecordedRun> out;
  std::map<std::string, std::vector<Row>, std::less<>> series;
  SMARTMIG_TRY(CsvReader rows, CsvReader::open(LineReader::over("llm_series.csv", series_csv)));
  double device = 0, held = 0;
  while (true) {
    SMARTMIG_TRY(const bool more, rows.next());
    if (!more) break;
    SMARTMIG_TRY(const double ms, rows.number(1));
    std::vector<Row>& of_run = series[std::string(rows.text(0))];
    if (of_run.empty()) device = held = 0;
    if (!rows.empty(2)) {
      SMARTMIG_TRY(device, rows.number(2));
      SMARTMIG_TRY(held, rows.number(3));
    }
    of_run.push_back({ms / 1000, device, held, work_words_of(rows.text(4))});
  }
  SMARTMIG_TRY(CsvReader table, CsvReader::open(LineReader::over("llm_runs.csv", runs_csv)));
  std::map<std::string, std::pair<double, int>> group_s;
  while (true) {
    SMARTMIG_TRY(const bool more, table.next());
    if (!more) break;
    RecordedRun run;
    run.name = table.text(0);
    run.group = table.text(1);
    const std::vector<std::string_view> parts = split(run.group, '/');
    if (parts.size() != 3) return table.error(1, "is no ALLOCATOR/KIND/NUMBER");
    run.allocator = parts[0];
    run.kind = parts[1];
    SMARTMIG_TRY(const std::int64_t input, table.integer(2));
    run.input = int(input);
    SMARTMIG_TRY(run.limit_mib, table.number(3));
    run.ended = table.text(4) == "ended";
    run.refused = table.text(4) == "refused";
    SMARTMIG_TRY(run.seconds, table.number(5));
    run.command = table.text(6);
    if (run.ended) group_s[run.group].first += run.seconds, ++group_s[run.group].second;
    out.push_back(std::move(run));
  }
  for (RecordedRun& run : out) {
    const std::vector<Row>& of_run = series[run.name];
    WorkWords last_words = announced_by(run.command);
    double load_s = run.seconds;
    for (const Row& row : of_run) {
      if (row.words.any()) load_s = std::min(load_s, row.at_s);
      last_words.add(row.words);
    }
    if (last_words.done < 0 && last_words.size < 0) load_s = std::min(kSilentLoadS, run.seconds);
    const auto known = group_s.find(run.group);
    if (run.ended)
      run.whole_s = run.seconds;
    else if (last_words.of > 0 && last_words.done > 0)
      run.whole_s = load_s + (run.seconds - load_s) * last_words.of / last_words.done;
    else if (known != group_s.end())
      run.whole_s = known->second.first / known->second.second;
    run.whole_s = std::max(run.whole_s, run.seconds);
    std::size_t next = 0;
    RecordedRun::Point at;
    for (std::size_t i = 0; i < kRecordedPoints; ++i) {
      const double share = double(i + 1 - kLoadPoints) / double(kRecordedPoints - kLoadPoints);
      const double until =
          i < kLoadPoints ? load_s * double(i + 1) / double(kLoadPoints) : load_s + (run.whole_s - load_s) * share;
      if (!run.ended && until > run.seconds) break;
      at.words = {};
      double peak = at.device_mib, held_peak = 0;
      for (; next < of_run.size() && of_run[next].at_s <= until; ++next) {
        at.device_mib = of_run[next].device + kRecordedContextMib;
        peak = std::max(peak, at.device_mib);
        held_peak = std::max(held_peak, of_run[next].held + kRecordedContextMib);
        at.words.add(of_run[next].words);
      }
      if (held_peak > 0) at.held_mib = held_peak;
      run.points.push_back(at);
      run.points.back().device_mib = peak;
    }
  }
  return out;
}

std::vector<RecordedCase> recorded_cases(const std::vector<RecordedRun>& runs, RecordedPart part, bool with_earlier) {
  std::vector<RecordedCase> out;
  for (const RecordedRun& run : runs) {
    if (part_of(run.group) != part || run.points.size() < 40) continue;
    RecordedCase one;
    one.run = &run;
    if (with_earlier)
      for (const RecordedRun& other : runs)
        if (other.group == run.group && other.ended && other.limit_mib == 0 && other.input != run.input)
          one.earlier.push_back(&other);
    if (with_earlier && one.earlier.empty()) continue;
    const std::size_t first = out.size();
    if (run.refused || run.ended) {
      one.limit_mib = (run.limit_mib > 0 ? run.limit_mib : kRoomMib) + kRecordedContextMib;
      one.failure = run.points.size();
      if (run.refused || run.limit_mib > 0) out.push_back(one);
    }
    if (run.allocator != "reserved" && !run.refused) {
      const double shown = most(run, &RecordedRun::Point::device_mib), held = most(run, &RecordedRun::Point::held_mib);
      for (const double share : {0.5, 0.6, 0.7, 0.8, 0.9, 1.05, 1.15, 1.3}) {
        one.limit_mib = share < 1 ? share * held : share * shown;
        one.failure = first_above(run, &RecordedRun::Point::device_mib, one.limit_mib);
        const bool fits = one.failure == run.points.size();
        if (fits ? run.ended : first_above(run, &RecordedRun::Point::held_mib, one.limit_mib) <= one.failure + kSoon)
          out.push_back(one);
      }
    }
    const std::size_t last = out.size();
    for (std::size_t c = first; c < last; ++c)
      for (int draw = 0; draw < kDrawsOfCase; ++draw) {
        RecordedCase drawn = out[c];
        drawn.expected_s = 0;
        Rng rng(mix64(checksum(run.name), std::uint64_t(drawn.limit_mib)), 93 + std::uint64_t(draw));
        drawn.duration_s = deterministic_exp(rng.uniform(deterministic_log(120), deterministic_log(7200)));
        drawn.restart_s = deterministic_exp(rng.uniform(deterministic_log(15), deterministic_log(120)));
        const std::uint64_t told = rng.below(4);
        if (told < 2)
          drawn.expected_s = drawn.duration_s * deterministic_exp(0.25 * rng.normal());
        else if (told == 2)
          drawn.expected_s =
              drawn.duration_s * deterministic_exp(rng.uniform(deterministic_log(0.3), deterministic_log(3)));
        if (draw == 0)
          out[c] = drawn;
        else
          out.push_back(drawn);
      }
  }
  return out;
}

Foresight judge_recorded(const RecordedCase& one, RestartMethod method) {
  const RecordedRun& run = *one.run;
  const bool asked = method == RestartMethod::kAsked;
  Foresight result;
  result.cases = 1;
  ++(one.failed() ? result.doomed : result.fitting);
  result.asked = result.fitting;
  if (one.failed()) {
    MemoryCurve held;
    held.duration_s = one.duration_s;
    bool says = false;
    for (const RecordedRun::Point& p : run.points) {
      held.mib.push_back(p.held_mib);
      says |= p.words.held_mib >= 0;
    }
    const bool reserved = run.allocator == "reserved";
    result.heralded =
        (!reserved || says || asked) && heralded(held, one.failure, one.limit_mib * (reserved ? 0.75 : 1));
    result.oracle_s = one.restart_s;
  }
  WorkProjection work;
  MemoryProjection time;
  work.set_allocator(family_of(run.allocator));
  for (const RecordedRun* past : one.earlier) work.remember(past_of_run(*past, one.duration_s / run.whole_s, asked));
  RecordedSamples samples(run, asked);
  for (std::size_t i = kRecordedEvery - 1; i < one.failure && method != RestartMethod::kWait; i += kRecordedEvery) {
    const WorkSample sample = samples.upto(i, one.at(i));
    const RestartCosts costs{one.restart_s, sample.at_s, sample.at_s};
    RestartVerdict verdict;
    if (method == RestartMethod::kWork || asked) {
      work.add(sample);
      verdict = work.verdict(one.limit_mib, one.expected_s, costs);
    } else {
      time.add(sample.at_s, sample.device_mib);
      verdict = time.verdict(one.limit_mib, one.expected_s, costs);
    }
    if (!verdict.restart) continue;
    result.false_restarts = !one.failed();
    if (one.failed()) result.saved_share = 1 - sample.at_s / one.at(one.failure);
    result.lost_s = sample.at_s + one.restart_s;
    return result;
  }
  if (!one.failed()) return result;
  result.missed = 1;
  result.missed_heralded = result.heralded;
  result.lost_s = one.at(one.failure) + one.restart_s;
  return result;
}

}  // namespace smartmig
