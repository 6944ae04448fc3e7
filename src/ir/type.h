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
// tensors of `dtype`. The shape is empty where the rank is not known, as it is of containers.
struct TensorType {
  static constexpr int kUnknownRank = -1, kNoItems = -2;

  DType dtype = DType::f32;
  Shape shape;
  std::optional<Format> format;
  Container container = Container::none;
  bool ranked = true;
  // Of a container: how many dimensions each tensor in it has; kNoItems where there is none, which goes with any.
  int item_rank = kUnknownRank;

  static TensorType unranked(DType dtype);
  static TensorType of(Container container, DType dtype, int item_rank = kUnknownRank);
  TensorType item() const;  // a tensor in a container: of unknown sizes and, where that is not known, of unknown rank
  bool is_packed() const { return format.has_value(); }
  bool is_static() const;  // one tensor with constant dimensions
  size_t rank() const { return shape.size(); }
  int rank_or_unknown() const { return ranked ? static_cast<int>(shape.size()) : kUnknownRank; }  // of a tensor
  bool operator==(const TensorType& other) const;  // a type of unknown rank equals none, not even itself
};

// Whether a value can be of both types: dimensions that are not both constant may turn out equal.
bool may_be_same(const TensorType& a, const TensorType& b);

int joined_item_rank(int a, int b);  // of tensors of both kinds

// "f32[B,S,384]", "mxint8[30522,384]", "f32[*]" (any rank), "seq(f32)", "seq(f32:4)" (of four dimensions each),
// "seq(f32:none)" (without items)
std::string to_string(const TensorType& type);
TensorType parse_type(std::string_view text);  // throws Error

}  // namespace hone
