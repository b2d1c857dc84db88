#include "research/learn/training.h"

#include "research/learn/dqn.h"
#include "research/learn/trainer.h"

namespace smartmig {

Result<std::unique_ptr<Training>> Training::make(const TrainConfig& config, int threads) {
  if (config.algorithm == "dqn") {
    SMARTMIG_TRY(auto dqn, DqnTrainer::make(config, threads));
    return std::unique_ptr<Training>(std::move(dqn));
  }
  SMARTMIG_TRY(auto ppo, Trainer::make(config, threads));
  return std::unique_ptr<Training>(std::move(ppo));
}

Result<std::unique_ptr<Training>> Training::resume(const std::string& name, std::string_view checkpoint, int threads,
                                                   const std::function<Result<Ok>(TrainConfig&)>& change) {
  SMARTMIG_TRY(auto ppo, Trainer::resume(name, checkpoint, threads, change));
  return std::unique_ptr<Training>(std::move(ppo));
}

NetworkSize network_size_of(const TrainConfig& config, const EnvSetup& setup) {
  NetworkSize size{
      input_count(setup.features, setup.shapes.size()), setup.foresight ? kForesight : 0, int(setup.shapes.size()), {}};
  for (const std::int64_t width : config.hidden) size.hidden.push_back(int(width));
  return size;
}

PolicyFile policy_file_of(const TrainConfig& config, const EnvSetup& setup, const Network& network,
                          std::uint64_t days_used, std::string note) {
  PolicyFile file;
  Controller controller;
  const GpuModel& gpu = *setup.platform->models()[0].gpu;
  controller.gpu = gpu.name();
  controller.paper_shapes = !paper_shapes(gpu).empty();
  for (const Shape& shape : setup.shapes) controller.shapes.push_back(to_string(gpu, shape));
  for (const Shape& shape : setup.initial) controller.initial.push_back(to_string(gpu, shape));
  controller.features = setup.features;
  controller.top_k = int(config.top_k);
  controller.sampling = parse_sampling(config.sampling).value();
  controller.network = network;
  file.controllers.push_back(std::move(controller));
  if (days_used > 0) {
    file.first_seed = setup.first_seed;
    file.last_seed = setup.first_seed + std::min(days_used, setup.seeds) - 1;
  }
  file.note = std::move(note);
  file.config = to_toml(config);
  file.cost = config.cost;
  file.placer = config.placer;
  return file;
}

}  // namespace smartmig
