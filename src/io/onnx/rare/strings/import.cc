// Strings, and n-grams of strings or integers.
#include <algorithm>

#include "io/onnx/onnx_family.h"
#include "ops/calls/regex_full_match.h"
#include "ops/calls/string_concat.h"
#include "ops/calls/string_normalize.h"
#include "ops/calls/string_split.h"
#include "ops/calls/tf_idf.h"

namespace hone {
namespace {

// Only its form is looked at: letters change their case as Unicode says, which no locale but Turkish and Lithuanian
// does otherwise.
void check_locale(const OnnxNode& n) {
  const std::string locale = n.text("locale", "en_US");
  const auto is_fine = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '@'; };
  if (!std::ranges::all_of(locale, is_fine)) fail("locale is \"{}\"; expected a name such as en_US", locale);
  if (locale.starts_with("tr") || locale.starts_with("az") || locale.starts_with("lt"))
    n.unsupported(fmt::format("locale {}, which has letters of its own", locale));
}

std::vector<ValueId> import_normalizer(OnnxNode& n) {
  check_locale(n);
  const std::string action = n.text("case_change_action", "NONE");
  if (action != "LOWER" && action != "UPPER" && action != "NONE")
    fail("case_change_action is \"{}\"; expected LOWER, UPPER or NONE", action);
  Attributes attributes{{"case", std::string(action == "LOWER"   ? "lower"
                                             : action == "UPPER" ? "upper"
                                                                 : "none")},
                        {"is_case_sensitive", n.is_not_zero("is_case_sensitive", false)}};
  if (n.has_attribute("stopwords")) attributes.set("stopwords", n.texts("stopwords"));
  return {n.emit({&string_normalize_def, {n.in(0)}, std::move(attributes)})};
}

std::vector<ValueId> import_concat(OnnxNode& n) { return {ops::string_concat(n, {n.in(0), n.in(1)})}; }

std::vector<ValueId> import_split(OnnxNode& n) {
  Attributes attributes{{"delimiter", n.text("delimiter", "")}};
  if (n.has_attribute("maxsplit")) attributes.set("maxsplit", n.integer("maxsplit"));
  return n.emit_all({&string_split_def, {n.in(0)}, std::move(attributes)});
}

std::vector<ValueId> import_regex(OnnxNode& n) {
  const Attributes attributes{{"pattern", n.text("pattern")}};
  try {
    return {n.emit({&regex_full_match_def, {n.in(0)}, attributes})};
  } catch (const Error& error) {
    n.unsupported(error.what());
  }
}

std::vector<ValueId> import_tf_idf(OnnxNode& n) {
  Attributes attributes{{"mode", n.text("mode")}};
  for (const char* name : {"min_gram_length", "max_gram_length", "max_skip_count"})
    attributes.set(name, n.integer(name));
  for (const char* name : {"ngram_counts", "ngram_indexes"}) attributes.set(name, n.integers(name));
  if (n.has_attribute("pool_int64s")) attributes.set("pool_int64s", n.integers("pool_int64s"));
  if (n.has_attribute("pool_strings")) attributes.set("pool_strings", n.texts("pool_strings"));
  if (n.has_attribute("weights")) attributes.set("weights", n.numbers("weights"));
  return {n.emit({&tf_idf_def, {n.in(0)}, std::move(attributes)})};
}

constexpr OnnxOperator kOperators[] = {
    {"StringNormalizer", 10, import_normalizer}, {"StringConcat", 20, import_concat},
    {"StringSplit", 20, import_split},           {"RegexFullMatch", 20, import_regex},
    {"TfIdfVectorizer", 9, import_tf_idf},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_strings_def{.name = "strings", .operators = kOperators};

}  // namespace hone
