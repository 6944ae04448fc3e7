// Strings as elements: numbers as text and back, comparison and choice.
#include <charconv>
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kParseAttributes[] = {{"dtype", AttributeKind::dtype, true, "element type of the result"}};

std::vector<TensorType> infer_format(const InferArgs& a) {
  expect_not_string(a[0], "x");
  return {plain_type(DType::string, a[0].shape)};
}

template <class T>
std::string text_of(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  }
  return fmt::format("{}", x);
}

template <class T>
std::vector<Tensor> formatted(const Tensor& x, const std::vector<T>& elements) {
  std::vector<std::string> texts;
  for (T element : elements) texts.push_back(text_of(element));
  return {Tensor::strings(x.shape(), std::move(texts))};
}

std::vector<Tensor> eval_format(const EvalArgs& a) {
  if (compute_scalar(a[0].dtype()) == Scalar::f32) return formatted(a[0], a[0].to_floats());  // the shortest f32
  return with_elements(a[0], [&](const auto& elements) { return formatted(a[0], elements); });
}

void expect_strings(const InferArgs& a, size_t i) {
  if (a[i].dtype != DType::string) fail("operand {} is {}; accepted: strings", i, to_string(a[i]));
}

std::vector<TensorType> infer_parse(const InferArgs& a) {
  expect_strings(a, 0);
  const DType dtype = a.attributes.get<DType>("dtype");
  if (dtype == DType::string) fail("dtype is string; accepted: bool, integers and floats");
  return {plain_type(dtype, a[0].shape)};
}

template <class T>
std::optional<T> whole_text_as(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double parsed(const std::string& text, size_t at) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
  if (const auto value = whole_text_as<double>(digits)) return *value;
  fail("parse_numbers: element {} is \"{}\"; accepted: decimal numbers such as -3.5e2, INF, NaN", at, text);
}

std::vector<Tensor> eval_parse(const EvalArgs& a) {
  const std::vector<std::string>& texts = a[0].string_values();
  const DType dtype = a.results[0].dtype;
  std::vector<double> numbers;
  for (size_t i = 0; i < texts.size(); ++i) numbers.push_back(parsed(texts[i], i));
  if (is_float(dtype)) return {Tensor::from_doubles(dtype, a[0].shape(), numbers)};
  std::vector<int64_t> integers = Tensor::from_doubles(DType::i64, a[0].shape(), numbers).to_integers();
  for (size_t i = 0; i < texts.size(); ++i) integers[i] = whole_text_as<int64_t>(texts[i]).value_or(integers[i]);
  return {Tensor::of<int64_t>(a[0].shape(), integers).converted(dtype)};
}

// Offsets into x of each element that it is broadcast to.
std::vector<int64_t> broadcast_offsets(const Tensor& x, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> offsets;
  for_each_offset(sizes, strides_broadcast(x.shape(), sizes), [&](int64_t at) { offsets.push_back(at); });
  return offsets;
}

std::vector<std::string> broadcast_strings(const Tensor& x, const std::vector<int64_t>& sizes) {
  std::vector<std::string> strings;
  TextBytes bytes;
  for (int64_t at : broadcast_offsets(x, sizes)) {
    bytes.add(x.string_values()[static_cast<size_t>(at)].size());
    strings.push_back(x.string_values()[static_cast<size_t>(at)]);
  }
  return strings;
}

std::vector<TensorType> infer_equal(const InferArgs& a) {
  expect_strings(a, 0);
  expect_strings(a, 1);
  return {plain_type(DType::boolean, broadcast(a[0].shape, a[1].shape))};
}

std::vector<Tensor> eval_equal(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const std::vector<std::string> left = broadcast_strings(a[0], sizes), right = broadcast_strings(a[1], sizes);
  std::vector<bool> equal;
  for (size_t i = 0; i < left.size(); ++i) equal.push_back(left[i] == right[i]);
  return {Tensor::of<bool>(sizes, equal)};
}

std::vector<TensorType> infer_where(const InferArgs& a) {
  if (a[0].dtype != DType::boolean) fail("the condition is {}; accepted: bool", to_string(a[0]));
  expect_strings(a, 1);
  expect_strings(a, 2);
  return {plain_type(DType::string, broadcast(a[0].shape, broadcast(a[1].shape, a[2].shape)))};
}

std::vector<Tensor> eval_where(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), conditions = a[0].to_integers();
  std::vector<std::string> chosen = broadcast_strings(a[1], sizes);
  const std::vector<std::string> otherwise = broadcast_strings(a[2], sizes);
  const std::vector<int64_t> from = broadcast_offsets(a[0], sizes);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (conditions[static_cast<size_t>(from[i])] == 0) chosen[i] = otherwise[i];
  return {Tensor::strings(sizes, std::move(chosen))};
}

}  // namespace

extern constinit const OpDef format_numbers_def{
    .name = "format_numbers",
    .doc = "Each number as the shortest text that reads back as the same number: \"0.1\", \"-INF\", \"NaN\".",
    .infer = infer_format,
    .eval = eval_format,
    .no_gradient = "texts do not change smoothly"};
extern constinit const OpDef parse_numbers_def{
    .name = "parse_numbers",
    .doc = "Each text as a number: decimal, INF, +INF, -INF or NaN in any case.",
    .attributes = kParseAttributes,
    .infer = infer_parse,
    .eval = eval_parse,
    .no_gradient = "texts do not change smoothly"};

extern constinit const OpDef equal_strings_def{.name = "equal_strings",
                                               .doc = "Whether a and b are the same string; they broadcast.",
                                               .operands = {"a", "b"},
                                               .infer = infer_equal,
                                               .eval = eval_equal,
                                               .no_gradient = "texts do not change smoothly"};
extern constinit const OpDef where_strings_def{
    .name = "where_strings",
    .doc = "a where the condition (bool) holds, otherwise b, both of strings; all three broadcast.",
    .operands = {"condition", "a", "b"},
    .infer = infer_where,
    .eval = eval_where,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
