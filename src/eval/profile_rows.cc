#include "eval/profile_rows.h"

#include <algorithm>
#include <set>

#include "base/csv.h"
#include "eval/calibration.h"
#include "eval/statistics.h"
#include "mig/catalog.h"
#include "model/power.h"

namespace smartmig {

std::vector<ProfileResult> profile_results(const std::vector<ProfileRun>& runs) {
  const bool progress = !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const ProfileRun& run) {
    return run.per_s > 0 && run.unit == runs[0].unit;
  });
  std::vector<ProfileResult> out;
  for (const ProfileRun& first : runs) {
    if (std::any_of(out.begin(), out.end(),
                    [&](const ProfileResult& r) { return r.gpu == first.gpu && r.profile == first.profile; }))
      continue;
    std::vector<double> seconds, joules, rates, watts, launches;
    ProfileResult result{first.gpu, first.profile};
    for (const ProfileRun& run : runs) {
      if (run.gpu != first.gpu || run.profile != first.profile) continue;
      seconds.push_back(run.seconds);
      joules.push_back(run.joules);
      watts.push_back(run.joules / run.seconds);
      rates.push_back(progress ? run.per_s : 1 / run.seconds);
      if (progress && run.launch_s >= 0) launches.push_back(run.launch_s);
      result.peak_mib = std::max(result.peak_mib, run.peak_mib);
    }
    result.runs = seconds.size();
    result.unit = progress ? first.unit : "runs/s";
    result.throughput = median_of(rates);
    result.spread = (*std::max_element(rates.begin(), rates.end()) - *std::min_element(rates.begin(), rates.end())) /
                    result.throughput;
    result.seconds = median_of(std::move(seconds));
    result.joules = median_of(std::move(joules));
    result.active_w = median_of(std::move(watts));
    if (!launches.empty()) result.launch_s = median_of(std::move(launches));
    out.push_back(std::move(result));
  }
  return out;
}

std::string profile_speed_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& source) {
  std::vector<double> launches;
  for (const ProfileResult& r : results)
    if (r.launch_s >= 0) launches.push_back(r.launch_s);
  const std::string launch = launches.empty() ? "" : fmt::format("{:.3f}", median_of(std::move(launches)));
  std::string out = "kind,gpu,profile,throughput,unit,mem_mib,launch_s,source\n";
  for (const ProfileResult& r : results)
    out += fmt::format("{},{},{},{:.6g},{},{},{},{}\n", csv_field(kind), r.gpu, r.profile, r.throughput,
                       csv_field(r.unit), r.peak_mib < 0 ? "" : std::to_string(r.peak_mib), launch, csv_field(source));
  return out;
}

std::string profile_power_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& power, const std::string& source, std::string& why) {
  std::string out;
  for (const ProfileResult& r : results) {
    const auto gpu = Catalog::builtin().find(r.gpu);
    const auto model = gpu ? PowerModel::named(power, **gpu) : Result<PowerModel>(gpu.error());
    if (!model) {
      why = model.error().what;
      return {};
    }
    if (model->is_table() || model->name().starts_with("linear:")) {
      why = fmt::format(
          "power model {} of {} does not tell kinds apart, so no watts are written: name one that does with --power, "
          "for example a100-jobs",
          model->name(), r.gpu);
      return {};
    }
    if (r.active_w <= 0) {
      why = fmt::format(
          "{} was charged no joules on {}, because its runs are shorter than the daemon's energy "
          "samples",
          kind, r.profile);
      return {};
    }
    out += fmt::format("{},{},{},{:.2f},{}\n", model->name(), csv_field(kind), r.profile, model->idle() + r.active_w,
                       csv_field(source));
  }
  return out.empty() ? out : "model,kind,profile,watts,source\n" + out;
}

Result<std::string> merged_rows(const std::string& name, std::string_view old, std::string_view fresh,
                                const std::vector<std::string>& keys) {
  if (old.empty()) return std::string(fresh);
  SMARTMIG_TRY(CsvReader before, CsvReader::open(LineReader::over(name, old)));
  SMARTMIG_TRY(CsvReader after, CsvReader::open(LineReader::over("the new rows", fresh)));
  if (before.header() != after.header())
    return invalid("{} has the columns {}, where {} are to be added: give another file", name,
                   fmt::join(before.header(), ","), fmt::join(after.header(), ","));
  const auto key_of = [&](const CsvReader& csv) {
    std::vector<std::string> key;
    for (const std::string& column : keys) key.emplace_back(csv.text(csv.column(column)));
    return key;
  };
  std::string out, added;
  const auto put = [&](std::string& into, const CsvReader& csv) {
    for (std::size_t c = 0; c < csv.header().size(); ++c) into += (c ? "," : "") + csv_field(csv.text(int(c)));
    into += '\n';
  };
  std::set<std::vector<std::string>> replaced;
  for (;;) {
    SMARTMIG_TRY(const bool more, after.next());
    if (!more) break;
    replaced.insert(key_of(after));
    put(added, after);
  }
  for (const std::string& comment : before.comments()) out += comment + '\n';
  out += fmt::format("{}\n", fmt::join(before.header(), ","));
  for (;;) {
    SMARTMIG_TRY(const bool more, before.next());
    if (!more) return out + added;
    if (!replaced.count(key_of(before))) put(out, before);
  }
}

}  // namespace smartmig
