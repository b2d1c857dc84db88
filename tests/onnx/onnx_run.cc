// The interpreter half of onnx_reader.h: one function per operator, over doubles.
#include <cmath>
#include <memory>

#include "base/math.h"
#include "onnx/onnx_reader.h"

namespace smartmig {
namespace {

using Dimensions = std::vector<std::int64_t>;

std::int64_t elements_of(const Dimensions& dimensions) {
  std::int64_t n = 1;
  for (const std::int64_t d : dimensions) n *= d;
  return n;
}

std::string in_words(const Dimensions& dimensions) { return fmt::format("[{}]", fmt::join(dimensions, ", ")); }

double exp_of(double x) { return std::isnan(x) ? x : deterministic_exp(x); }

double tanh_of(double x) {
  if (x > 20) return 1;
  if (x < -20) return -1;
  return 1 - 2 / (exp_of(2 * x) + 1);
}

class Run {
 public:
  Run(const OnnxModel& model, double most_work) : model_(model), left_(most_work) {}

  Result<OnnxTensors> go(const OnnxTensors& inputs) {
    for (const OnnxValue& value : model_.inputs) {
      const auto given = inputs.find(value.name);
      if (given == inputs.end()) return invalid("the model's input {} is not given", value.name);
      const Dimensions& is = given->second.dimensions;
      bool fits = is.size() == value.dimensions.size() && elements_of(is) == std::int64_t(given->second.values.size());
      for (std::size_t i = 0; fits && i < is.size(); ++i)
        fits = value.dimensions[i] < 0 || value.dimensions[i] == is[i];
      if (!fits)
        return invalid("the model's input {} should be {} (-1: any), not {} with {} numbers", value.name,
                       in_words(value.dimensions), in_words(is), given->second.values.size());
      known_[value.name] = &given->second;
    }
    for (const auto& [name, tensor] : model_.constants) known_[name] = &tensor;
    for (const OnnxNode& node : model_.nodes) {
      if (node.outputs.size() != 1) return invalid("{} {} has {} outputs", node.op, node.name, node.outputs.size());
      SMARTMIG_TRY(OnnxTensor result, compute(node));
      made_.push_back(std::make_unique<OnnxTensor>(std::move(result)));
      known_[node.outputs[0]] = made_.back().get();
    }
    OnnxTensors out;
    for (const OnnxValue& value : model_.outputs) {
      const auto at = known_.find(value.name);
      if (at == known_.end()) return invalid("no node makes the model's output {}", value.name);
      out[value.name] = *at->second;
    }
    return out;
  }

 private:
  Result<Ok> spend(double work) {
    left_ -= work;
    if (left_ < 0) return invalid("the model needs more work than it is allowed");
    return Ok{};
  }
  Error wrong(const OnnxNode& node) const {
    std::string shapes;
    for (const std::string& input : node.inputs) {
      const auto at = known_.find(input);
      shapes += (shapes.empty() ? "" : ", ") + (at == known_.end() ? "?" : in_words(at->second->dimensions));
    }
    return invalid("{} {} does not take {}", node.op, node.name, shapes);
  }
  std::int64_t whole(const OnnxNode& node, const char* key, std::int64_t standard) const {
    const auto at = node.whole.find(key);
    return at == node.whole.end() ? standard : at->second;
  }

  Result<OnnxTensor> compute(const OnnxNode& node) {
    std::vector<const OnnxTensor*> in;
    double size = 1;
    for (const std::string& input : node.inputs) {
      const auto at = known_.find(input);
      if (at == known_.end()) return invalid("{} {} needs {}, which nothing makes", node.op, node.name, input);
      in.push_back(at->second);
      size += double(at->second->values.size());
    }
    SMARTMIG_RETURN_IF_ERROR(spend(size));
    for (const auto& [key, value] : node.real)
      if (value != 1) return invalid("{} {}: {} = {} is not known here", node.op, node.name, key, value);
    for (const auto& [key, value] : node.whole)
      if (key != "axis" && value != 0)
        return invalid("{} {}: {} = {} is not known here", node.op, node.name, key, value);
    if (node.op == "Sub" && in.size() == 2)
      return rowwise(node, *in[0], *in[1], [](double a, double b) { return a - b; });
    if (node.op == "Mul" && in.size() == 2)
      return rowwise(node, *in[0], *in[1], [](double a, double b) { return a * b; });
    if (node.op == "Clip" && in.size() == 3) return clip(node, *in[0], *in[1], *in[2]);
    if (node.op == "Gemm" && in.size() == 3) return gemm(node, *in[0], *in[1], *in[2]);
    if (node.op == "Tanh" && in.size() == 1) {
      OnnxTensor out = *in[0];
      for (double& v : out.values) v = tanh_of(v);
      return out;
    }
    if (node.op == "Concat" && in.size() == 2) return concat(node, *in[0], *in[1]);
    if (node.op == "Reshape" && in.size() == 2) return reshape(node, *in[0], *in[1]);
    if (node.op == "Where" && in.size() == 3) return where(node, *in[0], *in[1], *in[2]);
    if (node.op == "Softmax" && in.size() == 1) return softmax(node, *in[0]);
    return invalid("the operator {} with {} inputs is not known here", node.op, in.size());
  }

