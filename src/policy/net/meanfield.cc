#include "policy/net/meanfield.h"

#include <algorithm>

#include "base/embedded.h"
#include "base/rng.h"
#include "base/text.h"
#include "mig/shape_translation.h"

namespace smartmig {

RowSampler::RowSampler(std::size_t layouts, int k, Sampling sampling)
    : layouts_(layouts),
      k_(std::size_t(k)),
      sampling_(sampling),
      columns_(layouts * k_),
      probability_(layouts * k_),
      offset_(layouts),
      turn_(layouts) {}

void RowSampler::draw(std::span<const float> logits, std::span<const std::uint8_t> layout_of,
                      std::span<const int> counts, std::span<const GpuId> gpus, std::uint64_t seed,
                      std::uint64_t decision, std::span<std::uint8_t> next) {
  const std::uint64_t key = mix64(seed, decision);
  for (std::size_t row = 0; row < layouts_; ++row) {
    if (counts[row] == 0) continue;
    top_k(logits.subspan(row * layouts_, layouts_), int(k_), columns_.data() + row * k_,
          probability_.data() + row * k_);
    turn_[row] = 0;
    if (sampling_ == Sampling::kQuota) offset_[row] = Rng(key, row).uniform();
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::size_t row = layout_of[i];
    const float* p = probability_.data() + row * k_;
    std::size_t chosen = 0;
    if (sampling_ == Sampling::kGreedy) {
      for (std::size_t j = 1; j < k_; ++j)
        if (p[j] > p[chosen]) chosen = j;
    } else {
      double u = sampling_ == Sampling::kSample ? Rng(key, index(gpus[i])).uniform()
                                                : (turn_[row]++ + offset_[row]) / counts[row];
      while (chosen + 1 < k_ && u >= p[chosen]) u -= p[chosen++];
    }
    next[i] = columns_[row * k_ + chosen];
  }
}

namespace {

// The initial shapes of the file's first controller, for a model that the file has no controller for.
Result<std::vector<Shape>> kept_shapes(const PolicyFile& file, const Platform::Model& model) {
  if (file.controllers.empty()) return invalid("the mean-field policy has no controller at all");
  SMARTMIG_TRY(const auto from, Catalog::builtin().find(file.controllers[0].gpu));
  std::vector<Shape> shapes;
  for (const std::string& text : file.controllers[0].initial) {
    SMARTMIG_TRY(const Shape shape, parse_shape(*from, text));
    shapes.push_back(translate_shape(*from, shape, *model.gpu, *model.shapes));
  }
  if (shapes.empty()) return invalid("the controller of {} begins with no layout", file.controllers[0].gpu);
  return shapes;
}

}  // namespace

Result<std::unique_ptr<MeanFieldRepartitioner>> MeanFieldRepartitioner::make(const PolicyFile& file,
                                                                             const Platform& platform,
                                                                             std::uint64_t seed,
                                                                             std::optional<Sampling> sampling) {
  std::unique_ptr<MeanFieldRepartitioner> out(new MeanFieldRepartitioner(seed));
  out->initial_.resize(platform.gpus());
  for (std::size_t m = 0; m < platform.models().size(); ++m) {
    const GpuModel& gpu = *platform.models()[m].gpu;
    const Controller* controller = file.for_model(gpu);
    if (!controller) {
      SMARTMIG_TRY(const auto shapes, kept_shapes(file, platform.models()[m]));
      std::size_t turn = 0;
      for (std::size_t g = 0; g < platform.gpus(); ++g) {
        if (platform.model_index(GpuId(g)) != int(m)) continue;
        out->initial_[g] = shapes[turn++ % shapes.size()];
        out->kept_.push_back(GpuId(g));
      }
      continue;
    }
    std::vector<Shape> shapes;
    if (controller->paper_shapes && controller->gpu != gpu.name()) {
      shapes = paper_shapes(gpu);
    } else {
      for (const std::string& text : controller->shapes) {
        SMARTMIG_TRY(const Shape shape, parse_shape(gpu, text));
        shapes.push_back(shape);
      }
    }
    if (shapes.size() != controller->shapes.size())
      return invalid("the controller of {} has {} layouts and {} has {}", controller->gpu, controller->shapes.size(),
                     gpu.name(), shapes.size());
    std::vector<Shape> initial;
    for (const std::string& text : controller->initial)
      for (std::size_t i = 0; i < controller->shapes.size(); ++i)
        if (controller->shapes[i] == text) initial.push_back(shapes[i]);
    if (initial.size() != controller->initial.size())
      return invalid("the controller of {} begins with a layout that is not among its own", controller->gpu);
    Observer observer(controller->features, platform, int(m), shapes);
    std::size_t turn = 0;
    for (const GpuId g : observer.gpus()) out->initial_[index(g)] = initial[turn++ % initial.size()];
    const std::size_t layouts = shapes.size(), inputs = std::size_t(observer.inputs()), gpus = observer.gpus().size();
    out->controllers_.push_back({*controller, std::move(observer),
                                 RowSampler(layouts, controller->top_k, sampling.value_or(controller->sampling)),
                                 std::vector<float>(inputs), std::vector<float>(inputs),
                                 std::vector<float>(layouts * layouts), std::vector<std::uint8_t>(gpus)});
  }
  if (out->controllers_.empty()) {
    std::string known;
    for (const Controller& c : file.controllers) known += (known.empty() ? "" : ", ") + c.gpu;
    return invalid(
        "the mean-field policy has no controller for {}, only for {}; train one with smartmig "
        "train",
        platform.models()[0].gpu->name(), known);
  }
  return out;
}

void MeanFieldRepartitioner::count(const Cluster& cluster) {
  for (ModelController& one : controllers_) one.observer.observe(cluster, one.raw);
}

void MeanFieldRepartitioner::infer() {
  for (ModelController& one : controllers_) {
    one.controller.network.normalise(one.raw, one.normalised);
    one.controller.network.logits(one.normalised, scratch_, one.logits);
  }
}

bool controller_due(const Cluster& cluster) {
  const std::uint64_t every = events_per_call(cluster.gpus().size(), cluster.cost());
  if (cluster.cost().free()) return cluster.decision() % every == 0;
  const std::uint64_t events = cluster.counters().arrivals + cluster.counters().completions;
  const auto news = std::uint64_t(std::count_if(cluster.news().begin(), cluster.news().end(), [](const Event& event) {
    return event.kind == EventKind::kSubmitted || event.kind == EventKind::kFinished;
  }));
  if (events / every != (events - std::min(news, events)) / every) return true;
  return cluster.unfinished() > cluster.running() &&
         std::any_of(cluster.gpus().begin(), cluster.gpus().end(),
                     [](const GpuState& gpu) { return gpu.target == Layout{} && !gpu.blocked; });
}

bool takes_at_once(const Cluster& cluster, GpuId gpu, Shape shape) {
  if (cluster.cost().free()) return true;
  const GpuState& state = cluster.gpu(gpu);
  const auto layout = cluster.platform().model(gpu).shapes->realise(shape, state.layout, state.busy);
  return layout && state.busy - *layout == Layout{};
}

void MeanFieldRepartitioner::retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) {
  for (const GpuId gpu : kept_) {
    const Shape shape = initial_[index(gpu)];
    if (shape_of(*cluster.platform().model(gpu).gpu, cluster.gpu(gpu).target) != shape &&
        takes_at_once(cluster, gpu, shape))
      wanted.emplace_back(gpu, shape);
  }
  if (!controller_due(cluster)) return;
  count(cluster);
  infer();
  for (ModelController& one : controllers_) {
    one.sampler.draw(one.logits, one.observer.layout_of(), one.observer.counts(), one.observer.gpus(), seed_,
                     cluster.decision(), one.next);
    for (std::size_t i = 0; i < one.next.size(); ++i) {
      const GpuId gpu = one.observer.gpus()[i];
      const Shape shape = one.observer.shapes()[one.next[i]];
      // A GPU without slices counts as the nearest shape, but still needs the slices.
      if (one.next[i] == one.observer.layout_of()[i] && cluster.gpu(gpu).target != Layout{}) continue;
      if (takes_at_once(cluster, gpu, shape)) wanted.emplace_back(gpu, shape);
    }
  }
}

