// ONNX bytes of others: never a crash, while reading and while running what was read.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "onnx/onnx_reader.h"

SMARTMIG_FUZZ_TARGET(onnx) {
  using namespace smartmig;
  const auto model = parse_onnx("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!model) return 0;
  OnnxTensors inputs;
  for (const OnnxValue& value : model->inputs) {
    OnnxTensor tensor;
    std::int64_t elements = 1;
    for (const std::int64_t d : value.dimensions) {
      tensor.dimensions.push_back(d < 0 ? 2 : d);
      elements *= tensor.dimensions.back();
      if (elements > 10'000) return 0;
    }
    for (std::int64_t i = 0; i < elements; ++i) tensor.values.push_back(double(i % 7) - 2);
    inputs[value.name] = std::move(tensor);
  }
  (void)run_onnx(*model, inputs, 1e6);
  return 0;
}
