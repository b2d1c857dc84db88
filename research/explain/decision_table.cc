#include "research/explain/decision_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "policy/net/meanfield.h"

namespace smartmig {
namespace {

using Rows = std::vector<std::size_t>;

struct Split {
  int feature = -1;
  double threshold = 0, gain = 0;
};

// Rounds to three significant digits, as printed.
double three_digits(double x) { return parse_double(fmt::format("{:.3g}", x)).value_or(x); }

class Fitter {
 public:
  Fitter(const std::vector<TableSample>& samples, const TableOptions& options)
      : samples_(samples),
        options_(options),
        width_(samples[0].share.size()),
        least_(std::max<std::size_t>(5, std::size_t(options.least_share * double(samples.size())))) {}

  DecisionTable fit() {
    Rows all(samples_.size());
    std::iota(all.begin(), all.end(), std::size_t(0));
    const auto mean = mean_of(all);
    for (const TableSample& s : samples_)
      for (std::size_t l = 0; l < width_; ++l) root_error_ += (s.share[l] - mean[l]) * (s.share[l] - mean[l]);
    grow(all, 0);
    return std::move(table_);
  }

 private:
  std::vector<double> mean_of(const Rows& rows) const {
    std::vector<double> mean(width_);
    for (const std::size_t r : rows)
      for (std::size_t l = 0; l < width_; ++l) mean[l] += double(samples_[r].share[l]);
    for (double& m : mean) m /= double(rows.size());
    return mean;
  }

  std::size_t grow(const Rows& rows, int depth) {
    const std::size_t at = table_.nodes.size();
    table_.nodes.push_back({-1, 0, 0, 0, mean_of(rows), rows.size()});
    const Split split = depth < options_.depth ? best(rows) : Split{};
    if (split.feature < 0 || split.gain < options_.least_gain * root_error_) return at;
    Rows below, above;
    for (const double threshold : {three_digits(split.threshold), split.threshold}) {
      below.clear();
      above.clear();
      for (const std::size_t r : rows)
        (samples_[r].state[std::size_t(split.feature)] < threshold ? below : above).push_back(r);
      table_.nodes[at].threshold = threshold;
      if (std::min(below.size(), above.size()) >= least_) break;
    }
    table_.nodes[at].feature = split.feature;
    const std::size_t first = grow(below, depth + 1);
    table_.nodes[at].below = first;
    const std::size_t second = grow(above, depth + 1);
    table_.nodes[at].above = second;
    return at;
  }

  Split best(const Rows& rows) const {
    Split out;
    if (rows.size() < 2 * least_) return out;
    Rows order = rows;
    std::vector<double> total(width_), left(width_);
    for (const std::size_t r : rows)
      for (std::size_t l = 0; l < width_; ++l) total[l] += double(samples_[r].share[l]);
    const auto score = [&](const std::vector<double>& sum, double n) {
      double squares = 0;
      for (const double s : sum) squares += s * s;
      return squares / n;
    };
    const double n = double(rows.size()), whole = score(total, n);
    for (int f = 0; f < kQueueFeatures; ++f) {
      const auto x = [&](std::size_t r) { return samples_[r].state[std::size_t(f)]; };
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return x(a) != x(b) ? x(a) < x(b) : a < b; });
      std::fill(left.begin(), left.end(), 0);
      for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        for (std::size_t l = 0; l < width_; ++l) left[l] += double(samples_[order[i]].share[l]);
        if (i + 1 < least_ || order.size() - i - 1 < least_ || x(order[i]) == x(order[i + 1])) continue;
        double right = 0;
        for (std::size_t l = 0; l < width_; ++l) right += (total[l] - left[l]) * (total[l] - left[l]);
        const double gain = score(left, double(i + 1)) + right / (n - double(i + 1)) - whole;
        if (gain <= out.gain * (1 + 1e-12)) continue;
        out = {f, 0.5 * (x(order[i]) + x(order[i + 1])), gain};
      }
    }
    return out;
  }

  const std::vector<TableSample>& samples_;
  TableOptions options_;
  std::size_t width_, least_;
  double root_error_ = 0;
  DecisionTable table_;
};

}  // namespace

