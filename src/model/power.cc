#include "model/power.h"

#include "base/csv.h"
#include "base/embedded.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "model/site_tables.h"

namespace smartmig {
namespace {

constexpr double kIdleShare = 0.17;  // share of a board's power limit, where nothing was measured (data/power.csv)

struct Row {
  std::string model, form, source;
  int compute_slices = 0;
  double idle = 0, base = 0, per_slice = 0, cap = 0;
  std::vector<double> table;
  std::vector<std::string> default_for;
};
struct KindRow {
  std::string model, kind, profile;
  double watts = 0;
  int slices = 0;  // the profile's compute slices
};
struct PowerTables {
  std::vector<Row> rows;
  std::vector<KindRow> kinds;
};

Result<int> slices_of(const Row& row, std::string_view profile) {
  if (row.form == "measured") {
    SMARTMIG_TRY(const auto gpu, Catalog::builtin().find(row.default_for.front()));
    const int found = gpu->find_profile(profile);
    if (found < 0 || gpu->profiles()[std::size_t(found)].name != profile)
      return invalid("{} has no profile '{}'", gpu->name(), profile);
    return gpu->profiles()[std::size_t(found)].compute_slices;
  }
  const auto slices = parse_int(profile.substr(0, profile.find('g')));
  if (!slices || *slices < 1 || *slices > row.compute_slices)
    return invalid("'{}' is not a profile of a GPU of {} compute slices", profile, row.compute_slices);
  return int(*slices);
}

// Adds the rows of a file of the form of power_kinds.csv. A row replaces an earlier one of the same model, kind and
// profile.
Result<Ok> add_kinds(PowerTables& tables, LineReader lines) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int of, csv.require("model"));
  SMARTMIG_TRY(const int kind, csv.require("kind"));
  SMARTMIG_TRY(const int profile, csv.require("profile"));
  SMARTMIG_TRY(const int watts, csv.require("watts"));
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return Ok{};
    KindRow row{std::string(csv.text(of)), std::string(csv.text(kind)), std::string(csv.text(profile)), 0, 0};
    SMARTMIG_TRY(row.watts, csv.number(watts));
    if (row.watts <= 0 || row.watts > 1e5) return csv.error(watts, "must be above 0 W and at most 100,000 W");
    if (row.kind.empty()) return csv.error(kind, "must not be empty");
    const auto model =
        std::find_if(tables.rows.begin(), tables.rows.end(), [&](const Row& r) { return r.model == row.model; });
    if (model == tables.rows.end())
      return csv.error(of, fmt::format("'{}' is not a power model; data/power.csv lists them", row.model));
    if (model->form == "table")
      return csv.error(of,
                       fmt::format("'{}' is a table by busy slices: a kind has no watts of its own there", row.model));
    const auto slices = slices_of(*model, row.profile);
    if (!slices) return csv.error(profile, slices.error().what);
    row.slices = *slices;
    const auto same = std::find_if(tables.kinds.begin(), tables.kinds.end(), [&](const KindRow& k) {
      return k.model == row.model && k.kind == row.kind && k.profile == row.profile;
    });
    if (same == tables.kinds.end())
      tables.kinds.push_back(std::move(row));
    else
      *same = std::move(row);
  }
}

