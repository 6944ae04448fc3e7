#include "io/onnx/export_direct.h"

namespace hone::onnx {

namespace {

// ONNX has attributes in f32 only.
bool is_rounded(const Attributes& attributes) {
  return std::any_of(attributes.items().begin(), attributes.items().end(), [](const auto& item) {
    const double* number = std::get_if<double>(&item.second);
    return number && static_cast<double>(static_cast<float>(*number)) != *number;
  });
}

}  // namespace

std::optional<DType> operator_dtype(const ExportNode& n, Types accepted) {
  const DType first = n.type(0).dtype;
  if (first == DType::f64 && is_rounded(n.attributes())) return std::nullopt;
  bool same = true;
  for (size_t i = 1; i < n.node().operands.size(); ++i) same &= n.type(i).dtype == first;
  if (same && (accepted & types(first))) return first;
  const DType computed = compute_dtype(first);
  return accepted & types(computed) ? std::optional(computed) : std::nullopt;
}

Names write_direct(const ExportNode& n, const char* op_type, DType dtype) {
  Names inputs;
  for (size_t i = 0; i < n.node().operands.size(); ++i) inputs.push_back(n.in_as(i, dtype));
  const std::string result = n.emit(op_type, inputs, n.attributes());
  const DType wanted = n.result_type().dtype;
  return {wanted == DType::boolean ? result : n.cast(result, dtype, wanted)};
}

}  // namespace hone::onnx
