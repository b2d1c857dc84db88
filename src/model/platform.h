// The GPUs of a run: how many of each model, with their power models. Every (model, profile) of the platform is a slice
// type with one index, so a job's time on any slice is one table look-up, even in a mixed fleet. Immutable.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mig/catalog.h"
#include "mig/shape.h"
#include "model/job.h"
#include "model/power.h"

namespace smartmig {

struct SliceType {
  int model = 0;    // index into Platform::models()
  int profile = 0;  // index into GpuModel::profiles()
  int compute_slices = 0;
  int memory_mib = 0;  // 0: unknown, then anything fits
  double room = 0;     // compute slices of its GPU that it takes: its own, or more where it takes the memory of others
};

class Platform {
 public:
  struct Model {
    std::shared_ptr<const GpuModel> gpu;
    PowerModel power;
    std::shared_ptr<const ShapeTable> shapes;  // of the schedulable profiles
    std::vector<TypeId> type_of_placement;
    std::vector<std::uint8_t> slices_of_placement;  // compute slices
    int first_type = 0;
    std::uint32_t halves = 0;  // placements that take half of the compute slices that they count (mig/soft_model.h)

    // The compute slices of the GPU that a placement takes.
    double room_of(PlacementId where) const {
      return slices_of_placement[index(where)] * (halves >> index(where) & 1 ? 0.5 : 1.0);
    }
    // A running job's weight when the watts above idle are shared out: the watts it adds if the power model has them,
    // else its compute slices.
    double energy_weight(PlacementId where, double added_watts) const {
      return power.is_table() || added_watts <= 0 ? double(slices_of_placement[index(where)]) : added_watts;
    }
  };

  // `spec`: "8xa100-40gb", or a mixed fleet "4xa100-40gb,2xa30-24gb". `power` is a name of power.h; "auto" decides per
  // model.
  static Result<Platform> parse(std::string_view spec, std::string_view power = "auto",
                                const Catalog& catalog = Catalog::builtin());

  const std::string& spec() const { return spec_; }
  const std::string& power_spec() const { return power_spec_; }
  std::size_t gpus() const { return model_of_.size(); }
  std::span<const Model> models() const { return models_; }
  int model_index(GpuId gpu) const { return model_of_[index(gpu)]; }
  const Model& model(GpuId gpu) const { return models_[model_of_[index(gpu)]]; }
  std::span<const SliceType> types() const { return types_; }
  const SliceType& type(TypeId t) const { return types_[index(t)]; }
  const Profile& profile(TypeId t) const {
    return models_[std::size_t(types_[index(t)].model)].gpu->profiles()[std::size_t(types_[index(t)].profile)];
  }
  TypeId type_of(GpuId gpu, PlacementId p) const { return model(gpu).type_of_placement[index(p)]; }
  int total_compute_slices() const;
  bool power_by_slices_only() const;  // every power model is a table: watts do not depend on the jobs

 private:
  std::string spec_, power_spec_;
  std::vector<Model> models_;
  std::vector<std::uint8_t> model_of_;
  std::vector<SliceType> types_;
};

// A sentence, without its full stop, that names the rough watts of a fleet; "" if all were measured.
std::string rough_watts(const Platform& platform);

}  // namespace smartmig
