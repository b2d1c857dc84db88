#include "sim/traces/trace_rows.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_times.h"

namespace smartmig {
namespace {

// The map's columns as found in one file.
class MappedRow {
 public:
  static Result<MappedRow> bind(const CsvReader& csv, const TraceMap& map) {
    MappedRow row(csv, map);
    for (std::size_t f = 0; f < kTraceFields; ++f) {
      const TraceMap::Entry& entry = map.entries[f];
      row.columns_[f] = -1;
      if (!entry.given() || entry.constant) continue;
      const auto number = entry.column[0] == '#' ? parse_int(entry.column.substr(1)) : std::nullopt;
      const bool by_number = number && *number >= 1 && std::size_t(*number) <= csv.header().size();
      row.columns_[f] = by_number ? int(*number) - 1 : csv.column_in_any_case(entry.column);
      if (row.columns_[f] < 0) {
        const std::string near = nearest(entry.column, csv.header());
        return invalid("{}: the file has no column '{}' for {}{}; it has {}", csv.name(), entry.column,
                       name_of(TraceField(f)), near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                       fmt::join(csv.header(), ", "));
      }
    }
    return row;
  }

  std::string_view text(const CsvReader& csv, TraceField field) const {
    const TraceMap::Entry& entry = (*map_)[field];
    const std::string_view value = entry.constant ? std::string_view(entry.column) : csv.text(column(field));
    return says_unknown(value) ? std::string_view() : value;
  }

  Result<std::optional<double>> number(const CsvReader& csv, TraceField field, double scale, double low,
                                       double high) const {
    const std::string_view value = text(csv, field);
    if (value.empty()) return std::optional<double>();
    const auto parsed = parse_double(value);
    if (!parsed) return csv.error(column(field), fmt::format("'{}' is not a finite number", value));
    const double scaled = *parsed * scale;
    if (!(scaled >= low && scaled <= high))
      return csv.error(column(field),
                       fmt::format("'{}' must lie between {:g} and {:g}", value, low / scale, high / scale));
    return std::optional<double>(scaled);
  }

  Result<std::optional<double>> seconds_at(const CsvReader& csv, TraceField field, double low) const {
    const std::string& unit = (*map_)[field].unit;
    return number(csv, field, unit.empty() ? 1 : seconds_in(unit).value_or(1), low, kMaxSeconds);
  }

  Result<std::optional<TraceInstant>> instant(const CsvReader& csv, TraceField field) const {
    const std::string_view value = text(csv, field);
    if (value.empty()) return std::optional<TraceInstant>();
    const auto parsed = parse_trace_instant(value, (*map_)[field].unit);
    if (!parsed)
      return csv.error(
          column(field),
          fmt::format("'{}' is neither a number within 1e10 s nor a date such as 2023-03-01 00:18:22+08:00", value));
    return std::optional<TraceInstant>(*parsed);
  }

  Result<std::optional<double>> gpus(const CsvReader& csv) const {
    const std::string& unit = (*map_)[TraceField::kGpus].unit;
    if (unit != "tres")
      return number(csv, TraceField::kGpus, unit == "percent" ? 0.01 : unit == "milli" ? 0.001 : 1, 0, 1e9);
    double count = 0;  // Slurm's type numbers of GPUs begin at 1001
    for (const std::string_view item : split(text(csv, TraceField::kGpus), ',')) {
      const auto equals = item.find('=');
      if (equals == item.npos) continue;
      const auto id = parse_int(trim(item.substr(0, equals))), amount = parse_int(trim(item.substr(equals + 1)));
      if (id && amount && *amount >= 0 && *amount < 1'000'000 && (*id == 1001 || *id == 1002)) count += double(*amount);
    }
    return std::optional<double>(count);
  }

  int column(TraceField field) const { return columns_[std::size_t(field)]; }
  const TraceMap& map() const { return *map_; }

