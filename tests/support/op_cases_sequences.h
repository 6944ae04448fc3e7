// Samples of strings, sequences and optionals.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

using Texts = std::vector<std::string>;

inline OpCases string_cases(const OpDef& op) {
  const std::string_view name = op.name;
  const Tensor words = Tensor::strings({4}, {"the Cat", "Äpfel", "THE", ""}), one = Tensor::strings({1, 1}, {"the"});
  if (name == "string_normalize")
    return {{{words}, {{"case", std::string("upper")}, {"stopwords", Texts{"the"}}}},
            {{one}, {{"stopwords", Texts{"the"}}, {"is_case_sensitive", int64_t{1}}}}};
  if (name == "string_concat") return {{{words, one}, {}}, {{one, words}, {}}};
  if (name == "string_split")
    return {{{words}, {}}, {{one}, {{"delimiter", std::string("h")}, {"maxsplit", int64_t{1}}}}};
  if (name == "regex_full_match") return {{{words}, {{"pattern", std::string("[a-zA-Z ]+")}}}};
  return {};
}

inline OpCases tf_idf_cases() {
  const Attributes common{{"min_gram_length", int64_t{1}},
                          {"max_gram_length", int64_t{2}},
                          {"max_skip_count", int64_t{1}},
                          {"ngram_counts", Integers{0, 2}},
                          {"ngram_indexes", Integers{2, 0, 3}}};
  OpCase integers{{Tensor::of<int64_t>({2, 3}, {5, 6, 5, 6, 6, 6})}, common};
  integers.attributes.set("mode", std::string("TF"));
  integers.attributes.set("pool_int64s", Integers{5, 6, 5, 5});
  OpCase strings{{Tensor::strings({3}, {"a", "b", "a"})}, common};
  strings.attributes.set("mode", std::string("TFIDF"));
  strings.attributes.set("pool_strings", Texts{"a", "b", "a", "b"});
  strings.attributes.set("weights", std::vector<double>{2, 3, 4});
  return {std::move(integers), std::move(strings)};
}

inline OpCases container_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  const Tensor matrix = random_floats(rng, {2, 3}), row = random_floats(rng, {1, 3}),
               text = Tensor::strings({2}, {"a", "b"}), last = Tensor::scalar<int64_t>(-1),
               first = Tensor::scalar<int32_t>(0);
  const Tensor floats = Tensor::sequence(DType::f32, {matrix, row}), texts = Tensor::sequence(DType::string, {text});
  if (name == "sequence_empty") return {{{}, {}}, {{}, {{"dtype", DType::string}}}};
  if (name == "sequence_construct") return {{{matrix, row}, {}}, {{text}, {}}};
  if (name == "sequence_at") return {{{floats, last}, {}}, {{texts, first}, {}}};
  if (name == "sequence_insert") return {{{floats, matrix, first}, {}}, {{texts, text}, {}}};
  if (name == "sequence_erase") return {{{floats, first}, {}}, {{texts}, {}}};
  if (name == "sequence_length") return {{{floats}, {}}, {{texts}, {}}};
  if (name == "sequence_split")
    return {{{matrix}, {{"keepdims", int64_t{0}}}},
            {{matrix, Tensor::scalar<int64_t>(2)}, {{"axis", int64_t{1}}}},
            {{matrix, Tensor::of<int64_t>({3}, {2, 0, 1})}, {{"axis", int64_t{-1}}}}};
  if (name == "sequence_concat")
    return {{{floats}, {{"axis", int64_t{0}}}},
            {{Tensor::sequence(DType::f32, {row, row})}, {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}}};
  const Tensor full = Tensor::optional(texts.type(), texts), empty = Tensor::optional(matrix.type(), std::nullopt);
  if (name == "optional") return {{{matrix}, {}}, {{}, {{"dtype", DType::i64}, {"sequence", int64_t{1}}}}};
  if (name == "optional_get_element") return {{{full}, {}}, {{matrix}, {}}};
  if (name == "optional_has_element") return {{{full}, {}}, {{empty}, {}}, {{}, {}}};
  return {};
}

inline OpCases sequence_cases(const OpDef& op, Philox& rng) {
  if (std::string_view(op.name) == "tf_idf") return tf_idf_cases();
  OpCases cases = string_cases(op);
  return cases.empty() ? container_cases(op, rng) : cases;
}

}  // namespace hone
