#include "ir/literal.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/float_bits.h"

namespace hone {
namespace {

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_floating_point_v<T>) return std::isnan(value) ? "nan" : fmt::format("{}", value);
  else return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
}

template <class T>
std::string list(const T* values, size_t count, auto&& text) {
  std::string joined;
  for (size_t i = 0; i < count; ++i) joined += (i > 0 ? ", " : "") + text(values[i]);
  return joined;
}

// Calls fn with a value of the C++ type that elements of `dtype` are stored in.
template <class Fn>
auto with_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::boolean:
      return fn(bool{});
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return fn(int8_t{});
    case DType::i16:
      return fn(int16_t{});
    case DType::i32:
      return fn(int32_t{});
    case DType::i64:
      return fn(int64_t{});
    case DType::u8:
    case DType::u4:
    case DType::u2:
    case DType::f8e8m0:
    case DType::f6e2m3:
    case DType::f6e3m2:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f4e2m1:
      return fn(uint8_t{});
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return fn(uint16_t{});
    case DType::u32:
      return fn(uint32_t{});
    case DType::u64:
      return fn(uint64_t{});
    case DType::f32:
      return fn(float{});
    case DType::f64:
      return fn(double{});
    case DType::string:
      break;
  }
  CHECK(false, "strings are not numbers");
  return fn(double{});
}

std::string elements_text(const Tensor& tensor) {
  if (tensor.dtype() == DType::string)
    return list(tensor.string_values().data(), tensor.string_values().size(),
                [](const std::string& s) { return quote(s); });
  return with_type(tensor.dtype(), [&]<class T>(T) {
    const std::span<const T> values = tensor.as<T>();
    return list(values.data(), values.size(), [&](T value) {
      if (tensor.dtype() == DType::f16) return number_text(f16_to_f32(static_cast<uint16_t>(value)));
      if (tensor.dtype() == DType::bf16) return number_text(bf16_to_f32(static_cast<uint16_t>(value)));
      if (const SmallFloat* type = small_float(tensor.dtype()))
        return number_text(decode_small_float(*type, static_cast<uint8_t>(value)));
      return number_text(value);
    });
  });
}

std::string hex(const Buffer& plane) {
  std::string digits = "\"";
  for (std::byte b : plane.bytes()) digits += fmt::format("{:02x}", std::to_integer<int>(b));
  return digits + '"';
}

Buffer parse_hex(Scanner& scanner) {
  const size_t begin = scanner.offset();
  const std::string digits = scanner.quoted();
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    const char* end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, value, 16).ptr != end) break;
    bytes.push_back(static_cast<std::byte>(value));
  }
  if (2 * bytes.size() != digits.size()) scanner.fail_at(begin, "expected an even number of hexadecimal digits");
  return Buffer::copy_of(bytes);
}

template <class T>
T parse_number(Scanner& scanner, const char* what) {
  const size_t begin = scanner.offset();
  const std::string_view text = scanner.until(" \t,}]#");
  T value{};
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "false") return text == "true";
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  scanner.fail_at(begin, fmt::format("expected {}, found \"{}\"", what, text));
}

// One element, stored at `dst`.
template <class T>
T parse_element(Scanner& scanner, DType dtype) {
  const std::string what = fmt::format("an element of type {}", to_string(dtype));
  if (dtype == DType::f16) return static_cast<T>(f32_to_f16(parse_number<float>(scanner, what.c_str())));
  if (dtype == DType::bf16) return static_cast<T>(f32_to_bf16(parse_number<float>(scanner, what.c_str())));
  if (const SmallFloat* type = small_float(dtype))
    return static_cast<T>(encode_small_float(*type, parse_number<float>(scanner, what.c_str())));
  const size_t begin = scanner.offset();
  const T value = parse_number<T>(scanner, what.c_str());
  const auto number = static_cast<double>(value);
  const int bits = is_small(dtype) ? integer_bits(dtype) : 0;
  const bool is_signed = bits > 0 && hone::is_signed(compute_scalar(dtype));
  const double most = (1 << (is_signed ? bits - 1 : bits)) - 1, least = is_signed ? -most - 1 : 0;
  if (bits > 0 && (number < least || number > most))
    scanner.fail_at(begin, fmt::format("expected {}, found {}", what, value));
  return value;
}

// `{a, b, ...}` or `[a, b, ...]`, each item read by `item`; `limit` guards memory against texts that promise less.
template <class T, class Fn>
std::vector<T> parse_list(Scanner& scanner, char open, char close, int64_t limit, Fn item) {
  std::vector<T> values;
  scanner.expect(open);
  if (scanner.accept(close)) return values;
  do {
    if (static_cast<int64_t>(values.size()) == limit)
      scanner.fail_here(fmt::format("more elements than the {} of the type", limit));
    values.push_back(item());
  } while (scanner.accept(','));
  scanner.expect(close);
  return values;
}

void check_count(Scanner& scanner, size_t begin, size_t found, const TensorType& type) {
  const int64_t expected = element_count(constant_shape(type.shape));
  if (static_cast<int64_t>(found) != expected)
    scanner.fail_at(begin, fmt::format("{} elements for {}; expected {}", found, to_string(type), expected));
}

Tensor parse_planes(Scanner& scanner, const TensorType& type) {
  const size_t begin = scanner.offset();
  std::vector<Buffer> planes = parse_list<Buffer>(scanner, '{', '}', 4, [&] { return parse_hex(scanner); });
  const std::vector<int64_t> shape = constant_shape(type.shape);
  const PlaneBytes wanted = plane_bytes(*type.format, shape);
  const int64_t bytes[] = {wanted.codes, wanted.scales, wanted.zero_points, wanted.global};
  if (planes.size() != 4) scanner.fail_at(begin, "expected four planes: codes, scales, zero points, global");
  for (size_t i = 0; i < 4; ++i)
    if (static_cast<int64_t>(planes[i].size()) != bytes[i])
      scanner.fail_at(begin, fmt::format("plane {} of {} has {} bytes; expected {}", i, to_string(type),
                                         planes[i].size(), bytes[i]));
  return Tensor::packed(*type.format, shape, planes[0], planes[1], planes[2], planes[3]);
}

}  // namespace

