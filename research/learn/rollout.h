// The trainer's flat buffers and the loop that fills them: many environments, each with `steps` controller calls, in
// groups that share one batch of the network. A group is an independent piece of work (its environments, random draws
// and sums depend on nothing else), so the buffers do not depend on the number of threads. Calls allocate nothing.
#pragma once
#include <atomic>
#include <optional>
#include <vector>

#include "research/learn/batch_net.h"
#include "research/learn/env.h"
#include "research/learn/loss.h"
#include "research/learn/running_stats.h"
#include "research/learn/worker_pool.h"

namespace smartmig {

struct Rollout {
  Rollout(std::size_t envs, std::size_t steps, std::size_t inputs, std::size_t layouts, std::size_t k);
  std::size_t envs, steps, inputs, layouts, k;
  // [env][step][...]
  std::vector<float> x;  // normalised, as the network saw them
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> counts;
  std::vector<float> log_probability;
  std::vector<float> reward, bootstrap, value, advantage, target;
  std::vector<std::uint8_t> ends;
  std::vector<float> last_value;  // [env]

  std::size_t size() const { return envs * steps; }
  CallView call(std::size_t i) const {
    return {layouts,
            k,
            columns.data() + i * layouts * k,
            counts.data() + i * layouts * k,
            log_probability.data() + i * layouts * k,
            advantage[i],
            target[i],
            value[i]};
  }
};

struct RolloutSums {
  double simulation_s = 0, inference_s = 0;  // seconds of thread time
  std::uint64_t jobs = 0, days = 0;
  double day_return = 0;  // over the whole days that ended
  std::uint64_t whole_days = 0, day_calls = 0;
};

class Collector {
 public:
  Collector(std::shared_ptr<const EnvSetup> setup, const NetworkSize& size, int top_k, std::size_t envs,
            std::uint64_t seed, WorkerPool& pool);

  // Begins every environment's first day, at hours spread over a day, so that a batch sees all of them.
  Result<Ok> begin();
  // Steps all environments with the network's own choices.
  Result<RolloutSums> collect(const Network& network, double gamma, Rollout& out, RunningStats& seen);

  std::vector<Env>& envs() { return envs_; }
  std::vector<std::uint64_t>& calls() { return calls_; }  // in each environment's current day
  Result<Ok> replay(std::size_t env, std::uint64_t number, Time skip, std::span<const std::uint8_t> actions);

 private:
  static constexpr std::size_t kGroup = 8;
  struct Desk {  // one thread's buffers
    BatchNet net;
    std::vector<float> x;
    RowSampler sampler;
    std::vector<std::uint8_t> next;
    Network::Scratch scratch;
  };
  Result<Ok> collect_group(std::size_t first, std::size_t n, const Network& network, double gamma, Desk& desk,
                           Rollout& out, RunningStats& seen, RolloutSums& sums);
  std::shared_ptr<const EnvSetup> setup_;
  std::uint64_t seed_;
  WorkerPool& pool_;
  std::vector<Env> envs_;
  std::vector<std::uint64_t> calls_;
  std::vector<std::unique_ptr<Desk>> desks_;
};

}  // namespace smartmig
