#include "memory/size_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smartmig {
namespace {

constexpr std::size_t kFewRises = 3, kFewestForSquare = 5;
constexpr double kLeastRiseMib = 1, kFall = 0.08, kGarbage = 0.15, kGarbageOfCaching = 0.5;

struct Point {
  double x, y;
};

SizeMemory::Curve fitted(const std::vector<Point>& points, double power) {
  SizeMemory::Curve out;
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Point& p : points) {
    const double x = power == 1 ? p.x : p.x * p.x;
    ++n;
    sx += x;
    sy += p.y;
    sxx += x * x;
    sxy += x * p.y;
  }
  const double spread = sxx - sx * sx / n;
  out.power = power;
  out.b = spread > 1e-9 * sxx ? std::max(0.0, (sxy - sx * sy / n) / spread) : 0;
  out.a = (sy - out.b * sx) / n;
  double squares = 0;
  for (const Point& p : points) squares += (out.at(p.x) - p.y) * (out.at(p.x) - p.y);
  out.miss = std::sqrt(squares / std::max(1.0, n - 2));
  out.points = int(n);
  out.from = points.front().x;
  out.to = points.back().x;
  return out;
}

SizeMemory::Curve better_of(const std::vector<Point>& points, bool line_only) {
  const SizeMemory::Curve line = fitted(points, 1);
  if (points.size() < kFewestForSquare || line_only) return line;
  const SizeMemory::Curve square = fitted(points, 2);
  return square.miss < 0.6 * line.miss ? square : line;
}

bool jumped(double size, double since) { return size > 1.1 * since; }  // its size skipped values in between

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// How much the values differ: their mean distance from the median, divided by the median.
double unlike(const std::vector<double>& v) {
  const double middle = median(v);
  double sum = 0;
  for (const double x : v) sum += std::abs(x - middle);
  return middle > 0 ? sum / double(v.size()) / middle : std::numeric_limits<double>::infinity();
}

}  // namespace

double SizeMemory::Curve::size_at(double mib) const {
  if (at(0) > mib) return 0;
  if (b <= 0) return std::numeric_limits<double>::infinity();
  const double x = (mib - a) / b;
  return power == 1 ? x : std::sqrt(std::max(0.0, x));
}

void SizeMemory::add(double size, double shown_mib, bool exact, bool counts) {
  if (!std::isfinite(size) || size < 0 || !std::isfinite(shown_mib) || shown_mib < 0) return;
  if (first_size_ < 0) {
    first_size_ = size_ = size;
    first_ = shown_ = highest_ = shown_mib;
    exact_ = exact;
    counts_ = counts;
    return;
  }
  const double since = size_;
  size_ = std::max(size_, size);
  if (shown_mib > highest_ + kLeastRiseMib && size_ > first_size_) {
    // Merges rises at the same size: a sample fell into the middle of a step.
    if (!rises_.empty() && rises_.back().size == size_)
      rises_.back().after = shown_mib;
    else
      rises_.push_back({size_, since, highest_, shown_mib});
    if (rises_.size() > 2 * kMost) {  // merges pairs of rises, which halves their number
      for (std::size_t i = 0; i < kMost; ++i)
        rises_[i] = {rises_[2 * i].size, rises_[2 * i].since, rises_[2 * i].before, rises_[2 * i].after};
      rises_.resize(kMost);
    }
  }
  if (!exact && shown_mib < (1 - kFall) * shown_ && falls_.size() < kMost)
    falls_.push_back({size, size, shown_, shown_mib});
  else if (!falls_.empty() && falls_.back().size == size)
    falls_.back().after = std::min(falls_.back().after, shown_mib);
  highest_ = std::max(highest_, shown_mib);
  shown_ = shown_mib;
}

// Rises of equal height for equal growth are evidence against garbage; rises in proportion to the size are evidence for
// it.
double SizeMemory::garbage() const {
  if (exact_ || (family_ != AllocatorFamily::kUnknown && family_ != AllocatorFamily::kCaching)) return 0;
  const double prior = family_ == AllocatorFamily::kCaching ? kGarbageOfCaching : kGarbage;
  if (!falls_.empty() && falls_.front().before > 0.9 * highest_) return 1;
  if (counts_ && rises_.size() > 5) {
    std::vector<Point> points;
    for (const Rise& r : rises_) points.push_back({r.size, r.after});
    if (fitted(points, 2).miss < 0.6 * fitted(points, 1).miss) return 1;
  }
  if (rises_.size() < 2 || rises_.back().size < 1.3 * rises_.front().size) return prior;
  std::vector<double> by_size, by_growth;
  for (std::size_t i = 0; i < rises_.size(); ++i) {
    const double height = rises_[i].after - rises_[i].before;
    by_size.push_back(height / rises_[i].size);
    by_growth.push_back(height / (rises_[i].size - (i ? rises_[i - 1].size : first_size_)));
  }
  const double for_it = unlike(by_growth) + 0.03, against = unlike(by_size) + 0.03;
  const double ratio = for_it / against, odds = prior / (1 - prior) * ratio * ratio * ratio;
  return odds / (1 + odds);
}