std::string literal_text(const Tensor& tensor) {
  if (!tensor.is_packed()) return "{" + elements_text(tensor) + "}";
  return fmt::format("planes {{{}, {}, {}, {}}}", hex(tensor.data()), hex(tensor.scales()), hex(tensor.zero_points()),
                     hex(tensor.global()));
}

Tensor parse_literal(Scanner& scanner, const TensorType& type) {
  const size_t begin = scanner.offset();
  if (!is_constant(type.shape))
    scanner.fail_at(begin, "a constant needs a shape of numbers, not " + to_string(type.shape));
  const int64_t count = element_count(constant_shape(type.shape));
  if (type.is_packed()) {
    if (!scanner.accept_word("planes")) scanner.expected("planes {\"codes\", \"scales\", \"zero points\", \"global\"}");
    return parse_planes(scanner, type);
  }
  if (type.dtype == DType::string) {
    std::vector<std::string> values =
        parse_list<std::string>(scanner, '{', '}', count, [&] { return scanner.quoted(); });
    check_count(scanner, begin, values.size(), type);
    return Tensor::strings(constant_shape(type.shape), std::move(values));
  }
  return with_type(type.dtype, [&]<class T>(T) {
    const auto values = parse_list<T>(scanner, '{', '}', count, [&] { return parse_element<T>(scanner, type.dtype); });
    check_count(scanner, begin, values.size(), type);
    Tensor tensor(type.dtype, constant_shape(type.shape));
    std::copy(values.begin(), values.end(), tensor.mutable_as<T>().begin());
    return tensor;
  });
}

Tensor parse_scalar(Scanner& scanner, DType dtype) {
  return with_type(dtype, [&]<class T>(T) {
    Tensor tensor(dtype, {});
    tensor.mutable_as<T>()[0] = parse_element<T>(scanner, dtype);
    return tensor;
  });
}

TensorType parse_type(Scanner& scanner) {
  const size_t begin = scanner.offset();
  const std::string head(scanner.until("[ \t,{}"));
  const bool container = head.starts_with("seq(") || head.starts_with("opt(");
  if (!container && scanner.peek() != '[')
    scanner.fail_at(begin, fmt::format("expected a type as in f32[B,128], found \"{}\"", head));
  const std::string dims(container ? "" : scanner.until(" \t,{}=\""));
  try {
    return parse_type(head + dims);
  } catch (const Error& error) {
    scanner.fail_at(begin, error.what());
  }
}

namespace {

struct AttributeText {
  std::string operator()(int64_t v) const { return number_text(v); }
  std::string operator()(double v) const { return number_text(v); }
  std::string operator()(const std::string& v) const { return quote(v); }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return "[" + list(v.data(), v.size(), [this](const T& item) { return (*this)(item); }) + "]";
  }
  std::string operator()(const Dim& v) const { return v.to_string(); }
  std::string operator()(const Shape& v) const { return to_string(v); }
  std::string operator()(DType v) const { return std::string(to_string(v)); }
  std::string operator()(const Format& v) const { return to_string(v); }
  std::string operator()(const Tensor& v) const { return to_string(v.type()) + " " + literal_text(v); }
};

constexpr int64_t kMaxListed = 1 << 20;  // items of an attribute list

DType parse_dtype_at(Scanner& scanner) {
  const size_t begin = scanner.offset();
  const std::string_view text = scanner.until(",}");
  if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
  scanner.fail_at(
      begin,
      fmt::format("unknown element type \"{}\"; known: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 string",
                  text));
}

template <class Fn>
auto located(Scanner& scanner, Fn&& parse) {
  const size_t begin = scanner.offset();
  const std::string_view text = scanner.until(",}");
  try {
    return parse(text);
  } catch (const Error& error) {
    scanner.fail_at(begin, error.what());
  }
}

}  // namespace

std::string attribute_text(const Attribute& attribute) { return std::visit(AttributeText{}, attribute); }

Attribute parse_attribute(Scanner& scanner, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return parse_number<int64_t>(scanner, "an integer");
    case AttributeKind::number:
      return parse_number<double>(scanner, "a number");
    case AttributeKind::string:
      return scanner.quoted();
    case AttributeKind::integers:
      return parse_list<int64_t>(scanner, '[', ']', kMaxListed,
                                 [&] { return parse_number<int64_t>(scanner, "an integer"); });
    case AttributeKind::numbers:
      return parse_list<double>(scanner, '[', ']', kMaxListed,
                                [&] { return parse_number<double>(scanner, "a number"); });
    case AttributeKind::strings:
      return parse_list<std::string>(scanner, '[', ']', kMaxListed, [&] { return scanner.quoted(); });
    case AttributeKind::dim:
      return located(scanner, [](std::string_view text) { return Dim::parse(text); });
    case AttributeKind::shape:
      return located(scanner, [](std::string_view text) { return parse_type("f32" + std::string(text)).shape; });
    case AttributeKind::dtype:
      return parse_dtype_at(scanner);
    case AttributeKind::format:
      return located(scanner, [](std::string_view text) { return parse_format(text); });
    case AttributeKind::tensor:
      break;
  }
  const TensorType type = parse_type(scanner);
  return parse_literal(scanner, type);
}

}  // namespace hone
