// regex_full_match: whether all of a string matches a pattern, which ONNX defines by RE2's syntax.
#include "base/regex.h"
#include "base/stop.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"pattern", AttributeKind::string, true, "a regular expression of RE2"}};

Regex compiled(const Attributes& attributes) { return Regex(attributes.get<std::string>("pattern")); }

std::vector<TensorType> infer_match(const InferArgs& a) {
  expect_string(a[0], "x");
  compiled(a.attributes);  // throws Error when it is none
  return {plain_type(DType::boolean, a[0].shape)};
}

std::vector<Tensor> eval_match(const EvalArgs& a) {
  const Regex regex = compiled(a.attributes);
  std::vector<bool> matches;
  for (const std::string& text : a[0].string_values()) {
    check_stop();
    matches.push_back(regex.matches(text));
  }
  return {Tensor::of<bool>(a[0].shape(), matches)};
}

}  // namespace

extern constinit const OpDef regex_full_match_def{
    .name = "regex_full_match",
    .doc = "true where all of a string matches the pattern, which is RE2's; strings are UTF-8.",
    .attributes = kAttributes,
    .infer = infer_match,
    .eval = eval_match,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