Result<PowerTables> read_power_tables(const std::vector<std::string>& site) {
  PowerTables tables;
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(LineReader::over("power.csv", embedded_file("power.csv"))));
  SMARTMIG_TRY(const int model, csv.require("model"));
  SMARTMIG_TRY(const int form, csv.require("form"));
  SMARTMIG_TRY(const int slices, csv.require("compute_slices"));
  SMARTMIG_TRY(const int cap, csv.require("cap_w"));
  SMARTMIG_TRY(const int source, csv.require("source"));
  const int idle = csv.column("idle_w"), base = csv.column("base_w"), per_slice = csv.column("per_slice_w");
  const int table = csv.column("table_w"), default_for = csv.column("default_for");
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    Row row;
    row.model = std::string(csv.text(model));
    row.form = std::string(csv.text(form));
    row.source = std::string(csv.text(source));
    if (row.source.empty()) return csv.error(source, "every power model names its source");
    SMARTMIG_TRY(const std::int64_t count, csv.integer(slices));
    row.compute_slices = int(count);
    SMARTMIG_TRY(row.cap, csv.number(cap));
    if (row.form == "table") {
      for (std::string_view watts : split(csv.text(table), ';')) {
        const auto value = parse_double(watts);
        if (!value) return csv.error(table, fmt::format("'{}' is not a number of watts", watts));
        row.table.push_back(*value);
      }
      if (row.table.size() != std::size_t(count) + 1)
        return csv.error(table, fmt::format("{} values, {} are needed", row.table.size(), count + 1));
    } else {
      if (row.form == "board") {
        row.idle = row.base = kIdleShare * row.cap;
        row.per_slice = (row.cap - row.idle) / row.compute_slices;
      } else {
        SMARTMIG_TRY(row.idle, csv.number(idle));
        SMARTMIG_TRY(row.base, csv.number(base));
      }
      if (row.form == "additive") {
        SMARTMIG_TRY(row.per_slice, csv.number(per_slice));
      } else if (row.form != "measured" && row.form != "board") {
        return csv.error(form, fmt::format("'{}' should be table, additive, measured or board", row.form));
      }
    }
    for (std::string_view gpu : split(csv.text(default_for), ';'))
      if (!gpu.empty()) row.default_for.emplace_back(gpu);
    tables.rows.push_back(std::move(row));
  }
  SMARTMIG_RETURN_IF_ERROR(add_kinds(tables, LineReader::over("power_kinds.csv", embedded_file("power_kinds.csv"))));
  for (const std::string& file : site) {
    SMARTMIG_TRY(LineReader lines, LineReader::open(file));
    SMARTMIG_RETURN_IF_ERROR(add_kinds(tables, std::move(lines)));
  }
  return tables;
}

const Result<PowerTables>& power_tables() {
  static const Result<PowerTables> read = read_power_tables(site_files(kPowerVariable));
  return read;
}

// Profiles are measured by size: compute slices, and whether the memory is doubled (more SMs on Hopper).
int size_key(int compute_slices, bool doubled) { return 2 * compute_slices + doubled; }

// The numbers of "linear:75:56:400": idle watts first, the cap last.
Result<std::vector<double>> watts_in(std::string_view name, std::size_t count, std::string_view form) {
  const auto parts = split(name, ':');
  std::vector<double> watts;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const auto value = parse_double(parts[i])) watts.push_back(*value);
  if (parts.size() != count + 1 || watts.size() != count) return invalid("power model '{}': write {}", name, form);
  if (*std::min_element(watts.begin(), watts.end()) < 0 || watts.back() < watts.front() || watts.back() > 1e6)
    return invalid("power model '{}': watts must be at least 0 and the cap at least the idle watts", name);
  return watts;
}

}  // namespace

