#include "io/onnx/shape_arguments.h"

namespace hone {

void add_dims(OnnxNode& n, const char* name, ValueId values, std::vector<ValueId>& operands, Attributes& attributes) {
  if (std::optional<Shape> known = n.dims(values)) attributes.set(name, std::move(*known));
  else operands.push_back(values);
}

std::optional<std::vector<int64_t>> axes_of(OnnxNode& n, int operand) {
  if (n.has_attribute("axes")) return n.integers("axes");
  if (!n.has(operand)) return std::nullopt;
  if (std::optional<std::vector<int64_t>> known = n.known_integers(n.in(operand))) return known;
  n.unsupported("axes that are computed while the model runs; supported: axes that are known when it is loaded");
}

}  // namespace hone
