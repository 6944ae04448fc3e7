// Numbers as text and back: cast to and from strings.
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

std::vector<TensorType> infer_parse(const InferArgs& a) {
  if (a[0].dtype != DType::string) fail("x is {}; accepted: strings", to_string(a[0]));
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

}  // namespace

extern constinit const OpDef format_numbers_def{
    .name = "format_numbers",
    .doc = "Each number as the shortest text that reads back as the same number: \"0.1\", \"-INF\", \"NaN\".",
    .infer = infer_format,
    .eval = eval_format};
extern constinit const OpDef parse_numbers_def{
    .name = "parse_numbers",
    .doc = "Each text as a number: decimal, INF, +INF, -INF or NaN in any case.",
    .attributes = kParseAttributes,
    .infer = infer_parse,
    .eval = eval_parse};

}  // namespace hone
