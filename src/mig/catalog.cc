#include "mig/catalog.h"

#include <map>

#include "base/csv.h"
#include "base/embedded.h"
#include "base/text.h"
#include "mig/soft_model.h"

namespace smartmig {
namespace {

constexpr std::int64_t kMaxNumber = 1'000'000'000;

// Reads a whole number of at least `least`. An empty field reads as `if_empty` (no value: the field is required).
Result<int> count(const CsvReader& csv, int column, int least, std::optional<int> if_empty = {}) {
  if (if_empty && csv.empty(column)) return *if_empty;
  SMARTMIG_TRY(const std::int64_t value, csv.integer(column));
  if (value < least || value > kMaxNumber)
    return csv.error(column, fmt::format("{} is out of range; it must be at least {}", value, least));
  return int(value);
}

std::vector<std::string> list(std::string_view text) {
  std::vector<std::string> items;
  for (std::string_view item : split(text, ';'))
    if (!trim(item).empty()) items.emplace_back(trim(item));
  return items;
}

Result<Variant> variant(const CsvReader& csv, int column) {
  static const std::vector<std::pair<std::string_view, Variant>> kNames = {
      {"plain", Variant::kPlain},       {"double-memory", Variant::kDoubleMemory}, {"media", Variant::kMedia},
      {"graphics", Variant::kGraphics}, {"all-media", Variant::kAllMedia},         {"no-media", Variant::kNoMedia}};
  for (const auto& [name, value] : kNames)
    if (csv.text(column) == name) return value;
  return csv.error(column,
                   fmt::format("'{}' is not a variant: plain, double-memory, media, graphics, all-media or no-media",
                               csv.text(column)));
}

struct Row {
  GpuModelSpec spec;
  std::int64_t line = 0;
};

Result<std::vector<Row>> read_gpus(CsvReader& csv) {
  SMARTMIG_TRY(const int model, csv.require("model"));
  SMARTMIG_TRY(const int compute, csv.require("compute_slices"));
  SMARTMIG_TRY(const int memory, csv.require("memory_slices"));
  SMARTMIG_TRY(const int placements, csv.require("placements"));
  const int products = csv.column("products"), pci_ids = csv.column("pci_ids"),
            architecture = csv.column("architecture");
  const int sms = csv.column("sms"), memory_mib = csv.column("memory_mib"), source = csv.column("source");
  std::vector<Row> rows;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    GpuModelSpec spec;
    spec.name = lower(csv.text(model));
    if (spec.name.empty()) return csv.error(model, "a GPU model needs a name");
    for (const Row& other : rows)
      if (other.spec.name == spec.name)
        return csv.error(model, fmt::format("{} is given twice, first in line {}", spec.name, other.line));
    spec.products = list(csv.text(products));
    spec.pci_ids = list(csv.text(pci_ids));
    spec.architecture = std::string(csv.text(architecture));
    SMARTMIG_TRY(spec.compute_slices, count(csv, compute, 1));
    SMARTMIG_TRY(spec.memory_slices, count(csv, memory, 1));
    SMARTMIG_TRY(spec.sms, count(csv, sms, 0, 0));
    SMARTMIG_TRY(spec.memory_mib, count(csv, memory_mib, 0, 0));
    if (csv.text(placements) != "observed" && csv.text(placements) != "inferred")
      return csv.error(placements, fmt::format("'{}' should be observed or inferred", csv.text(placements)));
    spec.placements_inferred = csv.text(placements) == "inferred";
    spec.source = std::string(csv.text(source));
    rows.push_back({std::move(spec), csv.line()});
  }
  return rows;
}

Result<Ok> read_profiles(CsvReader& csv, std::vector<Row>& rows) {
  SMARTMIG_TRY(const int model, csv.require("model"));
  SMARTMIG_TRY(const int name, csv.require("profile"));
  SMARTMIG_TRY(const int kind, csv.require("variant"));
  SMARTMIG_TRY(const int compute, csv.require("compute_slices"));
  SMARTMIG_TRY(const int memory, csv.require("memory_slices"));
  SMARTMIG_TRY(const int max_instances, csv.require("max_instances"));
  SMARTMIG_TRY(const int starts, csv.require("starts"));
  const int nvml_id = csv.column("nvml_id"), nvml_enum = csv.column("nvml_enum");
  const int sms = csv.column("sms"), memory_mib = csv.column("memory_mib");
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t i = 0; i < rows.size(); ++i) known[rows[i].spec.name] = i;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) return Ok{};
    const auto at = known.find(lower(csv.text(model)));
    if (at == known.end())
      return csv.error(model, fmt::format("'{}' is not in the table of GPU models", csv.text(model)));
    Profile p;
    p.name = std::string(csv.text(name));
    SMARTMIG_TRY(p.variant, variant(csv, kind));
    SMARTMIG_TRY(p.nvml_id, count(csv, nvml_id, 0, -1));
    SMARTMIG_TRY(p.nvml_enum, count(csv, nvml_enum, 0, -1));
    SMARTMIG_TRY(p.compute_slices, count(csv, compute, 1));
    SMARTMIG_TRY(p.memory_slices, count(csv, memory, 1));
    SMARTMIG_TRY(p.sms, count(csv, sms, 0, 0));
    SMARTMIG_TRY(p.memory_mib, count(csv, memory_mib, 0, 0));
    SMARTMIG_TRY(p.max_instances, count(csv, max_instances, 1));
    for (const std::string& start : list(csv.text(starts))) {
      const auto value = parse_int(start);
      if (!value || *value < 0 || *value > 31)
        return csv.error(starts, fmt::format("'{}' is not a start from 0 to 31", start));
      p.starts.push_back(int(*value));
    }
    rows[at->second].spec.profiles.push_back(std::move(p));
  }
}

}  // namespace

