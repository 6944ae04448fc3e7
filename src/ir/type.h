// Types of values: element type (plain or a packed number format) and shape.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/small_float.h"
#include "expr/expr.h"
#include "formats/format.h"
#include "ir/dim.h"

namespace hone {

// The types from f8e4m3fn on are stored one element per byte; their names are those of ONNX.
enum class DType : uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f4e2m1,
  i4,
  u4,
  f8e8m0,
  i2,
  u2,
  f6e2m3,
  f6e3m2
};

std::string_view to_string(DType dtype);  // "bool" "i8" ... "bf16" "f32" "f64" "string"
std::optional<DType> parse_dtype(std::string_view text);
int size_bytes(DType dtype);  // Bug for string
bool is_float(DType dtype);
bool is_integer(DType dtype);                // not boolean
bool is_small(DType dtype);                  // f8e4m3fn and after: no generated code reads or writes them
int integer_bits(DType dtype);               // of an integer dtype: 2 to 64
const SmallFloat* small_float(DType dtype);  // of f8…, f6… and f4e2m1, else nullptr
Scalar compute_scalar(
    DType dtype);  // the expr type that elements are computed in: f16, bf16, f32 → f32; i8, i16, i32 → i32; u8.. → u32
std::optional<DType> dtype_of_plain_format(const Format& format);  // fp32 → f32, fp16 → f16, bf16 → bf16; else none

// What a value may be besides one tensor: a list of tensors of one dtype and any shapes, a tensor or nothing, a list or
// nothing.
enum class Container : uint8_t { none, sequence, optional, optional_sequence };

// A tensor of `dtype`, or packed in `format` (then dtype is f32: what reading an element gives), or a container of
// tensors of `dtype`. The shape is empty where the rank is not known, as it is of what containers hold.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Format> format;
  Container container = Container::none;
  bool ranked = true;

  static TensorType unranked(DType dtype);
  static TensorType of(Container container, DType dtype);
  bool is_packed() const { return format.has_value(); }
  bool is_static() const;  // one tensor with constant dimensions
  size_t rank() const { return shape.size(); }
  bool operator==(const TensorType& other) const;  // a type of unknown rank equals none, not even itself
};

// Whether a value can be of both types: dimensions that are not both constant may turn out equal.
bool may_be_same(const TensorType& a, const TensorType& b);

std::string to_string(const TensorType& type);  // "f32[B,S,384]", "mxint8[30522,384]", "f32[*]" (any rank), "seq(f32)"
TensorType parse_type(std::string_view text);   // throws Error

}  // namespace hone
