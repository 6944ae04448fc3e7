#include "io/onnx/shape_arguments.h"

#include "ir/unbacked.h"

namespace hone {

std::optional<Shape> dims_without_data(const OnnxNode& n, ValueId values) {
  std::optional<Shape> known = n.dims(values);
  if (known && depends_on_data(*known)) return std::nullopt;
  return known;
}

void add_dims(const OnnxNode& n, const char* name, int input, std::vector<ValueId>& operands, Attributes& attributes) {
  operands.push_back(kNone);
  if (n.has_attribute(name)) attributes.set(name, n.sizes(name));
  else if (!n.has(input)) return;
  else if (std::optional<Shape> known = dims_without_data(n, n.in(input))) attributes.set(name, std::move(*known));
  else operands.back() = n.in(input);
}

void add_axes(const OnnxNode& n, int input, std::vector<ValueId>& operands, Attributes& attributes) {
  operands.push_back(kNone);
  if (n.has_attribute("axes")) attributes.set("axes", n.integers("axes"));
  else if (!n.has(input)) return;
  else if (std::optional<std::vector<int64_t>> known = n.known_integers(n.in(input)))
    attributes.set("axes", std::move(*known));
  else operands.back() = n.in(input);
}

}  // namespace hone
