#include "eval/progress_meter.h"

#include <algorithm>

#include "base/text.h"
#include "eval/statistics.h"

namespace smartmig {
namespace {

constexpr std::size_t kLongest = 2048;
constexpr std::size_t kMostReadings = 100'000;
constexpr double kShortest_s = 0.2;  // between the first and the last count: a shorter span tells nothing

constexpr auto kSyntax = std::regex::ECMAScript | std::regex::icase | std::regex::optimize;
const char* kNumber = R"(([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?))";
const char* kThings =
    "(it|iters?|iterations?|steps?|samples?|images?|imgs?|tokens?|tok|seqs?|sequences?|examples?|batch|batches|ex)";

}  // namespace

Result<ProgressMeter> ProgressMeter::make(const std::string& pattern) {
  ProgressMeter meter;
  if (pattern.empty()) {
    const auto add = [&](const std::string& text, bool inverse, bool counts, const char* unit) {
      meter.forms_.push_back({std::regex(text, kSyntax), inverse, counts, unit});
    };
    add(std::string(kNumber) + "\\s*" + kThings + "\\s*/\\s*s(?:ec)?\\b", false, false, "");
    add(std::string(kNumber) + "\\s*s(?:ec)?\\s*/\\s*" + kThings + "\\b", true, false, "");
    add(R"(\b(?:step|iter|iteration|batch|epoch)\s*[:#=]?\s*\[?\s*([0-9]+)\s*(?:/|of)\s*([0-9]+))", false, true,
        "steps/s");
  } else {
    try {
      std::regex own(pattern, std::regex::ECMAScript | std::regex::optimize);
      const auto groups = own.mark_count();
      if (groups != 1 && groups != 2)
        return invalid("the pattern '{}' has {} groups: one (a rate), or two (steps done, steps in all)", pattern,
                       groups);
      meter.forms_.push_back({std::move(own), false, groups == 2, groups == 2 ? "steps/s" : "work/s"});
    } catch (const std::regex_error& e) {
      return invalid("the pattern '{}' is not a regular expression: {}", pattern, e.what());
    }
  }
  meter.readings_.resize(meter.forms_.size());
  return meter;
}

void ProgressMeter::feed(double at_s, std::string_view piece) {
  for (const char c : piece) {
    if (c == '\n' || c == '\r') {
      line(at_s);
    } else if (line_.size() < kLongest) {
      line_ += c;
    }
  }
}

void ProgressMeter::finish(double at_s) { line(at_s); }

void ProgressMeter::line(double at_s) {
  for (std::size_t f = 0; f < forms_.size(); ++f) {
    const Form& form = forms_[f];
    Readings& seen = readings_[f];
    std::smatch match;
    try {
      if (!std::regex_search(line_, match, form.pattern)) continue;
    } catch (const std::regex_error&) {  // the search is too complex: skip this line
      continue;
    }
    const auto value = parse_double(match[1].str());
    if (!value || *value < 0) continue;
    if (form.counts) {
      const auto total = parse_double(match[2].str());
      if (seen.counts == 0 || *value < seen.last_count) {  // the first count, or counting has restarted
        seen.first_s = at_s;
        seen.first_count = *value;
        seen.counts = 0;
      }
      seen.last_s = at_s;
      seen.last_count = *value;
      seen.total = total.value_or(0);
      seen.unit = form.unit;
      ++seen.counts;
    } else if (*value > 0) {
      if (seen.rates.size() < kMostReadings) seen.rates.push_back(form.inverse ? 1 / *value : *value);
      seen.unit = form.unit.empty() ? lower(match[2].str()) + "/s" : form.unit;
    }
    break;
  }
  line_.clear();
}

std::optional<ProgressMeter::Speed> ProgressMeter::speed() const {
  const Readings* best = nullptr;
  for (const Readings& seen : readings_)
    if (!seen.rates.empty() && (!best || seen.rates.size() > best->rates.size())) best = &seen;
  if (best) {
    std::vector<double> settled(best->rates.begin() + std::ptrdiff_t(best->rates.size() / 3), best->rates.end());
    return Speed{median_of(std::move(settled)), best->unit, best->rates.size(), std::nullopt};
  }
  for (const Readings& seen : readings_)
    if (seen.counts > 1 && seen.last_s - seen.first_s >= kShortest_s && seen.last_count > seen.first_count)
      return Speed{(seen.last_count - seen.first_count) / (seen.last_s - seen.first_s), seen.unit, seen.counts,
                   seen.total > 0 ? std::optional(seen.total) : std::nullopt};
  return std::nullopt;
}

}  // namespace smartmig
