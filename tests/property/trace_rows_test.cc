// Readers of trace files against random tables: jobs are drawn, written in a random dialect (delimiter, order and case of
// columns, units, dates with zones or numbers, start and end or durations, a byte order mark, CRLF), and read back through
// --map; every job must come back with its times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "base/rng.h"
#include "sim/kind_curve.h"
#include "sim/traces/trace_formats.h"
#include "sim/traces/trace_times.h"
#include "support/cases.h"

namespace smartmig {
namespace {

struct DrawnJob {
  std::int64_t submit_s, wait_s, duration_s;
  int gpus;
};

std::string date_of(std::int64_t unix_s, int zone_minutes, bool with_t) {
  std::string text = date_words(std::chrono::seconds(unix_s), zone_minutes);  // "2023-03-01 00:00:00 +08:00"
  if (with_t) text[10] = 'T';
  return text.erase(19, 1);
}

TEST(TraceRowsProperty, RandomDialectsReadBack) {
  for (int c = 0, count = cases(60); c < count; ++c) {
    SCOPED_TRACE(fmt::format("seed {}", c));
    Rng rng(77, std::uint64_t(c));
    const auto pick = [&](int n) { return int(rng.uniform() * n); };
    const std::int64_t first = 1'600'000'000 + pick(1'000'000);
    std::vector<DrawnJob> jobs;
    for (int i = 0, n = 1 + pick(12); i < n; ++i)
      jobs.push_back({first + pick(500'000), pick(1000), 1 + pick(90'000), pick(8) == 0 ? 2 : 1});
    const char delimiter = ",\t;|"[pick(4)];
    const bool dates = pick(2) == 0, start_end = pick(2) == 0, milliseconds = pick(2) == 0, mark = pick(2) == 0,
               crlf = pick(2) == 0, upper = pick(2) == 0, with_t = pick(2) == 0;
    const int zone = (pick(27) - 12) * 30;
    const auto instant = [&](std::int64_t s) {
      return dates ? date_of(s, zone, with_t) : fmt::format("{}", milliseconds ? s * 1000 : s);
    };
    const std::string unit = dates ? "" : milliseconds ? ":ms" : ":s";
    std::vector<std::vector<std::string>> columns = {{"submit_at"}, {"cards"}, {"noise"}};
    if (start_end)
      columns.insert(columns.end(), {{"begin_at"}, {"end_at"}});
    else
      columns.push_back({"took_min"});
    for (const DrawnJob& job : jobs) {
      columns[0].push_back(instant(job.submit_s));
      columns[1].push_back(fmt::format("{}", job.gpus));
      columns[2].push_back("x y");
      if (start_end) {
        columns[3].push_back(instant(job.submit_s + job.wait_s));
        columns[4].push_back(instant(job.submit_s + job.wait_s + job.duration_s));
      } else {
        columns[3].push_back(fmt::format("{}", double(job.duration_s) / 60));
      }
    }
    for (std::size_t i = columns.size(); i > 1; --i) std::swap(columns[i - 1], columns[std::size_t(pick(int(i)))]);
    std::string text = mark ? "\xEF\xBB\xBF" : "";
    for (std::size_t row = 0; row <= jobs.size(); ++row) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        std::string cell = columns[k][row];
        if (row == 0 && upper)
          for (char& letter : cell) letter = char(std::toupper(letter));
        text += (k > 0 ? std::string(1, delimiter) : "") + cell;
      }
      text += crlf ? "\r\n" : "\n";
    }
    LoadOptions options;
    options.map = "submit=submit_at" + unit + ",gpus=cards," +
                  (start_end ? "start=begin_at" + unit + ",end=end_at" + unit : std::string("duration=took_min:min"));
    TraceSource source;
    source.name = "drawn";
    source.open = [&]() -> Result<LineReader> { return LineReader::over("drawn", text); };
    source.whole = [&]() -> Result<std::string> { return text; };
    const auto read = read_trace_file(source, options);
    std::erase_if(jobs, [](const DrawnJob& job) { return job.gpus > 1; });
    if (jobs.empty()) {
      EXPECT_FALSE(read);
      continue;
    }
    ASSERT_TRUE(read) << read.error().what << "\n" << text;
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.submit_s < b.submit_s; });
    ASSERT_EQ(read->jobs.size(), jobs.size()) << text;
    const std::int64_t east = dates ? zone * 60 : 0;
    const std::int64_t origin = (jobs[0].submit_s + east) / 86400 * 86400 - east;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(read->jobs[i].submit, Time(std::chrono::seconds(jobs[i].submit_s - origin))) << text;
      EXPECT_NEAR(seconds(whole_gpu_work(read->jobs[i])), double(jobs[i].duration_s), 1e-3) << text;
    }
  }
}

}  // namespace
}  // namespace smartmig
