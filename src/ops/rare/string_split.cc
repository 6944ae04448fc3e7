// string_split: strings cut at a delimiter or at white space, as ONNX StringSplit.
#include <algorithm>
#include <limits>

#include "base/memory_limit.h"
#include "base/stop.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Strings = std::vector<std::string>;

constexpr const char* kWhiteSpace = " \t\n\v\f\r";
constexpr AttributeSpec kAttributes[] = {
    {"delimiter", AttributeKind::string, false, "empty (default): runs of white space, and none at the ends"},
    {"maxsplit", AttributeKind::integer, false,
     "cuts of a string at most, from the left; default: as many as there are"},
};

Strings split_at(const std::string& text, const std::string& delimiter, int64_t cuts) {
  Strings parts;
  size_t begin = 0;
  for (size_t end; cuts > 0 && (end = text.find(delimiter, begin)) != std::string::npos; --cuts) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Strings split_at_space(const std::string& text, int64_t cuts) {
  Strings parts;
  size_t begin = text.find_first_not_of(kWhiteSpace);
  for (; begin != std::string::npos && cuts > 0; --cuts) {
    const size_t end = text.find_first_of(kWhiteSpace, begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kWhiteSpace, end);
  }
  if (begin != std::string::npos) parts.push_back(text.substr(begin, text.find_last_not_of(kWhiteSpace) + 1 - begin));
  return parts;
}

std::vector<TensorType> infer_split(const InferArgs& a) {
  expect_string(a[0], "x");
  if (a.attributes.get_or<int64_t>("maxsplit", 0) < 0)
    fail("maxsplit is {}; it must be at least 0", a.attributes.get<int64_t>("maxsplit"));
  Shape parts = a[0].shape;
  parts.push_back(Dim::unknown());
  return {plain_type(DType::string, parts), plain_type(DType::i64, a[0].shape)};
}

std::vector<Tensor> eval_split(const EvalArgs& a) {
  const std::string delimiter = a.attributes.get_or<std::string>("delimiter", "");
  const int64_t cuts = a.attributes.get_or<int64_t>("maxsplit", std::numeric_limits<int64_t>::max());
  std::vector<Strings> rows;
  std::vector<int64_t> counts;
  for (const std::string& text : a[0].string_values()) {
    check_stop();
    rows.push_back(delimiter.empty() ? split_at_space(text, cuts) : split_at(text, delimiter, cuts));
    counts.push_back(std::ssize(rows.back()));
  }
  std::vector<int64_t> sizes = a[0].shape();
  sizes.push_back(counts.empty() ? 0 : *std::ranges::max_element(counts));
  require_memory(checked_mul(element_count(sizes), 2 * sizeof(std::string)),
                 "string_split, for the parts of all rows,");
  Strings parts;
  for (Strings& row : rows) {
    row.resize(static_cast<size_t>(sizes.back()));
    parts.insert(parts.end(), row.begin(), row.end());
  }
  return {Tensor::strings(sizes, std::move(parts)), Tensor::of<int64_t>(a[0].shape(), counts)};
}

}  // namespace

extern constinit const OpDef string_split_def{
    .name = "string_split",
    .doc = "The parts of each string along a new last dimension, filled up with empty strings, and their number (i64).",
    .attributes = kAttributes,
    .results = 2,
    .infer = infer_split,
    .eval = eval_split,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
