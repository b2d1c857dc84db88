#include "research/papers/learning_report.h"

#include <fmt/format.h>

#include <cmath>

#include "base/math.h"
#include "eval/statistics.h"
#include "research/papers/learning_queue.h"

namespace smartmig {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::size_t kOfASite = 25;

std::string off_by(double log_error) { return fmt::format("{:.1f} %", 100 * (deterministic_exp(log_error) - 1)); }

PaperSection errors_section(const LearningOptions& options) {
  const LearningErrors errors =
      learning_errors(std::uint64_t(options.first_seed), std::size_t(options.commands), kOfASite, options.noise);
  PaperSection section;
  section.name = "errors";
  section.title = fmt::format(
      "Error of the predicted time, mean over five sizes, by the number of runs of a command "
      "on random sizes ({} commands in sites of {}, noise {:.0f} %)",
      options.commands, kOfASite, 100 * options.noise);
  section.header = {"commands", "learner"};
  for (const int runs : kLearningRuns) section.header.push_back(fmt::format("{} run{}", runs, runs == 1 ? "" : "s"));
  for (int c = 0; c < kLearningCases; ++c)
    for (int l = 0; l < kLearners; ++l) {
      std::vector<std::string> row = {name_of(LearningCase(c)), name_of(Forecaster(l))};
      OrderedJson json = {{"commands", row[0]}, {"learner", row[1]}};
      for (std::size_t w = 0; w < kLearningRuns.size(); ++w) {
        const double error = errors.error[std::size_t(c)][std::size_t(l)][w];
        row.push_back(off_by(error));
        json[fmt::format("log_error_after_{}", kLearningRuns[w])] = error;
      }
      section.rows.push_back(std::move(row));
      section.json.push_back(std::move(json));
    }
  return section;
}

struct Sites {  // [knows][site][round]
  std::vector<std::vector<QueueRound>> rounds[kQueueKnows];
  std::vector<double> against_truth(int knows, std::size_t round, double QueueRound::*what) const {
    std::vector<double> out;
    for (std::size_t s = 0; s < rounds[knows].size(); ++s)
      out.push_back(rounds[knows][s][round].*what / rounds[int(QueueKnows::kTruth)][s][round].*what);
    return out;
  }
};

std::string ratio_words(const std::vector<double>& values) {
  const double half =
      values.size() < 2 ? 0 : student_t975(values.size() - 1) * deviation_of(values) / std::sqrt(double(values.size()));
  return fmt::format("{:.3f} ± {:.3f}", mean_of(values), half);
}

Result<PaperSection> queue_section(const LearningOptions& options, const PaperProgress& progress) {
  Sites sites;
  for (std::int64_t site = 0; site < options.sites; ++site) {
    const auto seed = std::uint64_t(options.first_seed + 1000 + site);
    const std::vector<SyntheticCommand> commands = synthetic_commands(seed, kOfASite, true);
    for (int knows = 0; knows < kQueueKnows; ++knows) {
      SMARTMIG_TRY(auto rounds, run_rounds(commands, QueueKnows(knows), int(options.rounds), options.noise, seed));
      sites.rounds[knows].push_back(std::move(rounds));
      progress("rounds", (double(site) + double(knows + 1) / kQueueKnows) / double(options.sites));
    }
  }
  PaperSection section;
  section.name = "queue";
  section.title = fmt::format(
      "The queue (policy best, one emulated A100) told nothing, round after round of the same {} commands, against one "
      "that knows the truth: {} sites, mean and 95 % interval",
      kOfASite, options.sites);
  section.header = {"round", "queue", "makespan", "mean turnaround", "energy"};
  for (std::size_t round = 0; round < std::size_t(options.rounds); ++round)
    for (int knows = 0; knows < int(QueueKnows::kTruth); ++knows) {
      const auto makespan = sites.against_truth(knows, round, &QueueRound::makespan_s),
                 turnaround = sites.against_truth(knows, round, &QueueRound::mean_turnaround_s),
                 joules = sites.against_truth(knows, round, &QueueRound::joules);
      section.rows.push_back({fmt::format("{}", round + 1), name_of(QueueKnows(knows)), ratio_words(makespan),
                              ratio_words(turnaround), ratio_words(joules)});
      section.json.push_back({{"round", round + 1},
                              {"queue", name_of(QueueKnows(knows))},
                              {"makespan_over_truth", mean_of(makespan)},
                              {"mean_turnaround_over_truth", mean_of(turnaround)},
                              {"joules_over_truth", mean_of(joules)}});
    }
  return section;
}

}  // namespace

Result<Ok> check_options(const LearningOptions& options) {
  if (options.commands < 2 || options.commands > 100'000 || options.sites < 1 || options.sites > 1000 ||
      options.rounds < 1 || options.rounds > 100)
    return invalid("--commands must be 2 to 100000, --sites 1 to 1000, and --rounds 1 to 100");
  return Ok{};
}

Result<PaperReport> learning_report(const LearningOptions& options, const PaperProgress& progress) {
  SMARTMIG_RETURN_IF_ERROR(check_options(options));
  PaperReport report;
  report.title = "What smartmig learns about commands without a description (docs/learning-jobs.md)";
  report.sections.push_back(errors_section(options));
  SMARTMIG_TRY(PaperSection queue, queue_section(options, progress));
  report.sections.push_back(std::move(queue));
  return report;
}

}  // namespace smartmig
