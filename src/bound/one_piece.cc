#include "bound/one_piece.h"

#include <algorithm>

namespace smartmig {

OnePieceSubproblem::OnePieceSubproblem(const BoundProblem& problem, const Windows& windows, const double* prices)
    : problem_(problem), prices_(prices), classes_(problem.classes.size()), windows_(windows.count()) {
  for (const std::int64_t edge : windows.edges) edges_.push_back(double(edge) / 60e6);
  paid_.assign((windows_ + 1) * classes_, 0);
  least_after_.assign(prices, prices + (windows_ + 1) * classes_);
  for (std::size_t w = 0; w < windows_; ++w)
    for (std::size_t k = 0; k < classes_; ++k) paid_[(w + 1) * classes_ + k] = paid(w, k, edges_[w + 1]);
  for (std::size_t x = windows_ * classes_; x-- > 0;)
    least_after_[x] = std::min(least_after_[x], least_after_[x + classes_]);
}

double OnePieceSubproblem::least_price(const BoundProblem::Job& job, std::size_t first_window) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t o = job.first; o < job.first + job.options; ++o)
    least = std::min(least, problem_.options[o].charge +
                                least_after_[first_window * classes_ + std::size_t(problem_.options[o].slice_class)]);
  return least;
}

double OnePieceSubproblem::solve(const BoundProblem::Job& job, std::size_t first_window, const OwnRow& own) {
  constexpr double kEver = std::numeric_limits<double>::infinity();
  const double tau = problem_.weights.tardiness, deadline = tau > 0 ? job.deadline : kEver;
  best_ = {kEver, 0, 0, 0, 0};
  own_ = own;
  own_paid_.assign(1, 0);
  for (std::size_t i = 0; i < own.count; ++i)
    own_paid_.push_back(own_paid_.back() +
                        (edges_[own.first_window + i + 1] - edges_[own.first_window + i]) * own.values[i]);
  for (std::uint32_t o = job.first; o < job.first + job.options; ++o) {
    const BoundProblem::Option& option = problem_.options[o];
    const auto k = std::size_t(option.slice_class);
    double start = job.release;
    std::size_t from = first_window, to = from;  // windows of the start and the end
    if (from < windows_)
      to = std::size_t(std::upper_bound(edges_.begin() + std::ptrdiff_t(from), edges_.end(), start + option.work) -
                       edges_.begin()) -
           1;
    bool before_deadline = start + option.work < deadline;
    for (;;) {
      ++count_;
      const double end = start + option.work,
                   late = own.end_price * end + (end > deadline ? tau * (end - deadline) : 0);
      if (late + option.work * (least_after_[from * classes_ + k] + option.charge) >= best_.value) break;
      const double value = late + option.work * option.charge + paid(to, k, end) - paid(from, k, start) +
                           own_paid(to, end) - own_paid(from, start);
      if (value < best_.value) best_ = {value, start, end, from, k};
      if (from == windows_) break;
      const double leaves = edges_[from + 1], reaches = to < windows_ ? edges_[to + 1] - option.work : kEver,
                   due = before_deadline ? deadline - option.work : kEver;
      const double next = std::min({leaves, reaches, due});
      from += leaves <= next;
      to += reaches <= next;
      before_deadline = before_deadline && due > next;
      start = std::max(start, next);
    }
  }
  return best_.value;
}

void OnePieceSubproblem::add_demand(double* demand, double* own_demand) const {
  for (std::size_t w = best_.window; w < windows_ && edges_[w] < best_.end; ++w) {
    const double minutes = std::max(0.0, std::min(best_.end, edges_[w + 1]) - std::max(best_.start, edges_[w]));
    demand[w * classes_ + best_.slice_class] += minutes;
    if (own_demand && w - own_.first_window < own_.count) own_demand[w - own_.first_window] += minutes;
  }
}

}  // namespace smartmig
