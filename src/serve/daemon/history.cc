#include "serve/daemon/history.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/math.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::size_t kLongestSignature = 200;
constexpr double kMostSeconds = 1e10;
constexpr int kMostMib = 1 << 30;

bool is_number(std::string_view text) {
  for (std::string_view part : split(text, ',')) {
    if (!part.empty() && std::string_view("kKmMgGtT%").find(part.back()) != std::string_view::npos)
      part.remove_suffix(1);
    if (!parse_double(part)) return false;
  }
  return true;
}

std::string argument_word(std::string_view text) { return is_number(text) ? "#" : std::string(text); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <class T>
void keep_last(std::vector<T>& list, T value) {
  list.push_back(value);
  if (list.size() > History::kRuns) list.erase(list.begin());
}

}  // namespace

std::string signature_of(const std::vector<std::string>& command, std::string_view script) {
  std::string out;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (i > 0) out += ' ';
    if (i == 0) {
      out += word.substr(word.rfind('/') + 1);  // npos + 1 is 0
    } else if (word.size() > 1 && word[0] == '-' && !is_number(word)) {
      const auto equals = word.find('=');
      out += word.substr(0, equals);
      if (equals != word.npos) out += "=" + argument_word(word.substr(equals + 1));
    } else {
      out += argument_word(word);
    }
  }
  if (!script.empty()) out += fmt::format(" script:{:016x}", hash_text(script));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) >= 127) c = '?';
  if (out.size() > kLongestSignature) {
    const std::string tail = fmt::format("...{:016x}", hash_text(out));
    out.resize(kLongestSignature - tail.size());
    out += tail;
  }
  return out;
}

History::Entry& History::touch(const std::string& signature) {
  const auto found = by_signature_.find(signature);
  if (found != by_signature_.end()) {
    entries_.splice(entries_.end(), entries_, found->second);
    return entries_.back();
  }
  if (entries_.size() == kSignatures) {
    by_signature_.erase(entries_.front().signature);
    entries_.pop_front();
  }
  entries_.push_back({signature, {}, {}, 0, -1});
  by_signature_.emplace(signature, std::prev(entries_.end()));
  return entries_.back();
}

void History::add(const std::string& signature, const PastRun& run) {
  if (signature.empty()) return;
  Entry& entry = touch(signature);
  const double whole = run.ran_s * run.whole_over_slice;
  if (run.ran_s >= 0 && std::isfinite(whole) && whole >= 0) {
    keep_last(entry.whole_s, std::clamp(whole, 1e-6, kMostSeconds));
    entry.runs = std::min(entry.runs + 1, 1'000'000'000);
  }
  if (run.peak_mib >= 0) keep_last(entry.peak_mib, std::min(run.peak_mib, kMostMib));
  entry.out_of_memory_mib = std::max(entry.out_of_memory_mib, std::min(run.out_of_memory_mib, kMostMib));
}

Forecast History::forecast(const std::string& signature) {
  Forecast out;
  if (!by_signature_.contains(signature)) return out;
  const Entry& entry = touch(signature);
  out.runs = entry.runs;
  if (!entry.whole_s.empty()) {
    out.whole_s = median(entry.whole_s);
    std::vector<double> distances;
    const double centre = deterministic_log(*out.whole_s);
    for (const double x : entry.whole_s) distances.push_back(std::abs(deterministic_log(x) - centre));
    const double seen = 1.4826 * median(std::move(distances)), n = double(entry.whole_s.size());
    out.sigma = std::sqrt((n * seen * seen + 2 * 0.5 * 0.5) / (n + 2));
  }
  double memory = -1;
  if (!entry.peak_mib.empty())
    memory =
        *std::max_element(entry.peak_mib.begin(), entry.peak_mib.end()) * (1.05 + 0.45 / double(entry.peak_mib.size()));
  if (entry.out_of_memory_mib >= 0) memory = std::max(memory, 1.25 * entry.out_of_memory_mib);
  if (memory >= 0) out.mem_mib = int(std::ceil(std::min(memory, double(kMostMib))));
  return out;
}

void History::merge(const History& other) {
  for (const Entry& theirs : other.entries_) {
    Entry& ours = touch(theirs.signature);
    for (const double x : theirs.whole_s) keep_last(ours.whole_s, x);
    for (const int x : theirs.peak_mib) keep_last(ours.peak_mib, x);
    ours.runs = std::min(ours.runs + theirs.runs, 1'000'000'000);
    ours.out_of_memory_mib = std::max(ours.out_of_memory_mib, theirs.out_of_memory_mib);
  }
}

std::string History::to_json() const {
  Json list = Json::array();
  for (const Entry& e : entries_)
    list.push_back({{"signature", e.signature},
                    {"runs", e.runs},
                    {"whole_s", e.whole_s},
                    {"peak_mib", e.peak_mib},
                    {"out_of_memory_mib", e.out_of_memory_mib < 0 ? Json(nullptr) : Json(e.out_of_memory_mib)}});
  return json_dump(Json{{"smartmig_history", 1}, {"signatures", std::move(list)}});
}

Result<History> History::parse(const std::string& name, std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(name, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, name, "", {"smartmig_history", "signatures"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_history", 0, 1'000'000));
  if (version != 1) return invalid("{}: version {} of the history is not known, this program reads 1", name, version);
  SMARTMIG_TRY(const Json* list, root.list("signatures"));
  if (list->size() > kSignatures) return root.error("signatures", fmt::format("has more than {} rows", kSignatures));
  History out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string path = fmt::format("signatures[{}]", i);
    SMARTMIG_TRY(
        const JsonObject row,
        JsonObject::open((*list)[i], name, path, {"signature", "runs", "whole_s", "peak_mib", "out_of_memory_mib"}));
    SMARTMIG_TRY(const std::string signature, row.text("signature"));
    if (signature.size() > kLongestSignature) return row.error("signature", "is too long");
    if (out.by_signature_.contains(signature)) return row.error("signature", "is there twice");
    SMARTMIG_TRY(const std::int64_t runs, row.integer("runs", 0, 1'000'000'000));
    SMARTMIG_TRY(const std::int64_t short_of, row.integer("out_of_memory_mib", 0, kMostMib, -1));
    SMARTMIG_TRY(const Json* times, row.list("whole_s"));
    SMARTMIG_TRY(const Json* peaks, row.list("peak_mib"));
    if (times->size() > kRuns || peaks->size() > kRuns) return row.error("whole_s", "or peak_mib is too long");
    Entry& entry = out.touch(signature);
    entry.runs = int(runs);
    entry.out_of_memory_mib = int(short_of);
    for (const Json& x : *times) {
      if (!x.is_number() || !(x.get<double>() >= 1e-6 && x.get<double>() <= kMostSeconds))
        return row.error("whole_s", "holds what is no time in seconds");
      entry.whole_s.push_back(x.get<double>());
    }
    for (const Json& x : *peaks) {
      if (!x.is_number_integer() || !(x.get<double>() >= 0 && x.get<double>() <= kMostMib))
        return row.error("peak_mib", "holds what is no memory in MiB");
      entry.peak_mib.push_back(x.get<int>());
    }
  }
  return out;
}

}  // namespace smartmig
