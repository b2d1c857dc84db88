// Reads ONNX bytes and runs them: the second opinion on what onnx_writer.h writes, sharing no code with it or with
// Network. Knows the operators of such a file (Sub, Mul, Clip, Gemm, Tanh, Concat, Reshape, Where, Softmax), checks
// every shape, and computes in double. What it does not know, or what is damaged, it refuses by name.
// Not thread-safe per run; a model is read only and may be shared.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct OnnxTensor {
  std::vector<std::int64_t> dimensions;
  std::vector<double> values;  // of whatever element type; booleans are 0 and 1
};

struct OnnxNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::int64_t> whole;  // attributes
  std::map<std::string, double> real;
};

struct OnnxValue {
  std::string name;
  std::int64_t element = 0;              // TensorProto.DataType
  std::vector<std::int64_t> dimensions;  // below 0: named, any size
};

struct OnnxModel {
  std::int64_t ir_version = 0, opset = 0;
  std::string producer;
  std::map<std::string, std::string> metadata;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> constants;
  std::vector<OnnxValue> inputs, outputs;
};

Result<OnnxModel> parse_onnx(const std::string& name, std::string_view bytes);

using OnnxTensors = std::map<std::string, OnnxTensor>;
// The outputs, by name. `most_work`: bound on the multiplications and numbers written, beyond which it gives up.
Result<OnnxTensors> run_onnx(const OnnxModel& model, const OnnxTensors& inputs, double most_work = 1e9);

}  // namespace smartmig
