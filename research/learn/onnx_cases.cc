#include "research/learn/onnx_cases.h"

#include <algorithm>

#include "base/rng.h"
#include "research/learn/env.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostCalls = 20'000;

TrainConfig config_of(const PolicyFile& file, const Controller& controller) {
  if (const auto own = parse_train_config("the policy's config", file.config); own && !file.config.empty())
    if (const auto platform = Platform::parse(own->gpus); platform && platform->models().size() == 1 &&
                                                          platform->models()[0].gpu->name() == controller.gpu &&
                                                          own->features == name_of(controller.features))
      return *own;
  TrainConfig config;
  config.gpus = "8x" + controller.gpu;
  config.features = name_of(controller.features);
  config.initial = fmt::format("{}", fmt::join(controller.initial, ","));
  return config;
}

// Observations of one day driven by the network, with foresight if the network has it.
Result<std::vector<std::vector<float>>> record(const TrainConfig& base, const Controller& controller,
                                               std::uint64_t seed) {
  TrainConfig config = base;
  config.foresight = controller.network.size().foresight > 0;
  SMARTMIG_TRY(auto setup, EnvSetup::make(config));
  const Network& network = controller.network;
  if (setup->shapes.size() != std::size_t(network.rows()) || setup->inputs() != int(network.mean().size()))
    return invalid("the controller of {} has {} inputs and {} layouts, a day on {} has {} and {}", controller.gpu,
                   network.mean().size(), network.rows(), config.gpus, setup->inputs(), setup->shapes.size());
  Env env(setup);
  SMARTMIG_RETURN_IF_ERROR(env.begin(seed % setup->seeds));
  RowSampler sampler(setup->shapes.size(), controller.top_k, controller.sampling);
  Network::Scratch scratch;
  std::vector<float> normalised(std::size_t(network.size().inputs)),
      logits(setup->shapes.size() * setup->shapes.size());
  std::vector<std::uint8_t> next(setup->platform->gpus());
  std::vector<std::vector<float>> out;
  while (!env.over() && out.size() < kMostCalls) {
    out.emplace_back(env.raw().begin(), env.raw().end());
    network.normalise(env.raw().first(normalised.size()), normalised);
    network.logits(normalised, scratch, logits);
    const Observer& observer = env.observer();
    sampler.draw(logits, observer.layout_of(), observer.counts(), observer.gpus(), seed, env.decision(), next);
    env.act(next);
  }
  return out;
}

}  // namespace

void infer(const Network& network, ParityCase& one) {
  const std::size_t layouts = std::size_t(network.rows()), inputs = std::size_t(network.size().inputs);
  std::vector<float> raw = one.observation;
  raw.insert(raw.end(), one.foresight.begin(), one.foresight.end());
  std::vector<float> normalised(raw.size()), logits(layouts * layouts), row(layouts), probability(layouts);
  Network::Scratch scratch;
  network.normalise(raw, normalised);
  network.logits(std::span(normalised).first(inputs), scratch, logits);
  one.value = network.value(normalised, scratch);
  one.matrix.assign(layouts * layouts, 0);
  std::vector<std::uint8_t> columns(layouts), allowed;
  for (std::size_t r = 0; r < layouts; ++r) {
    allowed.clear();
    for (std::size_t j = 0; j < layouts; ++j)
      if (one.mask[r * layouts + j]) allowed.push_back(std::uint8_t(j));
    for (std::size_t i = 0; i < allowed.size(); ++i) row[i] = logits[r * layouts + allowed[i]];
    top_k(std::span(row).first(allowed.size()), int(allowed.size()), columns.data(), probability.data());
    for (std::size_t i = 0; i < allowed.size(); ++i) one.matrix[r * layouts + allowed[i]] = probability[i];
  }
}

Result<std::vector<ParityCase>> parity_cases(const PolicyFile& file, const Controller& controller, int recorded,
                                             int random, std::uint64_t seed) {
  const Network& network = controller.network;
  const std::size_t inputs = std::size_t(network.size().inputs), all = network.mean().size(),
                    layouts = std::size_t(network.rows());
  std::vector<std::vector<float>> raws;
  std::size_t from_days = 0;
  if (recorded > 0) {
    SMARTMIG_TRY(const auto day, record(config_of(file, controller), controller, seed));
    for (int i = 0; i < recorded; ++i)
      raws.push_back(day[std::min(day.size() - 1, std::size_t(i) * day.size() / std::size_t(recorded))]);
    from_days = raws.size();
  }
  Rng rng(seed, 0x6F6E6E78);
  for (int i = 0; i < random; ++i) {
    std::vector<float> raw(all);
    for (std::size_t k = 0; k < all; ++k) {
      const double deviation = network.scale()[k] > 0 ? 1 / double(network.scale()[k]) : 1;
      raw[k] = float(double(network.mean()[k]) + 4 * deviation * rng.normal());  // sometimes beyond the clip
    }
    raws.push_back(std::move(raw));
  }
  std::vector<ParityCase> cases;
  for (std::size_t i = 0; i < raws.size(); ++i) {
    ParityCase one;
    one.recorded = i < from_days;
    one.observation.assign(raws[i].begin(), raws[i].begin() + std::ptrdiff_t(inputs));
    one.foresight.assign(raws[i].begin() + std::ptrdiff_t(inputs), raws[i].end());
    one.mask.assign(layouts * layouts, 1);
    if (i % 2 == 1)
      for (std::size_t m = 0; m < one.mask.size(); ++m) one.mask[m] = m / layouts == m % layouts || rng.uniform() < 0.6;
    infer(network, one);
    cases.push_back(std::move(one));
  }
  return cases;
}

std::string parity_json(const std::string& model, const Controller& controller, const std::vector<ParityCase>& cases) {
  const NetworkSize& size = controller.network.size();
  const auto list = [](const auto& values) {
    std::string out = "[";
    for (const auto v : values) out += fmt::format("{}{}", out.size() > 1 ? "," : "", v);
    return out + "]";
  };
  std::string out = fmt::format(
      "{{\n\"model\": \"{}\",\n\"inputs\": {},\n\"foresight\": {},\n\"layouts\": {},\n\"tolerance\": {},\n"
      "\"cases\": [\n",
      model, size.inputs, size.foresight, size.layouts, kParityTolerance);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ParityCase& one = cases[i];
    std::vector<int> mask(one.mask.begin(), one.mask.end());
    out += fmt::format("{{\"recorded\": {}, \"observation\": {},\n", one.recorded, list(one.observation));
    if (size.foresight > 0) out += fmt::format(" \"foresight\": {},\n", list(one.foresight));
    out += fmt::format(" \"mask\": {},\n \"matrix\": {},\n \"value\": {}}}{}\n", list(mask), list(one.matrix),
                       one.value, i + 1 < cases.size() ? "," : "");
  }
  return out + "]\n}\n";
}

}  // namespace smartmig
