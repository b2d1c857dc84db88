#include "eval/experiment.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "eval/policy_stack.h"
#include "eval/seeds.h"
#include "sim/workload_windows.h"

namespace smartmig {

Contender contender_of(std::string_view text, const PolicyOptions& defaults) {
  Contender contender{std::string(text), std::string(text), defaults};
  const auto name = parse_policy_name(text);
  if (!name) return contender;  // make() reports what is wrong
  if (name->has_brackets && name->policy->parameter) {
    contender.options.*name->policy->parameter->text = name->in_brackets;
    contender.policy = name->full();
  } else if (!name->has_brackets) {
    contender.policy = name->full();
  }
  return contender;
}

double energy_weight(const Setting& setting, const Workload& workload) {
  return setting.a.value_or(effective_a(kPaperA, setting.platform->gpus(), workload.days));
}

double per_job_weight(const Setting& setting, const Workload& workload) {
  return energy_weight(setting, workload) * double(workload.jobs.size());
}

std::string days_in_words(const Setting& setting, const std::vector<std::uint64_t>& days) {
  const char* plural = days.size() == 1 ? "" : "s";
  if (!setting.windows) return fmt::format("{} day{} (seeds {})", days.size(), plural, seeds_in_words(days));
  const auto within = [&](const std::vector<std::uint64_t>& part) {
    return std::all_of(days.begin(), days.end(),
                       [&](std::uint64_t day) { return std::find(part.begin(), part.end(), day) != part.end(); });
  };
  const char* part = within(setting.windows->held_out())   ? ", held out for reports"
                     : within(setting.windows->training()) ? ", for search and tuning"
                                                           : "";
  return fmt::format("{} window{} of {} ({}{})", days.size(), plural, setting.windows->length_in_words(),
                     seeds_in_words(days), part);
}

Result<Day> make_day(const Setting& setting, std::uint64_t seed) {
  LoadOptions options = setting.load;
  options.seed = seed;
  SMARTMIG_TRY(Workload workload,
               setting.windows ? setting.windows->window(seed) : load_workload(setting.workload, options));
  SMARTMIG_TRY(JobTable jobs, JobTable::bind(std::make_shared<Workload>(std::move(workload)), *setting.platform));
  return Day{seed, std::make_shared<JobTable>(std::move(jobs))};
}

Result<DayRun> simulate_day(const Setting& setting, const Contender& contender, std::shared_ptr<const JobTable> jobs,
                            Journal* journal, const std::function<void(double)>& progress) {
  PolicyOptions options = contender.options;
  options.rule.a = energy_weight(setting, jobs->workload());
  options.rule.w = per_job_weight(setting, jobs->workload());
  SMARTMIG_TRY(PolicyStack named, PolicyStack::make({contender.policy, options, setting.cost}, setting.platform));
  if (named.guard() && !setting.estimates.exact())
    return invalid("guard() simulates {} with the true run times; leave out guard() or --estimates", contender.label);
  SMARTMIG_TRY(std::vector<Layout> initial, initial_layouts(*setting.platform, named.initial));
  SMARTMIG_TRY(SimResult result,
               simulate({setting.platform, std::move(jobs), setting.cost, initial, options.rule.a, setting.estimates},
                        *named.policy, journal, progress));
  return DayRun{std::move(named.layouts), std::move(initial), std::move(result)};
}

Result<Summary> run_day(const Setting& setting, const Contender& contender, const Day& day) {
  SMARTMIG_TRY(const DayRun run, simulate_day(setting, contender, day.jobs));
  if (run.result.refused > 0)
    return invalid("{} asked for {} illegal actions; the last: {}", contender.label, run.result.refused,
                   run.result.last_refusal);
  return run.result.summary;
}

void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads && std::size_t(t) < count; ++t) others.emplace_back(loop);
  loop();
}

Result<std::vector<std::vector<Summary>>> run_paired(const Setting& setting, const std::vector<Contender>& contenders,
                                                     const std::vector<std::uint64_t>& seeds, int threads,
                                                     const std::function<void(double)>& progress) {
  std::vector<std::vector<Summary>> summaries(contenders.size(), std::vector<Summary>(seeds.size()));
  std::vector<std::optional<Error>> errors(seeds.size());
  std::atomic<std::size_t> done{0};
  run_parallel(seeds.size(), threads, [&](std::size_t d) {
    const auto day = make_day(setting, seeds[d]);
    if (!day) {
      errors[d] = day.error();
      return;
    }
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      const auto summary = run_day(setting, contenders[c], *day);
      if (!summary) {
        errors[d] = summary.error();
        return;
      }
      summaries[c][d] = *summary;
      if (progress) progress(double(done.fetch_add(1) + 1) / double(seeds.size() * contenders.size()));
    }
  });
  for (const auto& error : errors)
    if (error) return *error;
  return summaries;
}

}  // namespace smartmig
