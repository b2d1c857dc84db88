#include "onnx/onnx_reader.h"

#include <bit>
#include <cmath>
#include <functional>

namespace smartmig {
namespace {

constexpr std::size_t kMostItems = 100'000, kMostDimensions = 8;
constexpr std::int64_t kMostElements = 1 << 26;

// The fields of one protobuf message.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}
  // False at the end or where it is damaged; see ok().
  bool next() {
    if (rest_.empty() || !ok_) return false;
    std::uint64_t key = 0, length = 0;
    if (!varint(key) || key >> 3 == 0 || key >> 32 != 0) return ok_ = false;
    field = int(key >> 3);
    wire = int(key & 7);
    switch (wire) {
      case 0:
        return ok_ = varint(number);
      case 1:
        return fixed(8);
      case 2:
        if (!varint(length) || length > rest_.size()) return ok_ = false;
        bytes = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
      case 5:
        return fixed(4);
      default:
        return ok_ = false;
    }
  }
  bool ok() const { return ok_; }
  bool is_text(int wanted) const { return field == wanted && wire == 2; }
  bool is_number(int wanted) const { return field == wanted && wire == 0; }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool empty() const { return rest_.empty(); }

  int field = 0, wire = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  bool fixed(std::size_t size) {
    if (rest_.size() < size) return ok_ = false;
    number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest_;
  bool ok_ = true;
};

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  Result<OnnxModel> model(std::string_view bytes) {
    OnnxModel out;
    bool graph_seen = false;
    Fields f(bytes);
    while (f.next()) {
      if (f.is_number(1)) out.ir_version = std::int64_t(f.number);
      if (f.is_text(2)) out.producer = f.bytes;
      if (f.is_text(7)) {
        graph_seen = true;
        SMARTMIG_RETURN_IF_ERROR(graph(f.bytes, out));
      }
      if (f.is_text(8)) SMARTMIG_RETURN_IF_ERROR(opset(f.bytes, out));
      if (f.is_text(14)) SMARTMIG_RETURN_IF_ERROR(property(f.bytes, out));
    }
    if (!f.ok() || !graph_seen || out.ir_version == 0)
      return invalid("{} is not an ONNX model, or it is damaged or cut off", name_);
    if (out.opset < 13) return invalid("{} uses opset {}; 13 or newer is needed", name_, out.opset);
    return out;
  }

 private:
  Error damaged(std::string_view part) const { return invalid("{}: its {} is damaged or too large", name_, part); }

  Result<Ok> opset(std::string_view bytes, OnnxModel& out) {
    std::string domain;
    std::int64_t version = 0;
    Fields f(bytes);
    while (f.next()) {
      if (f.is_text(1)) domain = f.bytes;
      if (f.is_number(2)) version = std::int64_t(f.number);
    }
    if (!f.ok()) return damaged("list of opsets");
    if (!domain.empty() && domain != "ai.onnx")
      return invalid("{} uses operators of {}, which are not known here", name_, domain);
    out.opset = version;
    return Ok{};
  }

  Result<Ok> property(std::string_view bytes, OnnxModel& out) {
    std::string key, value;
    Fields f(bytes);
    while (f.next()) {
      if (f.is_text(1)) key = f.bytes;
      if (f.is_text(2)) value = f.bytes;
    }
    if (!f.ok() || out.metadata.size() > kMostItems) return damaged("metadata");
    out.metadata[key] = value;
    return Ok{};
  }

  Result<Ok> graph(std::string_view bytes, OnnxModel& out) {
    Fields f(bytes);
    while (f.next()) {
      if (out.nodes.size() + out.constants.size() + out.inputs.size() + out.outputs.size() > kMostItems)
        return damaged("graph");
      if (f.is_text(1)) {
        SMARTMIG_TRY(OnnxNode parsed, node(f.bytes));
        out.nodes.push_back(std::move(parsed));
      }
      if (f.is_text(5)) SMARTMIG_RETURN_IF_ERROR(constant(f.bytes, out));
      if (f.is_text(11) || f.is_text(12)) {
        SMARTMIG_TRY(OnnxValue parsed, value_info(f.bytes));
        (f.field == 11 ? out.inputs : out.outputs).push_back(std::move(parsed));
      }
    }
    if (!f.ok()) return damaged("graph");
    return Ok{};
  }

  Result<OnnxNode> node(std::string_view bytes) {
    OnnxNode out;
    Fields f(bytes);
    while (f.next()) {
      if (f.is_text(1)) out.inputs.emplace_back(f.bytes);
      if (f.is_text(2)) out.outputs.emplace_back(f.bytes);
      if (f.is_text(3)) out.name = f.bytes;
      if (f.is_text(4)) out.op = f.bytes;
      if (f.is_text(5)) SMARTMIG_RETURN_IF_ERROR(attribute(f.bytes, out));
    }
    if (!f.ok()) return damaged("node");
    return out;
  }

