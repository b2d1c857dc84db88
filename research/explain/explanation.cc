#include "research/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "cli/simulate/comparison.h"
#include "cli/table.h"
#include "eval/seeds.h"
#include "research/explain/explain_page.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kShown = 0.0005;  // layouts below this share of the GPU time get no column

std::string label_of(const Explanation& e, std::size_t layout) {
  return e.paper[layout] > 0 ? fmt::format("{}", e.paper[layout]) : fmt::format("#{}", layout + 1);
}

bool has_paper(const Explanation& e) {  // True for a fleet of one model with the papers' layouts.
  return e.layouts.size() >= 12 && e.paper[0] == 1 && e.paper[11] == 12 &&
         std::count_if(e.paper.begin(), e.paper.end(), [](int n) { return n > 0; }) == 12;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string sum_of(const std::vector<double>& share, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t l = from; l < to; ++l) sum += share[l];
  return percent(sum);
}

std::string condition(const DecisionTable::Node& node, bool below) {
  const QueueFeatureName& name = queue_feature_names()[std::size_t(node.feature)];
  return fmt::format("{} {} {:g}{}{}", name.text, below ? "<" : ">=", node.threshold, *name.unit ? " " : "", name.unit);
}

// Calls visit(depth, condition, node) for every node of a table that splits, except the root; parents first.
template <class F>
void each_rule(const DecisionTable& table, std::size_t at, int depth, const F& visit) {
  const DecisionTable::Node& node = table.nodes[at];
  if (node.feature < 0) return;
  for (const bool below : {true, false}) {
    const std::size_t child = below ? node.below : node.above;
    visit(depth, condition(node, below), table.nodes[child]);
    each_rule(table, child, depth + 1, visit);
  }
}

std::string largest(const Explanation& e, const std::vector<double>& share) {
  std::vector<std::size_t> order(share.size());
  for (std::size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return share[a] > share[b]; });
  std::string out;
  for (std::size_t i = 0; i < order.size() && i < 5 && share[order[i]] >= 0.02; ++i)
    out += fmt::format("{}{:.0f} % {}", out.empty() ? "" : ", ", 100 * share[order[i]], label_of(e, order[i]));
  return out;
}

std::string loss_note(const Explanation& e) {
  if (!e.joint) return fmt::format("ET of {} {:.4f} min", e.policy, e.et);
  std::string out = fmt::format("ET of {}, which places jobs itself, {:.4f} min", e.policy, e.et);
  if (e.split_et) out += fmt::format("; of its layouts with {} {:.4f} min", e.placer, *e.split_et);
  return out;
}

std::string table_note(const Explanation& e) {
  return fmt::format(
      "{} leaves, depth {}, from {} calls; on {} held-out calls {:.1f} % of the GPUs agree (one row: {:.1f} %), mean "
      "error of a layout's share {:.1f} points, {:.0f} % of the variance explained.",
      e.table.leaves(), e.table.depth(), e.fit_calls, e.calls, 100 * e.fidelity.agreement,
      100 * e.constant_fidelity.agreement, 100 * e.fidelity.mean_error, 100 * e.fidelity.explained);
}

}  // namespace

