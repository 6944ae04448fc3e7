// Types of values: element type (plain or a packed number format) and shape.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/expr.h"
#include "formats/format.h"
#include "ir/dim.h"

namespace hone {

enum class DType : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, string };

std::string_view to_string(DType dtype);  // "bool" "i8" ... "bf16" "f32" "f64" "string"
std::optional<DType> parse_dtype(std::string_view text);
int size_bytes(DType dtype);  // Bug for string
bool is_float(DType dtype);
bool is_integer(DType dtype);  // not boolean
Scalar compute_scalar(
    DType dtype);  // the expr type that elements are computed in: f16, bf16, f32 → f32; i8, i16, i32 → i32; u8.. → u32
std::optional<DType> dtype_of_plain_format(const Format& format);  // fp32 → f32, fp16 → f16, bf16 → bf16; else none

// A tensor of `dtype`, or packed in `format` (then dtype is f32: what reading an element gives).
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Format> format;

  bool is_packed() const { return format.has_value(); }
  size_t rank() const { return shape.size(); }
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "f32[B,S,384]", "mxint8[30522,384]"
TensorType parse_type(std::string_view text);   // throws Error

}  // namespace hone