  // b has the last dimension of a.
  template <class F>
  Result<OnnxTensor> rowwise(const OnnxNode& node, const OnnxTensor& a, const OnnxTensor& b, F f) {
    if (a.dimensions.empty() || b.dimensions.size() != 1 || b.dimensions[0] != a.dimensions.back()) return wrong(node);
    OnnxTensor out = a;
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = f(out.values[i], b.values[i % b.values.size()]);
    return out;
  }

  Result<OnnxTensor> clip(const OnnxNode& node, const OnnxTensor& x, const OnnxTensor& low, const OnnxTensor& high) {
    if (low.values.size() != 1 || high.values.size() != 1) return wrong(node);
    OnnxTensor out = x;
    for (double& v : out.values) v = v < low.values[0] ? low.values[0] : v > high.values[0] ? high.values[0] : v;
    return out;
  }

  Result<OnnxTensor> gemm(const OnnxNode& node, const OnnxTensor& a, const OnnxTensor& b, const OnnxTensor& c) {
    if (a.dimensions.size() != 2 || b.dimensions.size() != 2 || c.dimensions.size() != 1 ||
        a.dimensions[1] != b.dimensions[0] || c.dimensions[0] != b.dimensions[1])
      return wrong(node);
    const auto rows = std::size_t(a.dimensions[0]), inner = std::size_t(a.dimensions[1]),
               columns = std::size_t(b.dimensions[1]);
    SMARTMIG_RETURN_IF_ERROR(spend(double(rows) * double(columns) * double(inner + 1)));
    OnnxTensor out{{a.dimensions[0], b.dimensions[1]}, std::vector<double>(rows * columns)};
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = c.values[j];
        for (std::size_t i = 0; i < inner; ++i) sum += a.values[r * inner + i] * b.values[i * columns + j];
        out.values[r * columns + j] = sum;
      }
    return out;
  }

  // Along the last axis of two matrices.
  Result<OnnxTensor> concat(const OnnxNode& node, const OnnxTensor& a, const OnnxTensor& b) {
    if (a.dimensions.size() != 2 || b.dimensions.size() != 2 || a.dimensions[0] != b.dimensions[0] ||
        whole(node, "axis", 0) != 1)
      return wrong(node);
    const auto left = std::size_t(a.dimensions[1]), right = std::size_t(b.dimensions[1]);
    OnnxTensor out{{a.dimensions[0], a.dimensions[1] + b.dimensions[1]}, {}};
    for (std::size_t r = 0; r < std::size_t(a.dimensions[0]); ++r) {
      out.values.insert(out.values.end(), a.values.data() + r * left, a.values.data() + (r + 1) * left);
      out.values.insert(out.values.end(), b.values.data() + r * right, b.values.data() + (r + 1) * right);
    }
    return out;
  }

  Result<OnnxTensor> reshape(const OnnxNode& node, const OnnxTensor& x, const OnnxTensor& to) {
    const std::int64_t elements = std::int64_t(x.values.size());
    if (to.dimensions.size() != 1 || to.values.size() > 8) return wrong(node);
    OnnxTensor out{{}, x.values};
    std::int64_t product = 1;
    std::ptrdiff_t open = -1;
    for (const double value : to.values) {
      if (value == -1 && open < 0) {
        open = std::ptrdiff_t(out.dimensions.size());
        out.dimensions.push_back(1);
        continue;
      }
      if (!(value >= 1 && value <= double(1 << 26)) || product > 1 << 26) return wrong(node);
      out.dimensions.push_back(std::int64_t(value));
      product *= std::int64_t(value);
    }
    if (open >= 0) out.dimensions[std::size_t(open)] = elements / product;
    if (elements_of(out.dimensions) != elements) return wrong(node);
    return out;
  }

  Result<OnnxTensor> where(const OnnxNode& node, const OnnxTensor& mask, const OnnxTensor& yes, const OnnxTensor& no) {
    if (mask.dimensions != yes.dimensions || no.values.size() != 1) return wrong(node);
    OnnxTensor out = yes;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      if (mask.values[i] == 0) out.values[i] = no.values[0];
    return out;
  }

  Result<OnnxTensor> softmax(const OnnxNode& node, const OnnxTensor& x) {
    const std::int64_t axis = whole(node, "axis", -1), rank = std::int64_t(x.dimensions.size());
    if (rank == 0 || (axis != -1 && axis != rank - 1) || x.dimensions.back() < 1) return wrong(node);
    const auto width = std::size_t(x.dimensions.back());
    OnnxTensor out = x;
    for (std::size_t first = 0; first + width <= out.values.size(); first += width) {
      double* row = out.values.data() + first;
      double largest = row[0], sum = 0;
      for (std::size_t j = 1; j < width; ++j) largest = std::max(largest, row[j]);
      for (std::size_t j = 0; j < width; ++j) {
        const double below = row[j] - largest;
        sum += row[j] = below < -700 ? 0 : exp_of(below);
      }
      for (std::size_t j = 0; j < width; ++j) row[j] /= sum;
    }
    return out;
  }

  const OnnxModel& model_;
  double left_;
  std::map<std::string, const OnnxTensor*> known_;
  std::vector<std::unique_ptr<OnnxTensor>> made_;
};

}  // namespace

Result<OnnxTensors> run_onnx(const OnnxModel& model, const OnnxTensors& inputs, double most_work) {
  return Run(model, most_work).go(inputs);
}

}  // namespace smartmig