std::string explanation_text(const ExplainedRun& run, const Explanation& e) {
  std::string out = fmt::format("{} on {}, {}, {} costs, {} day{} (seeds {}); table from {} other day{} (seeds {})\n",
                                e.policy, run.workload, run.gpus, run.cost, run.seeds.size(),
                                run.seeds.size() == 1 ? "" : "s", seeds_in_words(run.seeds), run.fit_seeds.size(),
                                run.fit_seeds.size() == 1 ? "" : "s", seeds_in_words(run.fit_seeds));
  out += fmt::format(
      "{:.2f} changes of a layout per GPU and hour; sublinearity of the queue {:.2f} (5 to 95 % of calls: {:.2f} to "
      "{:.2f}; the paper: 0.67 to 0.84)\n\n",
      e.reshapes, e.sublinearity, e.sublinearity_low, e.sublinearity_high);

  const bool paper = has_paper(e);
  std::vector<std::string> header{"layout", "GPU time", "calls"};
  if (paper) header.push_back("Fig. 13");
  header.push_back("slices");
  Table layouts(header);
  std::vector<std::size_t> shown;
  for (std::size_t l = 0; l < e.layouts.size(); ++l) {
    if (e.time_share[l] >= kShown) shown.push_back(l);
    if (e.time_share[l] < kShown && !(paper && l < 12)) continue;
    std::vector<std::string> cells{label_of(e, l), percent(e.time_share[l]), percent(e.call_share[l])};
    if (paper) cells.push_back(l < 7 ? fmt::format("{:.1f} %", kPaperShares[l]) : "");
    cells.push_back(e.names[l]);
    layouts.add(std::move(cells));
  }
  if (paper)
    layouts.add({"8-12", sum_of(e.time_share, 7, 12), sum_of(e.call_share, 7, 12),
                 fmt::format("{:.1f} %", kPaperShares[7]), "together"});
  out += layouts.text() + "\n";

  for (const ShareTable& table : e.tables) {
    std::vector<std::string> columns{table.title + (table.key == "hour" ? " (h)" : ""), "GPU h/day"};
    for (const std::size_t l : shown) columns.push_back(label_of(e, l));
    columns.push_back("other");
    Table text(columns);
    for (const ShareBin& bin : table.bins) {
      std::vector<std::string> cells{bin.label, fmt::format("{:.1f}", bin.gpu_hours)};
      double rest = 1;
      for (const std::size_t l : shown) {
        cells.push_back(fmt::format("{:.0f} %", 100 * bin.share[l]));
        rest -= bin.share[l];
      }
      cells.push_back(fmt::format("{:.0f} %", 100 * std::max(0.0, rest)));
      text.add(std::move(cells));
    }
    out += text.text() + "\n";
  }

  out += "decision table: share of the GPUs for each layout\n";
  if (e.table.nodes[0].feature < 0)
    out += fmt::format("  always: {}\n", largest(e, e.table.nodes[0].share));
  else
    each_rule(e.table, 0, 0, [&](int depth, const std::string& text, const DecisionTable::Node& node) {
      out += fmt::format("  {:{}}{}", "", 2 * depth, text);
      if (node.feature < 0)
        out += fmt::format(": {}   ({:.1f} % of calls)", largest(e, node.share),
                           100 * double(node.samples) / double(e.fit_calls));
      out += "\n";
    });
  out += table_note(e) + "\n";
  out += fmt::format("{}; the table with {} {}, one row {}\n", loss_note(e), e.placer, signed_percent(e.table_loss),
                     signed_percent(e.constant_loss));
  return out;
}

std::string explanation_json(const ExplainedRun& run, const Explanation& e) {
  const auto number = [](double v) { return std::isfinite(v) ? OrderedJson(v) : OrderedJson(nullptr); };
  const auto difference = [&](const Difference& d) {
    return OrderedJson{{"mean_min", d.mean},
                       {"half_width_95_min", number(d.half_width)},
                       {"percent", d.percent},
                       {"percent_half_width_95", number(d.percent_half_width)}};
  };
  const auto fidelity = [](const Fidelity& f) {
    return OrderedJson{
        {"agreement", f.agreement}, {"mean_absolute_error", f.mean_error}, {"explained_variance", f.explained}};
  };
  OrderedJson json{{"policy", e.policy},
                   {"workload", run.workload},
                   {"gpus", run.gpus},
                   {"cost", run.cost},
                   {"a", run.a},
                   {"seeds", run.seeds},
                   {"fit_seeds", run.fit_seeds},
                   {"reshapes_per_gpu_hour", e.reshapes}};
  json["sublinearity"] = {{"mean", e.sublinearity}, {"p5", e.sublinearity_low}, {"p95", e.sublinearity_high}};
  const bool paper = has_paper(e);
  json["layouts"] = OrderedJson::array();
  for (std::size_t l = 0; l < e.layouts.size(); ++l) {
    json["layouts"].push_back({{"label", label_of(e, l)},
                               {"slices", e.names[l]},
                               {"gpu_time_share", e.time_share[l]},
                               {"call_share", e.call_share[l]}});
    if (paper && l < 7) json["layouts"].back()["paper_fig13_percent"] = kPaperShares[l];
  }
  if (paper) json["paper_fig13_percent_8_to_12"] = kPaperShares[7];
  for (const ShareTable& table : e.tables) {
    OrderedJson bins = OrderedJson::array();
    for (const ShareBin& bin : table.bins)
      bins.push_back({{"bin", bin.label}, {"gpu_hours_per_day", bin.gpu_hours}, {"share", bin.share}});
    json["by_" + table.key] = std::move(bins);
  }
  OrderedJson nodes = OrderedJson::array();
  for (const DecisionTable::Node& node : e.table.nodes) {
    OrderedJson item{{"samples", node.samples}, {"share", node.share}};
    if (node.feature >= 0) {
      item["feature"] = queue_feature_names()[std::size_t(node.feature)].key;
      item["threshold"] = node.threshold;
      item["below"] = node.below;
      item["above"] = node.above;
    }
    nodes.push_back(std::move(item));
  }
  json["table"] = {{"nodes", std::move(nodes)},
                   {"placer", e.placer},
                   {"fit_calls", e.fit_calls},
                   {"held_out_calls", e.calls},
                   {"fidelity", fidelity(e.fidelity)},
                   {"one_row_fidelity", fidelity(e.constant_fidelity)},
                   {"et_loss", difference(e.table_loss)},
                   {"one_row_et_loss", difference(e.constant_loss)}};
  json["et_min"] = e.et;
  if (e.split_et) json["et_of_layouts_with_placer_min"] = *e.split_et;
  return json_dump(json, 1);
}

