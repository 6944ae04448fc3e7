// Random numbers. A seed is a float in ONNX: its bits are those of hone's, so that hone draws the same numbers again.
#include <bit>
#include <cmath>

#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

Attributes seeded(const ExportNode& n, Attributes attributes) {
  const auto seed = n.attributes().get<int64_t>("seed");
  const auto bits = std::bit_cast<float>(static_cast<uint32_t>(seed));
  attributes.set("seed",
                 std::isfinite(bits) && std::in_range<uint32_t>(seed) ? double{bits} : static_cast<double>(seed));
  attributes.set("dtype", n.result_type().dtype);
  return attributes;
}

// A shape that is not constant is taken from a tensor that has it.
Names drawn(const ExportNode& n, const char* op_type, const char* like, Attributes attributes) {
  if (n.attributes().has("shape") && is_constant(n.attributes().get<Shape>("shape"))) {
    attributes.set("shape", constant_shape(n.attributes().get<Shape>("shape")));
    return {n.emit(op_type, {}, attributes)};
  }
  return {n.emit(like, {n.emit("ConstantOfShape", {n.sizes_argument("shape", 0)})}, attributes)};
}

Names uniform(const ExportNode& n) {
  return drawn(n, "RandomUniform", "RandomUniformLike", seeded(n, n.take({"low", "high"})));
}
Names normal(const ExportNode& n) {
  return drawn(n, "RandomNormal", "RandomNormalLike", seeded(n, n.take({"mean", "scale"})));
}
Names multinomial(const ExportNode& n) {
  return {n.emit("Multinomial", {n.in(0)}, seeded(n, n.take({{"samples", "sample_size"}})))};
}

constexpr ExportRule kRules[] = {{"multinomial", multinomial}, {"random_normal", normal}, {"random_uniform", uniform}};

}  // namespace

std::span<const ExportRule> random_rules() { return kRules; }

}  // namespace hone::onnx
