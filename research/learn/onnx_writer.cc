#include "research/learn/onnx_writer.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace smartmig {
namespace {

constexpr std::int64_t kIrVersion = 7, kOpset = 13;
enum ElementType : std::int64_t { kFloat = 1, kInt64 = 7, kBool = 9 };  // TensorProto.DataType

// One protobuf message while it is built.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(std::uint64_t(field) << 3);
    varint(std::uint64_t(value));
    return *this;
  }
  Message& text(int field, std::string_view bytes) {
    varint(std::uint64_t(field) << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(char(value | 0x80));
    bytes_.push_back(char(value));
  }
  std::string bytes_;
};

struct Dimension {
  std::int64_t size;  // below 0: the batch, named "N"
};

Message value_info(std::string_view name, ElementType type, std::initializer_list<Dimension> dimensions) {
  Message shape;
  for (const Dimension d : dimensions)
    shape.message(1, d.size < 0 ? Message().text(2, "N") : Message().number(1, d.size));
  return Message().text(1, name).message(2, Message().message(1, Message().number(1, type).message(2, shape)));
}

class Graph {
 public:
  void floats(std::string_view name, std::span<const float> values, std::initializer_list<std::int64_t> dimensions) {
    std::string raw;
    append_floats(raw, values);
    tensor(name, kFloat, raw, dimensions);
  }
  void whole(std::string_view name, std::initializer_list<std::int64_t> values) {
    std::string raw;
    for (const std::int64_t v : values) append_u64(raw, std::uint64_t(v));
    tensor(name, kInt64, raw, {std::int64_t(values.size())});
  }
  // Returns the output's name.
  std::string node(std::string_view op, std::initializer_list<std::string_view> inputs, std::string output,
                   std::optional<std::int64_t> axis = std::nullopt) {
    Message node;
    for (const std::string_view input : inputs) node.text(1, input);
    node.text(2, output).text(3, output).text(4, op);
    if (axis) node.message(5, Message().text(1, "axis").number(3, *axis).number(20, 2));  // type 2: INT
    nodes_.message(1, node);
    return output;
  }
  // Writes the layers of one of the two networks; returns the name of its last output.
  std::string stack(const Network& network, std::span<const Network::Layer> layers, std::string_view prefix,
                    std::string input) {
    const auto parameters = network.parameters();
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Network::Layer& layer = layers[l];
      const std::string name = fmt::format("{}{}", prefix, l), weights = name + "_weights", bias = name + "_bias";
      floats(weights, parameters.subspan(layer.weights, std::size_t(layer.in) * std::size_t(layer.out)),
             {layer.in, layer.out});
      floats(bias, parameters.subspan(layer.bias, std::size_t(layer.out)), {layer.out});
      input = node("Gemm", {input, weights, bias}, name);
      if (l + 1 < layers.size()) input = node("Tanh", {input}, name + "_tanh");
    }
    return input;
  }
  Message finish(std::string_view name, const std::vector<Message>& inputs, const std::vector<Message>& outputs) const {
    Message graph = nodes_;
    graph.text(2, name);
    for (const Message& tensor : tensors_) graph.message(5, tensor);
    for (const Message& input : inputs) graph.message(11, input);
    for (const Message& output : outputs) graph.message(12, output);
    return graph;
  }

 private:
  void tensor(std::string_view name, ElementType type, std::string_view raw,
              std::initializer_list<std::int64_t> dimensions) {
    Message message;
    for (const std::int64_t d : dimensions) message.number(1, d);
    tensors_.push_back(message.number(2, type).text(8, name).text(9, raw));
  }
  Message nodes_;
  std::vector<Message> tensors_;
};

}  // namespace

std::string to_onnx(const Controller& controller) {
  const Network& network = controller.network;
  const NetworkSize& size = network.size();
  const std::int64_t inputs = size.inputs, foresight = size.foresight, layouts = size.layouts;
  Graph graph;
  const float low = -Network::kClip, high = Network::kClip, masked = kMaskedLogit;
  graph.floats("clip_low", {&low, 1}, {});
  graph.floats("clip_high", {&high, 1}, {});
  graph.floats("masked_logit", {&masked, 1}, {});
  const auto normalised = [&](const std::string& input, std::size_t first, std::int64_t width) {
    graph.floats(input + "_mean", network.mean().subspan(first, std::size_t(width)), {width});
    graph.floats(input + "_scale", network.scale().subspan(first, std::size_t(width)), {width});
    const std::string centred = graph.node("Sub", {input, input + "_mean"}, input + "_centred");
    const std::string scaled = graph.node("Mul", {centred, input + "_scale"}, input + "_scaled");
    return graph.node("Clip", {scaled, "clip_low", "clip_high"}, input + "_normalised");
  };
  const std::string seen = normalised("observation", 0, inputs);

  const std::string flat = graph.stack(network, network.actor(), "actor", seen);
  graph.whole("matrix_shape", {-1, layouts, layouts});
  const std::string logits = graph.node("Reshape", {flat, "matrix_shape"}, "logits");
  const std::string allowed = graph.node("Where", {"mask", logits, "masked_logit"}, "allowed_logits");
  graph.node("Softmax", {allowed}, "matrix", 2);

  std::string known = seen;
  if (foresight > 0)
    known = graph.node("Concat", {seen, normalised("foresight", std::size_t(inputs), foresight)}, "known", 1);
  const std::string value = graph.stack(network, network.critic(), "critic", known);
  graph.whole("value_shape", {-1});
  graph.node("Reshape", {value, "value_shape"}, "value");

  std::vector<Message> in = {value_info("observation", kFloat, {{-1}, {inputs}}),
                             value_info("mask", kBool, {{-1}, {layouts}, {layouts}})};
  if (foresight > 0) in.push_back(value_info("foresight", kFloat, {{-1}, {foresight}}));
  const std::vector<Message> out = {value_info("matrix", kFloat, {{-1}, {layouts}, {layouts}}),
                                    value_info("value", kFloat, {{-1}})};
  Message model;
  model.number(1, kIrVersion).text(2, "smartmig").message(7, graph.finish("smartmig controller", in, out));
  model.message(8, Message().text(1, "").number(2, kOpset));
  const auto property = [&](std::string_view key, std::string_view value_text) {
    model.message(14, Message().text(1, key).text(2, value_text));
  };
  property("gpu", controller.gpu);
  property("layouts", fmt::format("{}", fmt::join(controller.shapes, ",")));
  property("initial", fmt::format("{}", fmt::join(controller.initial, ",")));
  property("features", name_of(controller.features));
  property("top_k", fmt::format("{}", controller.top_k));
  property("sampling", name_of(controller.sampling));
  return model.bytes();
}

}  // namespace smartmig