std::string explanation_page(const ExplainedRun& run, const Explanation& e) {
  ExplainPage page;
  page.title = e.policy + ", explained";
  page.version = SMARTMIG_VERSION;
  page.facts = {
      {"workload", run.workload},
      {"GPUs", run.gpus},
      {"costs", run.cost},
      {"days", fmt::format("{} (seeds {})", run.seeds.size(), seeds_in_words(run.seeds))},
      {"table from", fmt::format("{} other days (seeds {})", run.fit_seeds.size(), seeds_in_words(run.fit_seeds))}};
  const auto interval = [](const Difference& d) {
    return std::isfinite(d.percent_half_width) ? fmt::format("± {:.1f} %, 95 %", d.percent_half_width) : "one day";
  };
  page.cards = {{"ET", fmt::format("{:.3f}", e.et), "min", "mean of the days"},
                {"changes", fmt::format("{:.2f}", e.reshapes), "per h", "of a GPU's layout"},
                {"sublinearity", fmt::format("{:.2f}", e.sublinearity), "", "the paper: 0.67 to 0.84"},
                {"table agrees", fmt::format("{:.1f}", 100 * e.fidelity.agreement), "%",
                 fmt::format("one row: {:.1f} %", 100 * e.constant_fidelity.agreement)},
                {"table's ET", fmt::format("{:+.1f}", e.table_loss.percent), "%", interval(e.table_loss)},
                {"one row's ET", fmt::format("{:+.1f}", e.constant_loss.percent), "%", interval(e.constant_loss)}};
  const bool paper = has_paper(e);
  const auto percents = [](const std::vector<double>& share) {
    std::vector<double> out;
    for (const double s : share) out.push_back(100 * s);
    return out;
  };
  for (std::size_t l = 0; l < e.layouts.size(); ++l) {
    page.layouts.push_back({label_of(e, l), e.names[l], 100 * e.time_share[l], 100 * e.call_share[l], {}});
    if (paper && l < 7) page.layouts.back().paper_percent = kPaperShares[l];
  }
  page.paper_note = paper ? fmt::format(
                                "Share of GPU time and of decisions. The paper's Fig. 13 prints layouts 8 to 12 "
                                "together, {:.1f} %; here they have {} of the GPU time.",
                                kPaperShares[7], sum_of(e.time_share, 7, 12))
                          : "Share of GPU time and of decisions.";
  for (const ShareTable& table : e.tables) {
    ExplainPage::Chart chart{"By " + table.title, table.title + (table.key == "hour" ? " (h)" : ""), {}};
    for (const ShareBin& bin : table.bins) chart.columns.push_back({bin.label, bin.gpu_hours, percents(bin.share)});
    page.charts.push_back(std::move(chart));
  }
  if (e.table.nodes[0].feature < 0) page.rules.push_back({0, "always", percents(e.table.nodes[0].share), 100});
  each_rule(e.table, 0, 0, [&](int depth, const std::string& text, const DecisionTable::Node& node) {
    page.rules.push_back({depth, text, node.feature < 0 ? percents(node.share) : std::vector<double>{},
                          100 * double(node.samples) / double(e.fit_calls)});
  });
  page.rules_note = table_note(e) + " " + loss_note(e) +
                    fmt::format("; following the table with {} {}, one row {}.", e.placer, signed_percent(e.table_loss),
                                signed_percent(e.constant_loss));
  return explain_page(page);
}

}  // namespace smartmig::cli
