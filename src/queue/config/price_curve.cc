#include "queue/config/price_curve.h"

#include <fmt/format.h>
#include <time.h>

#include "base/errors.h"
#include "base/text.h"

namespace smartmig {

Result<PriceCurve> PriceCurve::parse(const std::string& text) {
  PriceCurve out;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const auto colon = word.find(':');
    const auto hour = parse_int(word.substr(0, colon));
    const auto price = colon == word.npos ? std::nullopt : parse_double(word.substr(colon + 1));
    if (!hour || *hour < 0 || *hour > 23 || !price || *price < 0 || *price > 1e6)
      return invalid("'{}' is not an hour with a price; write \"0:0.18 7:0.31 22:0.18\"", word);
    if (out.empty() ? *hour != 0 : *hour <= out.steps.back().first)
      return invalid("the hours must start at 0 and increase: \"0:0.18 7:0.31 22:0.18\"");
    out.steps.emplace_back(int(*hour), *price);
  }
  return out;
}

std::string PriceCurve::text() const {
  std::string out;
  for (const auto& [hour, price] : steps) out += fmt::format("{}{}:{}", out.empty() ? "" : " ", hour, price);
  return out;
}

double PriceCurve::at_hour(int hour) const {
  double price = steps.front().second;
  for (const auto& [from, then] : steps)
    if (from <= hour) price = then;
  return price;
}

double PriceCurve::at(UnixTime when) const {
  const std::time_t whole = std::time_t(unix_us(when) / 1'000'000);
  std::tm local{};
  ::localtime_r(&whole, &local);
  return at_hour(local.tm_hour);
}

double PriceCurve::mean() const {
  double sum = 0;
  for (int hour = 0; hour < 24; ++hour) sum += at_hour(hour);
  return sum / 24;
}

}  // namespace smartmig