Result<PowerModel> PowerModel::named(std::string_view name, const GpuModel& gpu) {
  PowerModel power;
  if (name.starts_with("linear:")) {
    SMARTMIG_TRY(const auto watts, watts_in(name, 3, "linear:IDLE_W:W_PER_SLICE:CAP_W, for example linear:75:56:400"));
    power.name_ = std::string(name);
    power.source_ = "given by the user";
    power.idle_ = power.base_ = watts[0];
    power.per_slice_ = watts[1];
    power.cap_ = watts[2];
    return power;
  }
  if (name.starts_with("fitted:")) {
    SMARTMIG_TRY(const auto watts, watts_in(name, 4, "fitted:IDLE_W:BASE_W:W_PER_SLICE:CAP_W"));
    power.name_ = std::string(name);
    power.source_ = "fitted to this machine's own energy counters";
    power.idle_ = watts[0];
    power.base_ = watts[1];
    power.per_slice_ = watts[2];
    power.cap_ = watts[3];
    return power;
  }
  if (!power_tables()) return power_tables().error();
  std::vector<std::string> names;
  const Row* row = nullptr;
  for (const Row& candidate : power_tables()->rows) {
    names.push_back(candidate.model);
    const auto& defaults = candidate.default_for;
    if (name == "auto" ? std::find(defaults.begin(), defaults.end(), gpu.tables()) != defaults.end()
                       : candidate.model == name)
      row = &candidate;
  }
  if (!row && name == "auto")
    return not_found(
        "data/power.csv has no row for {}: give watts with linear:IDLE_W:W_PER_SLICE:CAP_W, or the name "
        "of another board's model ({})",
        gpu.name(), fmt::join(names, ", "));
  if (!row)
    return not_found("power model must be auto, {1} or linear:IDLE_W:W_PER_SLICE:CAP_W, not '{0}'", name,
                     fmt::join(names, ", "));
  if (row->compute_slices != gpu.compute_slices())
    return invalid("power model {} is for GPUs of {} compute slices, {} has {}: use linear:IDLE_W:W_PER_SLICE:CAP_W",
                   row->model, row->compute_slices, gpu.name(), gpu.compute_slices());
  power.name_ = row->model;
  power.source_ = row->source;
  power.rough_ = row->form == "board";
  power.table_ = row->table;
  power.idle_ = row->idle;
  power.base_ = row->base;
  power.per_slice_ = row->per_slice;
  power.cap_ = row->cap;
  std::map<int, std::pair<double, int>> sums;  // sum and count over the measured kinds, by profile size
  std::map<std::string, int> largest;          // additive: the size whose row gives a kind's utilisation
  for (const KindRow& kind : power_tables()->kinds) {
    if (kind.model != row->model) continue;
    if (row->form != "measured") {
      if (kind.slices < row->compute_slices)
        power.increments_[{kind.kind, size_key(kind.slices, false)}] = std::max(0.0, kind.watts - row->base);
      int& size = largest[kind.kind];
      if (kind.slices < size) continue;
      size = kind.slices;
      power.utilisation_[kind.kind] = kind.slices == row->compute_slices
                                          ? (kind.watts - row->idle) / (row->cap - row->idle)
                                          : std::max(0.0, kind.watts - row->base) / (row->per_slice * kind.slices);
      continue;
    }
    SMARTMIG_CHECK(!row->default_for.empty(), "power.csv: {} names no GPU model", row->model);
    const auto measured_on = Catalog::builtin().find(row->default_for.front());
    SMARTMIG_CHECK(measured_on, "power.csv: {}", measured_on.error().what);
    const int profile = (*measured_on)->find_profile(kind.profile);
    SMARTMIG_CHECK(profile >= 0, "power_kinds.csv: {} has no profile {}", (*measured_on)->name(), kind.profile);
    const Profile& p = (*measured_on)->profiles()[std::size_t(profile)];
    const int key = size_key(p.compute_slices, p.variant == Variant::kDoubleMemory);
    const double added = kind.watts - row->base;
    power.increments_[{kind.kind, key}] = added;
    sums[key].first += added;
    ++sums[key].second;
  }
  for (const auto& [key, sum] : sums) power.increments_[{"", key}] = sum.first / sum.second;
  for (const Profile& p : gpu.profiles())
    if (row->form == "measured" && sums.count(size_key(p.compute_slices, p.variant == Variant::kDoubleMemory)) == 0)
      return invalid("power model {} has no measurement for the size of {} on {}: use linear:IDLE_W:W_PER_SLICE:CAP_W",
                     row->model, p.name, gpu.name());
  return power;
}

double PowerModel::added(std::string_view kind, const Profile& profile) const {
  if (!table_.empty()) return 0;
  const int key = size_key(profile.compute_slices, profile.variant == Variant::kDoubleMemory);
  if (!increments_.empty()) {
    auto found = increments_.find({std::string(kind), key});
    if (found == increments_.end()) found = increments_.find({std::string(), key});  // of measured models only
    if (found != increments_.end()) return found->second;
  }
  const auto share = utilisation_.find(kind);
  return per_slice_ * profile.compute_slices * (share == utilisation_.end() ? 1 : share->second);
}

Result<Ok> check_power_files(const std::vector<std::string>& files) {
  SMARTMIG_RETURN_IF_ERROR(read_power_tables(files));
  return Ok{};
}

}  // namespace smartmig
