#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "cli/progress.h"
#include "cli/simulate/run_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/seeds.h"
#include "eval/sizing.h"

namespace smartmig::cli {

using OrderedJson = nlohmann::ordered_json;

int run_size(const Arguments& arguments) {
  RunOptions options;
  options.workload = "paper:8x";
  std::string model = "a100-40gb", policy, seeds_text;
  std::int64_t days = 5, most = 24, threads = default_threads();
  double target = -1;
  bool json = false;
  Command command("size", "",
                  "Runs a workload on 1, 2, 3, ... GPUs and says how many it needs: the knee of tardiness against the "
                  "number of GPUs, or the\nfirst number that keeps a given mean tardiness.",
                  "smartmig size -w paper:10x --model a100-40gb --target-min 1");
  command.option("--workload", options.workload, "SPEC|FILE", "jobs: a generator such as paper:10x or a file")
      .alias("-w");
  command.option("--model", model, "GPU", "the GPU model to count");
  command.option(
      "--policy", policy, "POLICY",
      "who decides, listed below; default: static[3]+edf as in the paper's Fig. 4, or none+edf on models without its layouts");
  options.declare_policy(command);
  command.option("--max-gpus", most, "N", "the largest fleet tried");
  command.option("--target-min", target, "T",
                 "mean tardiness that is good enough, minutes; negative: look for the knee");
  command.option("--days", days, "N", "days of a generator: report seeds from 200000 on");
  command.option("--power", options.power, "NAME", "power model");
  command.option("--cost", options.cost, "MODEL", "paper or hardware");
  command.option("--a", options.a, "A",
                 "weight of a watt-minute against a minute of mean tardiness; default: 2e-7 x 8 / (GPUs x days)");
  command.option("--tokens-per-s", options.tokens_per_s, "X", "for traces that record tokens instead of durations");
  command.option("--jobs", threads, "N", "runs at once").alias("-j");
  command.flag("--json", json, "print one JSON object");
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (most < 1 || most > 4096 || days < 1 || days > 1000 || threads < 1 || threads > 1024)
    return usage_error(invalid("--max-gpus 1 to 4096, --days 1 to 1000, -j 1 to 1024"));
  options.gpus = "1x" + model;
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  if (policy.empty()) policy = paper_shapes(*setting->platform->models()[0].gpu).empty() ? "none+edf" : "static[3]+edf";

  SizingQuestion question;
  question.workload = options.workload;
  question.load.tokens_per_s = options.tokens_per_s;
  question.model = model;
  question.power = options.power;
  question.cost = setting->cost;
  question.a = options.a;
  question.contender = contender_of(policy, options.policy_options());
  question.seeds = seeds_from(kFirstReportSeed, std::size_t(days));
  question.max_gpus = int(most);
  question.threads = int(threads);
  question.target_tardiness_min = target;
  Progress bar("size");
  const auto answer = find_size(question, [&bar](double share) { bar.set(share); });
  if (!answer) return failure(answer.error());

  if (json) {
    OrderedJson rows = OrderedJson::array();
    for (const SizeRow& row : answer->rows)
      rows.push_back({{"gpus", row.gpus},
                      {"energy_wmin", row.energy_wmin},
                      {"energy_kwh", row.energy_kwh},
                      {"mean_tardiness_min", row.tardiness_min},
                      {"late_percent", row.late_percent},
                      {"utilisation", row.utilisation},
                      {"a_eff", row.a_eff},
                      {"et_eff", row.et_eff}});
    OrderedJson out{{"workload", options.workload},
                    {"model", model},
                    {"policy", policy},
                    {"rows", rows},
                    {"knee_gpus", answer->knee},
                    {"needed_gpus", answer->needed ? OrderedJson(*answer->needed) : OrderedJson(nullptr)},
                    {"rule", answer->rule}};
    fmt::print("{}\n", json_dump(out, 1));
    return 0;
  }
  fmt::print("{} on 1 to {} {} under {}\n\n", options.workload, answer->rows.back().gpus, model, policy);
  Table table({"GPUs", "energy kWh", "tardiness min", "late", "utilisation", "a_eff e + t", ""});
  for (const SizeRow& row : answer->rows)
    table.add({fmt::format("{}", row.gpus), fmt::format("{:.2f}", row.energy_kwh),
               fmt::format("{:.3f}", row.tardiness_min), fmt::format("{:.1f} %", row.late_percent),
               fmt::format("{:.0f} %", 100 * row.utilisation), fmt::format("{:.3f}", row.et_eff),
               row.gpus == answer->knee ? "<- knee" : ""});
  fmt::print("{}\n{}\n", table.text(), answer->rule);
  return answer->needed ? 0 : 1;
}

}  // namespace smartmig::cli
