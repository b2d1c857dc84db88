#include "research/learn/imitation.h"

#include <algorithm>
#include <optional>

#include "base/rng.h"
#include "model/summary.h"

namespace smartmig {

void Lessons::append(const Lessons& other) {
  inputs = other.inputs;
  layouts = other.layouts;
  raw.insert(raw.end(), other.raw.begin(), other.raw.end());
  from.insert(from.end(), other.from.begin(), other.from.end());
  to.insert(to.end(), other.to.begin(), other.to.end());
  reward.insert(reward.end(), other.reward.begin(), other.reward.end());
  ends.insert(ends.end(), other.ends.begin(), other.ends.end());
  day_return += other.day_return;
  days += other.days;
}

void transition_weights(std::span<const std::uint16_t> from, std::span<const std::uint16_t> to, double spread,
                        std::span<float> out) {
  const std::size_t layouts = from.size();
  double gpus = 0, moving = 0;
  std::size_t unused = 0;
  for (std::size_t i = 0; i < layouts; ++i) {
    gpus += from[i];
    moving += std::max(0, int(from[i]) - int(to[i]));
    unused += from[i] == 0;
  }
  for (std::size_t i = 0; i < layouts; ++i)
    for (std::size_t j = 0; j < layouts; ++j) {
      double weight = 0;
      if (from[i] == 0)
        weight = spread / double(unused) * to[j];
      else if (i == j)
        weight = std::min(from[i], to[i]);
      else if (from[i] > to[i] && to[j] > from[j])
        weight = double(from[i] - to[i]) * (to[j] - from[j]) / moving;
      out[i * layouts + j] = float(weight / gpus);
    }
}

namespace {

Result<Lessons> record_day(const std::shared_ptr<const EnvSetup>& setup, const std::string& teacher_name,
                           const PolicyFile* student, std::uint64_t number, std::uint64_t seed) {
  Env env(setup);
  SMARTMIG_RETURN_IF_ERROR(env.begin(number));
  PolicyOptions options;
  options.rule.a = setup->a;
  options.rule.w = effective_a(setup->a, setup->platform->gpus(), 1) * double(env.jobs());
  options.rule.seed = seed;
  SMARTMIG_TRY(NamedPolicy teacher, make_policy(teacher_name, options, setup->cost, *setup->platform));
  const Observer& observer = env.observer();
  const std::size_t layouts = observer.layouts(), gpus = observer.gpus().size();
  const GpuModel& model = *setup->platform->models()[0].gpu;
  std::optional<RowSampler> sampler;
  if (student) sampler.emplace(layouts, student->controllers[0].top_k, Sampling::kSample);
  Network::Scratch scratch;
  std::vector<float> normalised(env.raw().size()), logits(layouts * layouts);
  std::vector<std::uint8_t> next(gpus), wanted(gpus);
  Lessons lessons;
  lessons.inputs = env.raw().size();
  lessons.layouts = layouts;
  lessons.days = 1;
  Plan plan;
  while (!env.over()) {
    lessons.raw.insert(lessons.raw.end(), env.raw().begin(), env.raw().end());
    plan.clear();
    const Cluster copy = env.cluster();  // another identity makes the teacher recompute everything
    teacher.policy->decide(copy, plan);
    std::copy(observer.layout_of().begin(), observer.layout_of().end(), wanted.begin());
    for (const Reshape& reshape : plan.reshapes)
      for (std::size_t g = 0; g < gpus; ++g)
        if (observer.gpus()[g] == reshape.gpu) wanted[g] = observer.index_of(shape_of(model, reshape.to));
    const std::size_t at = lessons.from.size();
    for (const int count : observer.counts()) lessons.from.push_back(std::uint16_t(count));
    lessons.to.resize(at + layouts);
    for (const std::uint8_t layout : wanted) ++lessons.to[at + layout];
    if (student) {
      const Network& network = student->controllers[0].network;
      network.normalise(env.raw(), normalised);
      network.logits(normalised, scratch, logits);
      sampler->draw(logits, observer.layout_of(), observer.counts(), observer.gpus(), mix64(seed, number),
                    env.decision(), next);
    } else {
      next = wanted;
    }
    const EnvStep step = env.act(next);
    lessons.reward.push_back(float(step.reward));
    lessons.ends.push_back(env.over());
  }
  lessons.day_return = env.day_return();
  return lessons;
}

}  // namespace

Result<Lessons> record_lessons(std::shared_ptr<const EnvSetup> setup, const std::string& teacher,
                               const PolicyFile* student, std::uint64_t first, std::size_t days, std::uint64_t seed,
                               WorkerPool& pool) {
  std::vector<std::optional<Result<Lessons>>> parts(days);
  pool.run(days, [&](std::size_t d, int) { parts[d] = record_day(setup, teacher, student, first + d, seed); });
  Lessons all;
  for (const auto& part : parts) {
    if (!*part) return part->error();
    all.append(**part);
  }
  return all;
}

}  // namespace smartmig