 private:
  MappedRow(const CsvReader&, const TraceMap& map) : map_(&map) {}
  const TraceMap* map_;
  std::array<int, kTraceFields> columns_{};
};

void describe(const CsvReader& csv, const MappedRow& row, const LoadOptions& options, const TraceRowHook& hook,
              TraceReading& reading) {
  const TraceMap& map = row.map();
  std::vector<bool> used(csv.header().size(), false);
  for (std::size_t f = 0; f < kTraceFields; ++f) {
    const TraceMap::Entry& entry = map.entries[f];
    if (!entry.given()) continue;
    const TraceField field = TraceField(f);
    if (row.column(field) >= 0) used[std::size_t(row.column(field))] = true;
    reading.used.push_back({std::string(name_of(field)),
                            entry.constant ? "always " + entry.column : csv.header()[std::size_t(row.column(field))],
                            entry.unit});
  }
  for (std::size_t c = 0; c < used.size(); ++c)
    if (!used[c]) reading.unused.push_back(csv.header()[c]);

  const auto gap = [&](TraceField field, std::string instead) {
    reading.missing.push_back({std::string(name_of(field)), std::move(instead)});
  };
  const bool tokens = map.has(TraceField::kTokensIn) || map.has(TraceField::kTokensOut);
  if (!map.has(TraceField::kSubmit)) gap(TraceField::kSubmit, "every job is submitted at 0");
  if (!map.has(TraceField::kDuration) && !hook.durations)
    gap(TraceField::kDuration, map.has(TraceField::kEnd) ? "end - start"
                               : tokens                  ? "tokens / --tokens-per-s"
                                                         : "none: no row can be used");
  if (hook.durations) reading.used.push_back({"duration", "see the rules", ""});
  if (!hook.deadlines.empty()) {
    reading.used.push_back({"deadline", hook.deadlines, ""});
  } else if (!map.has(TraceField::kDeadline) && !map.has(TraceField::kDueIn) && !map.has(TraceField::kSlo)) {
    const SlackRange slack = options.slack ? *options.slack : options.missing_slack.value_or(SlackRange());
    gap(TraceField::kDeadline,
        slack.none
            ? "none"
            : fmt::format("drawn: submit + U({}, {}) * duration (--missing-slack A-B or none)", slack.low, slack.high));
  }
  if (!map.has(TraceField::kGpus)) gap(TraceField::kGpus, "one for each job");
  if (!map.has(TraceField::kMemory)) gap(TraceField::kMemory, "from data/speeds.csv, by kind");
  if (!map.has(TraceField::kKind))
    gap(TraceField::kKind, options.default_kind.empty() ? "guessed (--default-kind KIND)" : options.default_kind);
  if (!map.has(TraceField::kClass) && !map.has(TraceField::kKind))
    gap(TraceField::kClass, "not known whether training or inference");
}

}  // namespace

Result<Workload> read_trace_rows(CsvReader csv, const TraceMap& map, const LoadOptions& options,
                                 const TraceRowHook& hook) {
  SMARTMIG_TRY(const MappedRow at, MappedRow::bind(csv, map));
  using F = TraceField;
  const bool start_end = map.has(F::kEnd) && (map.has(F::kStart) || map.has(F::kSubmit));
  const bool tokens = map.has(F::kTokensIn) || map.has(F::kTokensOut);
  if (!map.has(F::kDuration) && !start_end && !tokens && !hook.durations)
    return invalid("{}: no column gives run times; map duration=COLUMN, or start=COLUMN and end=COLUMN", csv.name());
  if (options.reading != nullptr) describe(csv, at, options, hook, *options.reading);
  const bool has_id = map.has(F::kId);
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(csv.name(), has_id ? "job id" : "row number", options));
  const double memory_scale = mib_in(map[F::kMemory].unit).value_or(1);
  const std::string& share_unit = map[F::kShare].unit;
  const double share_scale = share_unit == "milli" ? 0.001 : share_unit == "percent" ? 0.01 : 1;
  std::size_t row = 0, from_tokens = 0, shares = 0, repeated = 0;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    ++row;
    TraceJob job;
    job.id = has_id ? std::string(at.text(csv, F::kId)) : std::to_string(row);
    for (const char c : job.id)
      if (static_cast<unsigned char>(c) < 32) return csv.error(at.column(F::kId), "has a control character");
    if (job.id.empty() || jobs.known(job.id)) {
      repeated += !job.id.empty();
      job.id += fmt::format("{}row-{}", job.id.empty() ? "" : "#", row);
      if (jobs.known(job.id)) return csv.error(at.column(F::kId), fmt::format("'{}' is given twice", job.id));
    }
    SMARTMIG_TRY(const auto submit, at.instant(csv, F::kSubmit));
    SMARTMIG_TRY(const auto start, at.instant(csv, F::kStart));
    SMARTMIG_TRY(const auto end, at.instant(csv, F::kEnd));
    SMARTMIG_TRY(const auto deadline, at.instant(csv, F::kDeadline));
    if (submit) {
      if (submit->at < Time{0})
        return csv.error(at.column(F::kSubmit),
                         fmt::format("'{}' must lie between 0 and 1e10 s", at.text(csv, F::kSubmit)));
      job.submit_s = seconds(submit->at);
      job.is_date = submit->is_date;
      job.zone_minutes = submit->zone_minutes;
    }
    SMARTMIG_TRY(job.duration_s, at.seconds_at(csv, F::kDuration, -kMaxSeconds));
    const std::optional<TraceInstant>& begin = start ? start : map.has(F::kStart) ? start : submit;
    if (!job.duration_s && begin && end && !(begin->at == Time{0} && end->at == Time{0}))
      job.duration_s = seconds(end->at - begin->at);
    if (job.duration_s && *job.duration_s > kMaxSeconds)
      return csv.error(at.column(F::kEnd), "lies more than 1e10 s after the start");
    SMARTMIG_TRY(job.deadline_offset_s, at.seconds_at(csv, F::kDueIn, -kMaxSeconds));
    if (!job.deadline_offset_s && deadline && submit) job.deadline_offset_s = seconds(deadline->at - submit->at);
    SMARTMIG_TRY(const auto count, at.gpus(csv));
    job.gpus = count.value_or(1);
    SMARTMIG_TRY(const auto copies, at.number(csv, F::kCopies, 1, 0, 1e9));
    job.gpus *= copies.value_or(1);
    SMARTMIG_TRY(const auto share, at.number(csv, F::kShare, share_scale, 0, 1e9));
    shares += job.gpus > 0 && job.gpus <= 1 && std::min(job.gpus, share.value_or(1)) < 1;
    SMARTMIG_TRY(const auto mib, at.number(csv, F::kMemory, memory_scale, 0, 1 << 30));
    if (mib) job.mem_mib = int(std::ceil(*mib));
    SMARTMIG_TRY(const auto tokens_in, at.number(csv, F::kTokensIn, 1, 0, 1e12));
    SMARTMIG_TRY(const auto tokens_out, at.number(csv, F::kTokensOut, 1, 0, 1e12));
    const std::string_view batch = at.text(csv, F::kBatch);
    job.kind = at.text(csv, F::kKind);
    if (!batch.empty() && !job.kind.empty()) job.kind += fmt::format(" (batch size {})", batch);
    if (const std::string phase = phase_of_class(at.text(csv, F::kClass)); !phase.empty())
      job.kind = job.kind.empty() ? phase : phase + ":" + job.kind;
    if (!job.duration_s && (tokens_in || tokens_out)) {
      if (options.tokens_per_s <= 0)
        return csv.error(at.column(map.has(F::kDuration) ? F::kDuration : F::kTokensIn),
                         "the trace has tokens instead of durations; give --tokens-per-s, the speed of the whole "
                         "GPU");
      job.duration_s = (tokens_in.value_or(0) + tokens_out.value_or(0)) / options.tokens_per_s;
      if (*job.duration_s > kMaxSeconds)
        return csv.error(at.column(F::kTokensIn), "more than 1e10 s at this --tokens-per-s");
      ++from_tokens;
    }
    if (hook.row) SMARTMIG_RETURN_IF_ERROR(hook.row(csv, batch, job));
    SMARTMIG_TRY(const auto slo, at.number(csv, F::kSlo, 1, -kMaxSeconds, 1e6));
    if (slo && *slo > 0 && !job.deadline_offset_s && job.duration_s && std::abs(*slo * *job.duration_s) <= kMaxSeconds)
      job.deadline_offset_s = *slo * *job.duration_s;
    jobs.add(job);
  }
  if (from_tokens > 0)
    jobs.note(fmt::format("{} durations are (context + generated tokens) / {} tokens per second", from_tokens,
                          options.tokens_per_s));
  if (shares > 0)
    jobs.note(fmt::format("{} is not used; {} rows that asked for a part of one GPU keep their duration",
                          map.has(F::kShare) ? map[F::kShare].column : "the share of a GPU", shares));
  if (repeated > 0)
    jobs.note(fmt::format("{} rows repeat an id: '#row-N' with the row's number is added to theirs", repeated));
  if (!hook.note.empty()) jobs.note(hook.note);
  return jobs.finish();
}

}  // namespace smartmig
