// string_normalize: drops stop words and changes the case, as ONNX StringNormalizer.
#include <utf8proc.h>

#include <algorithm>

#include "base/stop.h"
#include "base/utf8.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Strings = std::vector<std::string>;

constexpr AttributeSpec kAttributes[] = {
    {"case", AttributeKind::string, false, "lower, upper or none (default)"},
    {"stopwords", AttributeKind::strings, false, "strings that are left out, compared before the case changes"},
    {"is_case_sensitive", AttributeKind::integer, false, "1: stop words must match as they are; default 0"},
};

using Change = utf8proc_int32_t (*)(utf8proc_int32_t);

Change change_of(const std::string& name) {
  if (name == "lower") return utf8proc_tolower;
  if (name == "upper") return utf8proc_toupper;
  if (name != "none") fail("case is \"{}\"; accepted: lower, upper, none", name);
  return nullptr;
}

// Each code point by itself; bytes that are no UTF-8 become U+FFFD.
std::string changed(const std::string& text, Change change) {
  std::string result;
  for (char32_t c : decode_utf8(text))
    append_utf8(result, static_cast<char32_t>(change(static_cast<utf8proc_int32_t>(c))));
  return result;
}

std::vector<TensorType> infer_normalize(const InferArgs& a) {
  expect_string(a[0], "x");
  expect_rank(a[0], 1, 2, "x [C] or [1,C]");
  if (a[0].rank() == 2) expect_dim(a[0].shape[0], 1, "the number of rows of x");
  change_of(a.attributes.get_or<std::string>("case", "none"));
  Shape shape = a[0].shape;
  if (a.attributes.has("stopwords")) shape.back() = Dim::unknown();
  return {plain_type(DType::string, shape)};
}

std::vector<Tensor> eval_normalize(const EvalArgs& a) {
  const bool exact = a.attributes.get_or<int64_t>("is_case_sensitive", 0) != 0;
  const auto key = [&](const std::string& text) { return exact ? text : changed(text, utf8proc_tolower); };
  Strings stopwords = a.attributes.get_or<Strings>("stopwords", {});
  for (std::string& word : stopwords) word = key(word);
  const Change change = change_of(a.attributes.get_or<std::string>("case", "none"));
  Strings kept;
  for (const std::string& text : a[0].string_values()) {
    check_stop();
    if (std::ranges::find(stopwords, key(text)) == stopwords.end())
      kept.push_back(change ? changed(text, change) : text);
  }
  if (kept.empty() && !stopwords.empty()) kept.emplace_back();
  std::vector<int64_t> sizes = a[0].shape();
  sizes.back() = std::ssize(kept);
  return {Tensor::strings(sizes, kept)};
}

}  // namespace

extern constinit const OpDef string_normalize_def{
    .name = "string_normalize",
    .doc =
        "The strings of x[C] or x[1,C] that are no stop words, in lower or upper case; one empty string where all are "
        "stop words.",
    .attributes = kAttributes,
    .infer = infer_normalize,
    .eval = eval_normalize,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
