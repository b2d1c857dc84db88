#include "research/learn/c_api.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "base/math.h"
#include "research/learn/env.h"

struct smi_env {
  explicit smi_env(std::shared_ptr<const smartmig::EnvSetup> made) : setup(std::move(made)), env(setup) {
    for (const smartmig::Shape& shape : setup->shapes)
      names.push_back(to_string(*setup->platform->models()[0].gpu, shape));
  }
  std::shared_ptr<const smartmig::EnvSetup> setup;
  smartmig::Env env;
  std::vector<std::string> names;
  bool begun = false;
};

namespace {

using namespace smartmig;

std::string& last_error() {
  thread_local std::string text;
  return text;
}
int fail(std::string what) {
  last_error() = std::move(what);
  return -1;
}

// No exception may cross into C.
template <class F>
auto guarded(F f, decltype(f()) otherwise) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    fail(e.what());
    return otherwise;
  }
}

// 1 if the GPU can take the layout now; 0 if a running job is in the way (hardware costs only).
void fill_mask(const smi_env& env, uint8_t* mask) {
  if (!mask) return;
  const Cluster& cluster = env.env.cluster();
  const std::size_t layouts = env.setup->shapes.size();
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    for (std::size_t l = 0; l < layouts; ++l)
      mask[g * layouts + l] = takes_at_once(cluster, GpuId(g), env.setup->shapes[l]);
}

void fill_observation(const smi_env& env, float* observation) {
  if (observation) std::copy(env.env.raw().begin(), env.env.raw().end(), observation);
}

}  // namespace

extern "C" {

smi_env* smi_env_create(const char* config_text) {
  return guarded(
      [&]() -> smi_env* {
        const auto make = [&]() -> Result<smi_env*> {
          SMARTMIG_TRY(const TrainConfig config, parse_train_config("the config", config_text ? config_text : ""));
          SMARTMIG_RETURN_IF_ERROR(check_train_config(config));
          SMARTMIG_TRY(auto setup, EnvSetup::make(config));
          return new smi_env(std::move(setup));
        };
        auto made = make();
        if (made) return *made;
        fail(made.error().what);
        return nullptr;
      },
      nullptr);
}

void smi_env_destroy(smi_env* env) { delete env; }
const char* smi_last_error(void) { return last_error().c_str(); }

int smi_env_inputs(const smi_env* env) { return env->setup->inputs(); }
int smi_env_gpus(const smi_env* env) { return int(env->setup->platform->gpus()); }
int smi_env_layouts(const smi_env* env) { return int(env->setup->shapes.size()); }
const char* smi_env_layout_name(const smi_env* env, int layout) {
  if (layout >= 0 && layout < smi_env_layouts(env)) return env->names[std::size_t(layout)].c_str();
  fail(fmt::format("layout {} does not exist: there are 0 to {}", layout, smi_env_layouts(env) - 1));
  return nullptr;
}

int smi_env_reset(smi_env* env, uint64_t seed, float* observation, uint8_t* mask) {
  return guarded(
      [&] {
        const EnvSetup& setup = *env->setup;
        if (seed < setup.first_seed || seed - setup.first_seed >= setup.seeds)
          return fail(fmt::format("seed {} is not among the config's days: env.first_seed {} to env.last_seed {}", seed,
                                  setup.first_seed, setup.first_seed + setup.seeds - 1));
        env->begun = false;
        const auto begun = env->env.begin(seed - setup.first_seed);
        if (!begun) return fail(begun.error().what);
        env->begun = true;
        fill_observation(*env, observation);
        fill_mask(*env, mask);
        return 0;
      },
      -1);
}

int smi_env_step(smi_env* env, const uint8_t* next, float* observation, double* reward, int* terminated, int* truncated,
                 uint8_t* mask) {
  return guarded(
      [&] {
        if (!env->begun || env->env.over()) return fail("there is no day to step: call smi_env_reset first");
        const std::span<const uint8_t> wanted(next, std::size_t(smi_env_gpus(env)));
        for (std::size_t g = 0; g < wanted.size(); ++g)
          if (wanted[g] >= smi_env_layouts(env))
            return fail(
                fmt::format("GPU {} cannot take layout {}: there are 0 to {}", g, wanted[g], smi_env_layouts(env) - 1));
        const EnvStep step = env->env.act(wanted);
        fill_observation(*env, observation);
        if (reward) *reward = step.reward;
        if (terminated) *terminated = step.done;
        if (truncated) *truncated = step.truncated;
        fill_mask(*env, mask);
        return 0;
      },
      -1);
}

int smi_env_sample(smi_env* env, const float* matrix, int top_k, uint64_t seed, uint8_t* next) {
  return guarded(
      [&] {
        const std::size_t layouts = env->setup->shapes.size();
        if (!env->begun || env->env.over()) return fail("there is no state to draw for: call smi_env_reset first");
        if (top_k < 1 || std::size_t(top_k) > layouts) return fail(fmt::format("top_k {}: 1 to {}", top_k, layouts));
        std::vector<float> logits(layouts * layouts);
        for (std::size_t r = 0; r < layouts; ++r) {
          bool any = false;
          for (std::size_t j = 0; j < layouts; ++j) {
            const float p = matrix[r * layouts + j];
            if (!(p >= 0) || !std::isfinite(p))
              return fail(fmt::format("row {} of the matrix contains {}; shares must be 0 or more", r, p));
            any = any || p > 0;
            logits[r * layouts + j] = p > 0 ? float(deterministic_log(double(p))) : -1e30f;
          }
          if (!any) return fail(fmt::format("row {} of the matrix is all zero", r));
        }
        RowSampler sampler(layouts, top_k, Sampling::kSample);
        const Observer& observer = env->env.observer();
        sampler.draw(logits, observer.layout_of(), observer.counts(), observer.gpus(), seed, env->env.decision(),
                     {next, std::size_t(smi_env_gpus(env))});
        return 0;
      },
      -1);
}

int smi_env_layout_of(const smi_env* env, uint8_t* layout) {
  if (!env->begun) return fail("there is no day: call smi_env_reset first");
  std::copy(env->env.observer().layout_of().begin(), env->env.observer().layout_of().end(), layout);
  return 0;
}

double smi_env_time_s(const smi_env* env) { return env->begun ? seconds(env->env.cluster().now()) : -1; }

}  // extern "C"
