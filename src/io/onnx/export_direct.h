// Rules of ops that are one operator with the same operands and attributes: direct<"Add", kNumbers>.
#pragma once

#include <algorithm>

#include "io/onnx/export_model.h"
#include "io/onnx/export_node.h"
#include "ir/compute_column.h"

namespace hone::onnx {

// A set of element types.
using Types = uint32_t;
template <class... D>
constexpr Types types(D... dtypes) {
  return ((1u << static_cast<int>(dtypes)) | ... | 0u);
}
constexpr Types kBoolean = types(DType::boolean), kOldFloats = types(DType::f16, DType::f32, DType::f64),
                kFloats = kOldFloats | types(DType::bf16),
                kSigned = types(DType::i8, DType::i16, DType::i32, DType::i64),
                kUnsigned = types(DType::u8, DType::u16, DType::u32, DType::u64), kIntegers = kSigned | kUnsigned,
                kNumbers = kIntegers | kFloats;

inline DType compute_dtype(DType dtype) { return dtype_of(compute_scalar(dtype)); }

template <size_t n>
struct OperatorName {
  char text[n];
  consteval OperatorName(const char (&name)[n]) { std::copy_n(name, n, text); }  // NOLINT: names are implicit
};

// The element type that the operator computes in: that of all operands, or their compute type; none when it takes
// neither.
std::optional<DType> operator_dtype(const ExportNode& n, Types accepted);

Names write_direct(const ExportNode& n, const char* op_type, DType dtype);

// Spelled out in other operators where the opset has none, or it does not take the element type.
template <OperatorName name, Types accepted, int since = kOldestExportOpset>
Names direct(const ExportNode& n) {
  const std::optional<DType> dtype = operator_dtype(n, accepted);
  if (!dtype || n.opset() < since) return write_expression(n);
  return write_direct(n, name.text, *dtype);
}

}  // namespace hone::onnx
