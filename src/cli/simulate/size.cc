#include <fmt/format.h>

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

namespace {

struct SizeFlags {
  double target_min = 1, target_utilisation = 0, gpu_price = -1, kwh_price = 0, late_price = 0;
};

// Which target was asked for: one of them, and tardiness if none.
Result<Ok> set_target(const Command& command, const SizeFlags& flags, SizingQuestion& question) {
  const bool by_price =
      command.given("--gpu-price") && !command.given("--target-min") && !command.given("--target-util");
  if (command.given("--target-min") && command.given("--target-util"))
    return invalid("give --target-min or --target-util, not both");
  if (flags.target_min < 0) return invalid("--target-min must not be negative, but it is {}", flags.target_min);
  question.target.tardiness_min = flags.target_min;
  if (command.given("--target-util")) {
    if (flags.target_utilisation <= 0 || flags.target_utilisation > 100)
      return invalid("--target-util must be above 0 and at most 100, not {}", flags.target_utilisation);
    question.target.of = SizingTarget::Of::kUtilisation;
    question.target.utilisation = flags.target_utilisation / 100;
  }
  if (command.given("--gpu-price") || command.given("--kwh-price") || command.given("--late-price")) {
    if (flags.gpu_price < 0 || flags.kwh_price < 0 || flags.late_price < 0)
      return invalid("--kwh-price and --late-price need --gpu-price, and prices must not be negative");
    question.prices = SizePrices{flags.gpu_price, {flags.kwh_price, flags.late_price}};
  }
  if (by_price) {
    if (flags.late_price <= 0)
      return invalid("counting only the price, one GPU is always cheapest; give --late-price or a target");
    question.target.of = SizingTarget::Of::kPrice;
  }
  return Ok{};
}

OrderedJson size_json(const SizingQuestion& question, const SizingAnswer& answer) {
  OrderedJson rows = OrderedJson::array();
  for (const SizeRow& row : answer.rows) {
    rows.push_back({{"gpus", row.gpus},
                    {"energy_j", row.energy_wmin * 60},
                    {"energy_wmin", row.energy_wmin},
                    {"energy_kwh", row.energy_kwh},
                    {"mean_tardiness_min", row.tardiness_min},
                    {"late_percent", row.late_percent},
                    {"utilisation", row.utilisation},
                    {"a_eff", row.a_eff},
                    {"et_eff", row.et_eff}});
    if (question.prices) rows.back()["cost"] = row.cost;
  }
  const SizingTarget& target = question.target;
  OrderedJson wanted;
  if (target.of == SizingTarget::Of::kTardiness) wanted = {{"mean_tardiness_min", target.tardiness_min}};
  if (target.of == SizingTarget::Of::kUtilisation) wanted = {{"utilisation", target.utilisation}};
  if (target.of == SizingTarget::Of::kPrice) wanted = "least cost";
  return {{"workload", question.workload},
          {"model", question.model},
          {"policy", question.contender.label},
          {"target", wanted},
          {"rows", rows},
          {"peak_gpus", answer.peak_gpus},
          {"knee_gpus", answer.knee},
          {"needed_gpus", answer.needed ? OrderedJson(*answer.needed) : OrderedJson(nullptr)},
          {"rule", answer.rule}};
}

void print_size(const SizingQuestion& question, const SizingAnswer& answer) {
  fmt::print("{} on 1 to {} {} under {}\n", question.workload, answer.rows.back().gpus, question.model,
             question.contender.label);
  fmt::print("busiest 6 h: {:.1f} GPUs busy if every job had its own GPU at once\n\n", answer.peak_gpus);
  std::vector<std::string> header = {"GPUs", "energy kWh", "tardiness min", "late", "utilisation", "a_eff e + t"};
  if (question.prices) header.push_back("cost");
  header.push_back("");
  Table table(header);
  for (const SizeRow& row : answer.rows) {
    std::vector<std::string> cells = {fmt::format("{}", row.gpus),
                                      fmt::format("{:.2f}", row.energy_kwh),
                                      fmt::format("{:.3f}", row.tardiness_min),
                                      fmt::format("{:.1f} %", row.late_percent),
                                      fmt::format("{:.0f} %", 100 * row.utilisation),
                                      fmt::format("{:.3f}", row.et_eff)};
    if (question.prices) cells.push_back(fmt::format("{:.2f}", row.cost));
    cells.push_back(answer.needed == row.gpus ? "<- answer" : row.gpus == answer.knee ? "knee" : "");
    table.add(cells);
  }
  fmt::print("{}\n{}\n", table.text(), answer.rule);
}

}  // namespace

