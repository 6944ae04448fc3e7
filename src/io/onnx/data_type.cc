#include "io/onnx/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"

namespace hone::onnx {
namespace {

struct Row {
  const char* name;
  std::optional<DType> dtype;
};
// By ONNX's number.
constexpr Row kRows[] = {
    {"undefined", {}},
    {"float", DType::f32},
    {"uint8", DType::u8},
    {"int8", DType::i8},
    {"uint16", DType::u16},
    {"int16", DType::i16},
    {"int32", DType::i32},
    {"int64", DType::i64},
    {"string", DType::string},
    {"bool", DType::boolean},
    {"float16", DType::f16},
    {"double", DType::f64},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::bf16},
    {"float8e4m3fn", DType::f8e4m3fn},
    {"float8e4m3fnuz", DType::f8e4m3fnuz},
    {"float8e5m2", DType::f8e5m2},
    {"float8e5m2fnuz", DType::f8e5m2fnuz},
    {"uint4", DType::u4},
    {"int4", DType::i4},
    {"float4e2m1", DType::f4e2m1},
    {"float8e8m0", DType::f8e8m0},
    {"uint2", DType::u2},
    {"int2", DType::i2},
    {"float6e2m3", DType::f6e2m3},
    {"float6e3m2", DType::f6e3m2},
};

const Row* row_of(int32_t data_type) {
  return data_type >= 0 && data_type < std::ssize(kRows) ? &kRows[data_type] : nullptr;
}

}  // namespace

std::string data_type_name(int32_t data_type) {
  const Row* row = row_of(data_type);
  return row ? row->name : fmt::format("data type {}", data_type);
}

DType dtype_of(int32_t data_type, const std::string& source) {
  const Row* row = row_of(data_type);
  if (row && row->dtype) return *row->dtype;
  std::vector<std::string_view> supported;
  for (const Row& r : kRows)
    if (r.dtype) supported.emplace_back(r.name);
  fail("{}: {} is not supported; supported: {}", source, data_type_name(data_type), fmt::join(supported, ", "));
}

int32_t data_type_of(DType dtype) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.dtype == dtype; });
  CHECK(row != std::end(kRows), "ONNX has no type for {}", to_string(dtype));
  return static_cast<int32_t>(row - kRows);
}

}  // namespace hone::onnx
