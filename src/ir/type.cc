#include "ir/type.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "ir/node_rules.h"

namespace hone {
namespace {

struct DTypeRow {
  const char* name;
  int bytes;
  Scalar compute;
  int integer_bits = 0;
  const SmallFloat* small_float = nullptr;
};
constexpr std::array<DTypeRow, 26> kDTypes = {{
    {"bool", 1, Scalar::boolean},
    {"i8", 1, Scalar::i32, 8},
    {"i16", 2, Scalar::i32, 16},
    {"i32", 4, Scalar::i32, 32},
    {"i64", 8, Scalar::i64, 64},
    {"u8", 1, Scalar::u32, 8},
    {"u16", 2, Scalar::u32, 16},
    {"u32", 4, Scalar::u32, 32},
    {"u64", 8, Scalar::u64, 64},
    {"f16", 2, Scalar::f32},
    {"bf16", 2, Scalar::f32},
    {"f32", 4, Scalar::f32},
    {"f64", 8, Scalar::f64},
    {"string", 0, Scalar::f32},
    {"f8e4m3fn", 1, Scalar::f32, 0, &kF8e4m3fn},
    {"f8e4m3fnuz", 1, Scalar::f32, 0, &kF8e4m3fnuz},
    {"f8e5m2", 1, Scalar::f32, 0, &kF8e5m2},
    {"f8e5m2fnuz", 1, Scalar::f32, 0, &kF8e5m2fnuz},
    {"f4e2m1", 1, Scalar::f32, 0, &kF4e2m1},
    {"i4", 1, Scalar::i32, 4},
    {"u4", 1, Scalar::u32, 4},
    {"f8e8m0", 1, Scalar::f32, 0, &kF8e8m0},
    {"i2", 1, Scalar::i32, 2},
    {"u2", 1, Scalar::u32, 2},
    {"f6e2m3", 1, Scalar::f32, 0, &kF6e2m3},
    {"f6e3m2", 1, Scalar::f32, 0, &kF6e3m2},
}};
constexpr const char* kContainers[] = {"", "seq", "opt", "opt(seq"};

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

bool is_float(DType dtype) { return (dtype >= DType::f16 && dtype <= DType::f64) || small_float(dtype); }
bool is_integer(DType dtype) { return row(dtype).integer_bits > 0; }
bool is_small(DType dtype) { return dtype >= DType::f8e4m3fn; }
int integer_bits(DType dtype) {
  CHECK(is_integer(dtype));
  return row(dtype).integer_bits;
}
const SmallFloat* small_float(DType dtype) { return row(dtype).small_float; }

Scalar compute_scalar(DType dtype) {
  CHECK(dtype != DType::string);
  return row(dtype).compute;
}

std::optional<DType> dtype_of_plain_format(const Format& format) {
  if (!is_plain_float(format)) return std::nullopt;
  const std::string name = to_string(format);
  return name == "fp32" ? DType::f32 : name == "fp16" ? DType::f16 : DType::bf16;
}

TensorType TensorType::unranked(DType dtype) { return {.dtype = dtype, .ranked = false}; }

TensorType TensorType::of(Container container, DType dtype, int item_rank) {
  return {.dtype = dtype, .container = container, .ranked = false, .item_rank = item_rank};
}

TensorType TensorType::item() const {
  CHECK(container != Container::none);
  if (item_rank < 0) return unranked(dtype);
  return {.dtype = dtype, .shape = Shape(static_cast<size_t>(item_rank), Dim::unknown())};
}

int joined_item_rank(int a, int b) {
  if (a == TensorType::kNoItems) return b;
  return a == b || b == TensorType::kNoItems ? a : TensorType::kUnknownRank;
}

bool TensorType::operator==(const TensorType& other) const {
  return ranked && other.ranked && container == other.container && dtype == other.dtype && shape == other.shape &&
         format == other.format;
}

bool TensorType::is_static() const { return container == Container::none && ranked && is_constant(shape); }

bool may_be_same(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.format != b.format || a.container != b.container) return false;
  if (a.item_rank >= 0 && b.item_rank >= 0 && a.item_rank != b.item_rank) return false;
  if (!a.ranked || !b.ranked) return true;
  return a.rank() == b.rank() && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(),
                                            [](const Dim& x, const Dim& y) { return may_be_same(x, y); });
}

namespace {

constexpr std::string_view kNone = "none";

std::string rank_text(int item_rank) {
  if (item_rank == TensorType::kUnknownRank) return "";
  return ":" + (item_rank == TensorType::kNoItems ? std::string(kNone) : std::to_string(item_rank));
}

// Of what stands behind the ':' of a container's type.
int parse_rank(std::string_view text, std::string_view whole) {
  if (text == kNone) return TensorType::kNoItems;
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0 || rank > static_cast<int>(kMostDimensions))
    fail("type \"{}\": \"{}\" is no number of dimensions; expected none, or 0 to {}, as in seq(f32:4)", whole, text,
         kMostDimensions);
  return rank;
}

}  // namespace

std::string to_string(const TensorType& type) {
  const std::string element(type.format ? to_string(*type.format) : std::string(to_string(type.dtype)));
  if (type.container != Container::none)
    return std::string(kContainers[static_cast<size_t>(type.container)]) + "(" + element + rank_text(type.item_rank) +
           ")" + (type.container == Container::optional_sequence ? ")" : "");
  return element + (type.ranked ? to_string(type.shape) : "[*]");
}

TensorType parse_type(std::string_view text) {
  for (const Container container : {Container::optional_sequence, Container::optional, Container::sequence}) {
    const std::string head = std::string(kContainers[static_cast<size_t>(container)]) + "(";
    if (!text.starts_with(head)) continue;
    std::string_view element = text.substr(head.size());
    for (int close = container == Container::optional_sequence ? 2 : 1; close > 0; --close) {
      if (!element.ends_with(')')) fail("type \"{}\": expected ')' at the end, as in seq(f32)", text);
      element.remove_suffix(1);
    }
    const size_t colon = element.find(':');
    const int item_rank =
        colon == std::string_view::npos ? TensorType::kUnknownRank : parse_rank(trim(element.substr(colon + 1)), text);
    element = element.substr(0, colon);
    const std::optional<DType> dtype = parse_dtype(trim(element));
    if (!dtype) fail("type \"{}\": {} is not an element type; expected f32, i64, … as in seq(f32)", text, element);
    return TensorType::of(container, *dtype, item_rank);
  }
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
  if (dims == "*") {
    type.ranked = false;
    return type;
  }
  for (const std::string& dim : split(dims, ',')) type.shape.push_back(Dim::parse(trim(dim)));
  return type;
}

}  // namespace hone
