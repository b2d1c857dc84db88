#include "onnx/onnx_parity.h"

#include <algorithm>
#include <cmath>

namespace smartmig {
namespace {

OnnxTensor tensor_of(std::vector<std::int64_t> dimensions, const auto& values) {
  return {std::move(dimensions), std::vector<double>(values.begin(), values.end())};
}

}  // namespace

Result<Parity> parity_of(const OnnxModel& model, const Controller& controller, const std::vector<ParityCase>& cases) {
  const NetworkSize& size = controller.network.size();
  const std::int64_t n = std::int64_t(cases.size()), layouts = size.layouts;
  std::vector<float> observation, foresight;
  std::vector<std::uint8_t> mask;
  for (const ParityCase& one : cases) {
    observation.insert(observation.end(), one.observation.begin(), one.observation.end());
    foresight.insert(foresight.end(), one.foresight.begin(), one.foresight.end());
    mask.insert(mask.end(), one.mask.begin(), one.mask.end());
  }
  OnnxTensors inputs;
  inputs["observation"] = tensor_of({n, size.inputs}, observation);
  inputs["mask"] = tensor_of({n, layouts, layouts}, mask);
  if (size.foresight > 0) inputs["foresight"] = tensor_of({n, size.foresight}, foresight);
  SMARTMIG_TRY(const OnnxTensors outputs, run_onnx(model, inputs, 1e12));
  const auto matrix = outputs.find("matrix"), value = outputs.find("value");
  if (matrix == outputs.end() || value == outputs.end() ||
      matrix->second.dimensions != std::vector<std::int64_t>{n, layouts, layouts} ||
      value->second.dimensions != std::vector<std::int64_t>{n})
    return invalid("the model's outputs are not matrix [{0}, {1}, {1}] and value [{0}]", n, layouts);
  Parity out;
  out.cases = cases.size();
  const std::size_t cells = std::size_t(layouts * layouts), width = std::size_t(layouts);
  const auto widen = [](double& most, double difference) {
    if (!(difference <= most)) most = difference;  // NaN stays
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    out.recorded += cases[i].recorded;
    const double* theirs = matrix->second.values.data() + i * cells;
    for (std::size_t c = 0; c < cells; ++c) widen(out.matrix, std::abs(theirs[c] - double(cases[i].matrix[c])));
    for (std::size_t r = 0; r < width; ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < width; ++j) sum += theirs[r * width + j];
      widen(out.row_sum, std::abs(sum - 1));
    }
    const double ours = double(cases[i].value);
    widen(out.value, std::abs(value->second.values[i] - ours) / std::max(1.0, std::abs(ours)));
  }
  return out;
}

}  // namespace smartmig