// What is held is unknown until the cache has been returned once. That happens soon, since garbage grows faster.
SizeMemory::Curve SizeMemory::by_garbage() const {
  Curve out;
  out.a = first_;
  out.points = 1 + int(rises_.size());
  double slope = std::numeric_limits<double>::infinity();
  for (const Rise& f : falls_)
    if (f.size > first_size_) slope = std::min(slope, (f.after - first_) / (f.size - first_size_));
  if (falls_.empty()) {  // only the copies made at a larger size follow the size
    std::vector<double> slopes;
    for (const Rise& r : rises_)
      if (jumped(r.size, r.since)) slopes.push_back((r.after - r.before) / r.size);
    if (slopes.size() >= 1 && 2 * slopes.size() > rises_.size()) slope = median(slopes);
  } else if (falls_.size() < 3) {
    return out;
  }
  if (!std::isfinite(slope)) return out;
  out.b = std::max(0.0, slope);
  out.a = first_ - out.b * first_size_;
  out.points = 2 + int(falls_.size() + rises_.size());
  out.from = first_size_;
  out.to = size_;
  out.miss = 0.1 * out.b * size_;
  return out;
}

SizeMemory::Curve SizeMemory::by_rises() const {
  Curve out;
  out.a = highest_;
  std::vector<Point> points;
  for (const Rise& r : rises_) points.push_back({r.size, exact_ || jumped(r.size, r.since) ? r.after : r.before});
  if (exact_ || (rises_.size() < 3 && family_ != AllocatorFamily::kDoubling))
    points.insert(points.begin(), {first_size_, first_});
  if (points.size() < 2) return out;
  const std::size_t extra = points.size() - rises_.size();
  out = better_of(points, counts_);
  for (int round = 0; round < 12 && !exact_; ++round) {
    for (std::size_t i = 0; i < rises_.size(); ++i) {
      const Rise& r = rises_[i];
      const double grown = std::max(0.0, out.at(r.size) - out.at(r.since));
      points[i + extra].y = r.before + std::min(r.after - r.before, grown);
    }
    out = better_of(points, counts_);
  }
  out.overdue = out.at(size_) > highest_ + 2 * out.miss + 0.1 * (points.back().y - points.front().y) + 8;
  return out;
}

// Each region is twice the size of all before. At the first size, somewhere in the region's upper half was in use. At
// the last rise it was the level before it, or more if the size had jumped. The result is the lines between those that
// no further rise contradicts.
std::vector<SizeMemory::Curve> SizeMemory::by_doublings() const {
  std::vector<Curve> out;
  if (rises_.empty()) return out;
  const Rise& last = rises_.back();
  const bool second = rises_.size() > 1;
  const double size = second ? rises_[rises_.size() - 2].size : first_size_;
  const double low = second ? rises_[rises_.size() - 2].before : first_ / 2;
  const bool sharp = second && !jumped(size, rises_[rises_.size() - 2].since);
  const double high = sharp ? low : second ? rises_[rises_.size() - 2].after : first_;
  for (const double from : {0.1, 0.3, 0.5, 0.7, 0.9})
    for (const double to : {0.1, 0.5, 0.9}) {
      const double then = low + from * (high - low);
      const double there = last.before + (jumped(last.size, last.since) ? to * (last.after - last.before) : 0);
      Curve line;
      line.b = std::max(0.0, (there - then) / std::max(1e-9, last.size - size));
      line.a = there - line.b * last.size;
      line.points = 2 + int(rises_.size());
      line.from = size;
      line.to = last.size;
      line.miss = 0.02 * there;
      if (line.at(size_) < highest_ + line.miss) out.push_back(line);
    }
  for (Curve& line : out) line.weight = 1.0 / double(out.size());
  return out;
}

double SizeMemory::surely_held() const {
  if (!exact_ && family_ == AllocatorFamily::kCaching && rises_.size() > kFewRises) return 0;
  if (garbage() >= 0.3 && rises_.size() > 1) return 0;
  if (family_ != AllocatorFamily::kDoubling || exact_) return highest_;
  return rises_.empty() ? highest_ / 2 : rises_.back().before;
}

std::vector<SizeMemory::Curve> SizeMemory::curves() const {
  if (family_ == AllocatorFamily::kDoubling && !exact_ && rises_.size() < 3) return by_doublings();
  std::vector<Curve> out;
  const double share = garbage();
  if (share < 0.98) out.push_back(by_rises());
  if (share > 0.02) out.push_back(by_garbage());
  out.front().weight = out.size() == 1 ? 1 : 1 - share;
  if (out.size() == 2) out.back().weight = share;
  return out;
}

}  // namespace smartmig