const DecisionTable::Node& DecisionTable::leaf(const QueueState& state) const {
  const Node* node = &nodes[0];
  while (node->feature >= 0)
    node = &nodes[state[std::size_t(node->feature)] < node->threshold ? node->below : node->above];
  return *node;
}

int DecisionTable::depth() const {
  std::vector<int> depths(nodes.size());  // children come after their parents
  int most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].feature < 0) continue;
    depths[nodes[i].below] = depths[nodes[i].above] = depths[i] + 1;
    most = std::max(most, depths[i] + 1);
  }
  return most;
}

std::size_t DecisionTable::leaves() const {
  return std::size_t(std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.feature < 0; }));
}

DecisionTable fit_table(const std::vector<TableSample>& samples, const TableOptions& options) {
  SMARTMIG_CHECK(!samples.empty(), "a table cannot be fitted to nothing");
  return Fitter(samples, options).fit();
}

Fidelity fidelity_of(const DecisionTable& table, const std::vector<TableSample>& samples) {
  Fidelity out;
  if (samples.empty()) return out;
  const std::size_t width = samples[0].share.size();
  const double n = double(samples.size());
  std::vector<double> mean(width);
  for (const TableSample& s : samples)
    for (std::size_t l = 0; l < width; ++l) mean[l] += double(s.share[l]) / n;
  double error = 0, spread = 0;
  for (const TableSample& s : samples) {
    const auto& predicted = table.leaf(s.state).share;
    for (std::size_t l = 0; l < width; ++l) {
      const double is = double(s.share[l]), off = is - predicted[l];
      out.agreement += std::min(is, predicted[l]) / n;
      out.mean_error += std::abs(off) / (n * double(width));
      error += off * off;
      spread += (is - mean[l]) * (is - mean[l]);
    }
  }
  out.explained = spread > 0 ? 1 - error / spread : (error > 1e-9 ? 0 : 1);
  return out;
}

TableRepartitioner::TableRepartitioner(DecisionTable table, std::vector<ModelShape> layouts, std::vector<Shape> initial,
                                       const Platform& platform)
    : table_(std::move(table)),
      layouts_(std::move(layouts)),
      initial_(std::move(initial)),
      probe_(platform),
      gpus_of_model_(platform.models().size()),
      quota_(layouts_.size()) {
  for (std::size_t g = 0; g < platform.gpus(); ++g) ++gpus_of_model_[std::size_t(platform.model_index(GpuId(g)))];
}

void TableRepartitioner::retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) {
  if (!controller_due(cluster)) return;
  const auto& share = table_.leaf(probe_.look(cluster)).share;
  std::fill(quota_.begin(), quota_.end(), 0);
  for (std::size_t m = 0; m < gpus_of_model_.size(); ++m) {  // largest remainder, model by model
    double sum = 0;
    for (std::size_t l = 0; l < layouts_.size(); ++l)
      if (layouts_[l].model == int(m)) sum += share[l];
    if (!(sum > 0)) continue;
    std::vector<std::pair<double, std::size_t>> rest;
    int given = 0;
    for (std::size_t l = 0; l < layouts_.size(); ++l) {
      if (layouts_[l].model != int(m)) continue;
      const double due = share[l] / sum * double(gpus_of_model_[m]);
      quota_[l] = int(due);
      given += quota_[l];
      rest.emplace_back(due - quota_[l], l);
    }
    std::stable_sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; given < int(gpus_of_model_[m]); ++i, ++given) ++quota_[rest[i % rest.size()].second];
  }
  std::vector<GpuId> open;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const auto gpu = GpuId(g);
    const ModelShape is{cluster.platform().model_index(gpu),
                        shape_of(*cluster.platform().model(gpu).gpu, cluster.gpu(gpu).target)};
    const auto at = std::find(layouts_.begin(), layouts_.end(), is);
    if (at != layouts_.end() && quota_[std::size_t(at - layouts_.begin())] > 0)
      --quota_[std::size_t(at - layouts_.begin())];
    else
      open.push_back(gpu);
  }
  for (const GpuId gpu : open)
    for (std::size_t l = 0; l < layouts_.size(); ++l)
      if (layouts_[l].model == cluster.platform().model_index(gpu) && quota_[l] > 0) {
        --quota_[l];
        wanted.emplace_back(gpu, layouts_[l].shape);
        break;
      }
}

}  // namespace smartmig