Result<NamedMeanField> make_meanfield(std::string_view text, const Platform& platform, std::uint64_t seed,
                                      std::string_view otherwise) {
  std::optional<Sampling> sampling;
  std::string path;
  for (std::string_view piece : split(text, ',')) {
    piece = trim(piece);
    if (const auto word = parse_sampling(piece))
      sampling = *word;
    else if (path.empty())
      path = std::string(piece);
    else
      return invalid("meanfield[{}]: two files are named, {} and {}", text, path, piece);
  }
  // A plain name refers to a built-in file: meanfield[single-low] is policies/single-low.policy.
  const std::string shipped = fmt::format("policies/{}.policy", path.empty() ? otherwise : path);
  const auto files = embedded_files();
  const auto at = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& f) { return f.name == shipped; });
  PolicyFile file;
  if (at != files.end()) {
    SMARTMIG_TRY(file, parse_policy_file(shipped, at->text()));
  } else if (!path.empty()) {
    SMARTMIG_TRY(file, load_policy_file(path));
  } else {
    return not_found("this program has no trained policy; name a file of smartmig train: meanfield[FILE]");
  }
  NamedMeanField named;
  SMARTMIG_TRY(named.repartitioner, MeanFieldRepartitioner::make(file, platform, seed, sampling));
  named.trained_for = file.cost;
  if (file.last_seed > 0)
    for (std::uint64_t s = file.first_seed; s <= file.last_seed; ++s) named.seeds.push_back(s);
  return named;
}

}  // namespace smartmig