Result<Catalog> Catalog::parse(LineReader gpus, LineReader profiles) {
  SMARTMIG_TRY(CsvReader gpu_table, CsvReader::open(std::move(gpus)));
  SMARTMIG_TRY(std::vector<Row> rows, read_gpus(gpu_table));
  SMARTMIG_TRY(CsvReader profile_table, CsvReader::open(std::move(profiles)));
  SMARTMIG_RETURN_IF_ERROR(read_profiles(profile_table, rows));
  Catalog catalog;
  for (Row& row : rows) {
    auto model = GpuModel::make(std::move(row.spec));
    if (!model)
      return invalid("{} line {} with its rows of {}: {}", gpu_table.name(), row.line, profile_table.name(),
                     model.error().what);
    if (auto soft = soft_model(*model)) catalog.soft_.push_back(std::make_shared<const GpuModel>(std::move(*soft)));
    catalog.models_.push_back(std::make_shared<const GpuModel>(std::move(*model)));
  }
  return catalog;
}

const Catalog& Catalog::builtin() {
  static const Catalog catalog = [] {
    auto parsed = parse(LineReader::over("gpus.csv", embedded_file("gpus.csv")),
                        LineReader::over("profiles.csv", embedded_file("profiles.csv")));
    SMARTMIG_CHECK(parsed, "{}", parsed.error().what);
    return std::move(*parsed);
  }();
  return catalog;
}

Result<std::shared_ptr<const GpuModel>> Catalog::find(std::string_view name) const {
  const std::string wanted = lower(trim(name));
  if (wanted.ends_with(kSoftSuffix)) {
    SMARTMIG_TRY(const auto hard, find(std::string_view(wanted).substr(0, wanted.size() - kSoftSuffix.size())));
    for (const auto& soft : soft_)
      if (soft->name() == hard->name() + std::string(kSoftSuffix)) return soft;
    return not_found("{} has no soft slices of half the memory: they would be too small, or too many", hard->name());
  }
  for (const auto& model : models_) {
    if (model->name() == wanted) return model;
    for (const std::string& product : model->spec().products)
      if (lower(product) == wanted || lower(product) == "nvidia " + wanted) return model;
    for (const std::string& id : model->spec().pci_ids)
      if (lower(id) == wanted) return model;
  }
  std::vector<std::string> names, near;
  for (const auto& model : models_) names.push_back(model->name());
  for (const std::string& candidate : names)
    if (!wanted.empty() && candidate.find(wanted) != candidate.npos) near.push_back(candidate);
  if (near.empty())
    if (std::string best = nearest(wanted, names); !best.empty()) near.push_back(std::move(best));
  return not_found("the catalogue has no GPU model '{}'; {}: {}", name, near.empty() ? "it knows" : "near names",
                   fmt::join(near.empty() ? names : near, ", "));
}

}  // namespace smartmig