  Result<Ok> attribute(std::string_view bytes, OnnxNode& out) {
    std::string key;
    std::int64_t type = 0, whole = 0;
    double real = 0;
    Fields f(bytes);
    while (f.next()) {
      if (f.is_text(1)) key = f.bytes;
      if (f.field == 2 && f.wire == 5) real = std::bit_cast<float>(std::uint32_t(f.number));
      if (f.is_number(3)) whole = std::int64_t(f.number);
      if (f.is_number(20)) type = std::int64_t(f.number);
    }
    if (!f.ok()) return damaged("attribute");
    if (type == 1)
      out.real[key] = real;
    else if (type == 2)
      out.whole[key] = whole;
    else
      return invalid("{}: the attribute '{}' of {} is of a type that is not known here", name_, key, out.op);
    return Ok{};
  }

  Result<Ok> constant(std::string_view bytes, OnnxModel& out) {
    OnnxTensor tensor;
    std::string key;
    std::int64_t type = 0, elements = 1;
    std::string_view raw;
    bool dimensions_fit = true;
    const auto dimension = [&](std::uint64_t value) {
      dimensions_fit =
          dimensions_fit && tensor.dimensions.size() < kMostDimensions && value <= std::uint64_t(kMostElements);
      if (!dimensions_fit) return;
      tensor.dimensions.push_back(std::int64_t(value));
      elements *= std::int64_t(value);
      dimensions_fit = elements <= kMostElements;
    };
    Fields f(bytes);
    while (f.next()) {
      if (f.is_number(1)) dimension(f.number);
      if (f.is_text(1)) {  // packed
        Fields packed(f.bytes);
        for (std::uint64_t value = 0; !packed.empty();) {
          if (!packed.varint(value)) return damaged("tensor");
          dimension(value);
        }
      }
      if (f.is_number(2)) type = std::int64_t(f.number);
      if (f.is_text(8)) key = f.bytes;
      if (f.is_text(9)) raw = f.bytes;
      if (f.field == 4 || f.field == 5 || f.field == 7 || f.field == 13 || f.field == 14)
        return invalid("{}: the tensor {} keeps its numbers outside raw_data, which is not known here", name_, key);
    }
    if (!f.ok() || !dimensions_fit) return damaged("tensor");
    const std::size_t width = type == 1 ? 4 : type == 7 ? 8 : type == 9 ? 1 : 0;
    if (width == 0)
      return invalid("{}: the tensor {} has the element type {}, which is not known here", name_, key, type);
    if (raw.size() != std::size_t(elements) * width)
      return invalid("{}: the tensor {} has {} bytes for {} elements of {}", name_, key, raw.size(), elements, width);
    tensor.values.resize(std::size_t(elements));
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      const std::uint64_t bits = little_endian(raw, i * width, width);
      tensor.values[i] = type == 1   ? double(std::bit_cast<float>(std::uint32_t(bits)))
                         : type == 7 ? double(std::int64_t(bits))
                                     : double(bits != 0);
    }
    if (!out.constants.emplace(key, std::move(tensor)).second)
      return invalid("{}: two tensors are named {}", name_, key);
    return Ok{};
  }

  Result<OnnxValue> value_info(std::string_view bytes) {
    OnnxValue out;
    const std::function<bool(std::string_view, int)> dig = [&](std::string_view inner, int depth) {
      Fields f(inner);
      while (f.next()) {
        if (depth == 0 && f.is_text(1)) out.name = f.bytes;
        if (depth == 0 && f.is_text(2) && !dig(f.bytes, 1)) return false;  // TypeProto
        if (depth == 1 && f.is_text(1) && !dig(f.bytes, 2)) return false;  // its tensor_type
        if (depth == 2 && f.is_number(1)) out.element = std::int64_t(f.number);
        if (depth == 2 && f.is_text(2) && !dig(f.bytes, 3)) return false;  // TensorShapeProto
        if (depth == 3 && f.is_text(1)) {
          if (out.dimensions.size() >= kMostDimensions) return false;
          out.dimensions.push_back(-1);
          if (!dig(f.bytes, 4)) return false;
        }
        if (depth == 4 && f.is_number(1)) {
          if (f.number > std::uint64_t(kMostElements)) return false;
          out.dimensions.back() = std::int64_t(f.number);
        }
      }
      return f.ok();
    };
    if (!dig(bytes, 0)) return damaged("list of inputs and outputs");
    return out;
  }

  const std::string& name_;
};

}  // namespace

Result<OnnxModel> parse_onnx(const std::string& name, std::string_view bytes) { return Parser(name).model(bytes); }

}  // namespace smartmig
