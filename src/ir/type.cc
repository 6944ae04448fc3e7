#include "ir/type.h"

#include <array>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

struct DTypeRow {
  const char* name;
  int bytes;
  Scalar compute;
};
constexpr std::array<DTypeRow, 14> kDTypes = {{
    {"bool", 1, Scalar::boolean},
    {"i8", 1, Scalar::i32},
    {"i16", 2, Scalar::i32},
    {"i32", 4, Scalar::i32},
    {"i64", 8, Scalar::i64},
    {"u8", 1, Scalar::u32},
    {"u16", 2, Scalar::u32},
    {"u32", 4, Scalar::u32},
    {"u64", 8, Scalar::u64},
    {"f16", 2, Scalar::f32},
    {"bf16", 2, Scalar::f32},
    {"f32", 4, Scalar::f32},
    {"f64", 8, Scalar::f64},
    {"string", 0, Scalar::f32},
}};
const DTypeRow& row(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (text == kDTypes[i].name) return static_cast<DType>(i);
  return std::nullopt;
}

int size_bytes(DType dtype) {
  CHECK(dtype != DType::string);
  return row(dtype).bytes;
}

bool is_float(DType dtype) { return dtype >= DType::f16 && dtype <= DType::f64; }
bool is_integer(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u64; }

Scalar compute_scalar(DType dtype) {
  CHECK(dtype != DType::string);
  return row(dtype).compute;
}

std::optional<DType> dtype_of_plain_format(const Format& format) {
  if (!is_plain_float(format)) return std::nullopt;
  const std::string name = to_string(format);
  return name == "fp32" ? DType::f32 : name == "fp16" ? DType::f16 : DType::bf16;
}

std::string to_string(const TensorType& type) {
  return (type.format ? to_string(*type.format) : std::string(to_string(type.dtype))) + to_string(type.shape);
}

TensorType parse_type(std::string_view text) {
  const size_t bracket = text.find('[');
  const std::string_view head = trim(text.substr(0, bracket));
  TensorType type;
  if (const std::optional<DType> dtype = parse_dtype(head)) {
    type.dtype = *dtype;
  } else {
    const Format format = parse_format(head);
    if (const std::optional<DType> plain = dtype_of_plain_format(format)) type.dtype = *plain;
    else type.format = format;
  }
  if (bracket == std::string_view::npos) return type;
  std::string_view dims = trim(text.substr(bracket + 1));
  if (dims.empty() || dims.back() != ']') fail("type \"{}\": expected ']' at the end, as in f32[B,128]", text);
  dims = trim(dims.substr(0, dims.size() - 1));
  if (dims.empty()) return type;
  for (const std::string& dim : split(dims, ',')) type.shape.push_back(Dim::parse(trim(dim)));
  return type;
}

}  // namespace hone