int run_size(const Arguments& arguments) {
  RunOptions options;
  options.workload = "paper:8x";
  std::string model = "a100-40gb", policy;
  std::int64_t days = 5, most = 24, threads = default_threads();
  SizeFlags flags;
  bool json = false;
  Command command(
      "size", "",
      "Simulates a workload on 1, 2, 3, ... GPUs and prints tardiness, utilisation, energy and price for each number. It then recommends a number for a target: the fewest GPUs with a given mean tardiness (default: 1 min), the most GPUs with a given utilisation, or the cheapest fleet.",
      "smartmig size -w paper:10x --gpu a100-40gb --target-min 1");
  command.option("--workload", options.workload, "SPEC|FILE", "jobs: a generator such as paper:10x or a file")
      .alias("-w");
  command.option("--gpu", model, "MODEL", "GPU model of the fleet").also("--model");
  command.heading("Policy");
  command.option(
      "--policy", policy, "POLICY",
      "policy, from the list below (default: static[3]+edf as in the paper's Fig. 4, or none+edf for models without its layouts)");
  options.declare_policy(command);
  command.option("--max-gpus", most, "N", "largest fleet to try");
  command.option("--target-min", flags.target_min, "T", "target: a mean tardiness of at most T minutes");
  command.option("--target-util", flags.target_utilisation, "P",
                 "target: the most GPUs whose slices are busy for at least P percent of the time");
  command.option("--gpu-price", flags.gpu_price, "X",
                 "price of a GPU-hour; without another target, the cheapest fleet becomes the target");
  command.option("--kwh-price", flags.kwh_price, "X", "price of a kilowatt-hour");
  command.option("--late-price", flags.late_price, "X", "price of one hour of lateness of one job");
  command.option("--days", days, "N",
                 "number of generated days: report seeds from 200000 on; a file counts as one day");
  command.option("--power", options.power, "NAME", "power model");
  command.option("--cost", options.cost, "MODEL", "paper or hardware");
  command.option("--a", options.a, "A",
                 "weight of a watt-minute relative to a minute of mean tardiness (default: 2e-7 x 8 / (GPUs x days))");
  options.LoadFlags::declare(command);
  command.option("--threads", threads, "N", "number of runs in parallel").alias("-j").also("--jobs");
  command.flag("--json", json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  if (most < 1 || most > 4096 || days < 1 || days > 1000 || threads < 1 || threads > 1024)
    return usage_error(invalid("--max-gpus must be 1 to 4096, --days 1 to 1000, and -j 1 to 1024"));
  options.gpus = "1x" + model;
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  if (policy.empty()) policy = paper_shapes(*setting->platform->models()[0].gpu).empty() ? "none+edf" : "static[3]+edf";

  SizingQuestion question;
  if (const auto target = set_target(command, flags, question); !target) return usage_error(target.error());
  TraceReading reading;
  question.workload = options.workload;
  question.load = setting->load;
  question.load.reading = &reading;
  question.model = model;
  question.power = options.power;
  question.cost = setting->cost;
  question.a = options.a;
  question.contender = contender_of(policy, options.policy_options());
  question.seeds = seeds_from(kFirstReportSeed, std::size_t(days));
  question.max_gpus = int(most);
  question.threads = int(threads);
  Progress bar("size");
  const auto answer = find_size(question, [&bar](double share) { bar.set(share); });
  if (!answer) return failure(answer.error());
  print_warnings(reading);
  if (json)
    fmt::print("{}\n", json_dump(size_json(question, *answer), 1));
  else
    print_size(question, *answer);
  return answer->needed ? 0 : 1;
}

}  // namespace smartmig::cli
