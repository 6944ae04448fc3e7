// Samples of further pointwise ops, reductions, sums of products and text.
#pragma once

#include <limits>

#include "tests/support/op_cases_pointwise.h"
#include "tests/support/op_cases_rows.h"

namespace hone {

inline OpCases with_attributes(OpCases cases, const Attributes& attributes) {
  for (OpCase& one : cases) one.attributes = attributes;
  return cases;
}

inline OpCases joined(std::initializer_list<OpCases> lists) {
  OpCases cases;
  for (const OpCases& list : lists) append(cases, list);
  return cases;
}

inline OpCases is_inf_cases() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({5}, {kInfinity, -kInfinity, kNan, 0, 3e38f});
  return {{{x}, {}},
          {{x.converted(DType::f64)}, {{"detect_negative", int64_t{0}}}},
          {{x}, {{"detect_positive", int64_t{0}}}},
          {{x.converted(DType::bf16)}, {{"detect_negative", int64_t{0}}, {"detect_positive", int64_t{0}}}}};
}

inline OpCases shift_cases(Philox& rng) {
  return joined({with_attributes(integer_cases(rng, 2), {{"direction", std::string("left")}}),
                 with_attributes(integer_cases(rng, 2), {{"direction", std::string("right")}})});
}

// Tables of registers of bytes, with and without sign, of words, and of sizes that are no powers of two.
inline OpCases lookup_cases(Philox& rng) {
  OpCases cases;
  for (auto [entries, from, to] : {std::tuple{256, DType::u8, DType::i8},
                                   {256, DType::i8, DType::u8},
                                   {100, DType::u8, DType::i8},
                                   {64, DType::i32, DType::u8},
                                   {7, DType::u8, DType::i16},
                                   {256, DType::i8, DType::i32}}) {
    std::vector<int64_t> table;
    const int64_t scale = to == DType::i32 ? 100'000 : to == DType::i16 ? 100 : 1;
    for (int i = 0; i < entries; ++i)
      table.push_back((static_cast<int64_t>(rng.below(128)) - (to == DType::u8 ? 0 : 64)) * scale);
    const bool is_signed = from != DType::u8;
    cases.push_back({{random_integers(rng, {3, 67}, from, is_signed ? -128 : 0, is_signed ? 127 : 255)},
                     {{"table", table}, {"dtype", to}}});
  }
  return cases;
}

// Axes by operand, which row kernels do not take, and elements that are not floats.
inline OpCases more_reduce_cases(const OpDef& op, Philox& rng) {
  const Tensor x = random_floats(rng, {2, 3, 5}), none = Tensor::of<int64_t>({0}, {});
  OpCases cases = {{{x, Tensor::of<int64_t>({2}, {-1, 0})}, {}},
                   {{x, Tensor::of<int32_t>({1}, {1})}, {{"keepdims", int64_t{0}}}},
                   {{x, none}, {{"noop_with_empty_axes", int64_t{1}}}},
                   {{x, none}, {{"keepdims", int64_t{0}}}}};
  // Large enough to fall into parts.
  cases.push_back({{random_floats(rng, {613, 3, 67}, DType::f32, -1, 1)}, {{"axes", Integers{0, 1}}}});
  cases.push_back({{random_floats(rng, {37, 1040}, DType::bf16, -1, 1)}, {{"axes", Integers{0}}}});
  if (std::string_view(op.name) == "reduce_max" || std::string_view(op.name) == "reduce_min")
    cases.push_back({{random_integers(rng, {3, 7}, DType::boolean, 0, 1)}, {{"axes", Integers{0}}}});
  return cases;
}

inline OpCases more_argmax_cases(Philox& rng) {
  return {{{random_integers(rng, {3, 17}, DType::i8, -2, 2)}, {{"select_last_index", int64_t{1}}}},
          {{random_integers(rng, {3, 17}, DType::u64, 0, 2)}, {{"axis", int64_t{0}}}},
          {{Tensor::of<float>({2, 3}, {1, std::nanf(""), -std::nanf(""), 0.0f, -0.0f, 0.0f})}, {}},
          {{Tensor::of<float>({2, 3}, {1, std::nanf(""), -std::nanf(""), 0.0f, -0.0f, 0.0f})},
           {{"select_last_index", int64_t{1}}}},
          {{random_integers(rng, {2, 30, 5}, DType::i16, -4, 4)}, {{"axis", int64_t{1}}}}};
}

inline OpCases cumsum_cases(Philox& rng) {
  return {{{random_floats(rng, {2, 3, 5})}, {{"axis", int64_t{1}}, {"exclusive", int64_t{1}}}},
          {{random_integers(rng, {7}, DType::i32, -9, 9)}, {{"reverse", int64_t{1}}}},
          {{random_floats(rng, {3, 5}, DType::f64), Tensor::of<int64_t>({}, {-2})}, {}},
          {{random_floats(rng, {2, 7, 19})}, {{"axis", int64_t{1}}, {"reverse", int64_t{1}}}},
          {{random_floats(rng, {3, 33})}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}},
          {{random_integers(rng, {5, 2, 9}, DType::i8, -9, 9)}, {{"axis", int64_t{0}}}},
          {{random_integers(rng, {4, 17}, DType::u64, 0, 9)}, {{"axis", int64_t{0}}, {"exclusive", int64_t{1}}}},
          {{random_floats(rng, {9}, DType::bf16)}, {}}};
}

inline OpCases einsum_cases(Philox& rng) {
  const auto equation = [](const char* text) { return Attributes{{"equation", std::string(text)}}; };
  const Tensor a = random_floats(rng, {2, 3, 4}), b = random_floats(rng, {2, 4, 5});
  const Tensor q = random_floats(rng, {2, 3, 2, 4}), k = random_floats(rng, {2, 5, 2, 4});
  return {{{a, b}, equation("bij,bjk->bik")},
          {{q, k}, equation("bqhd,bkhd->bhqk")},
          {{q, k}, equation("bqhd,bkhe->edh")},
          {{random_floats(rng, {3}), random_floats(rng, {5})}, equation("i,j->ji")},
          {{a, random_floats(rng, {1, 4, 5})}, equation("bij,bjk->bik")},
          {{random_floats(rng, {1, 3, 4}), b}, equation("bij,bjk->ikb")},
          {{random_floats(rng, {2, 3, 1}), b}, equation("bij,bjk->bik")},
          {{random_floats(rng, {2, 3, 1}), random_floats(rng, {1, 4, 1})}, equation("bij,bjk->ki")},
          {{random_floats(rng, {1, 3, 1, 4}), random_floats(rng, {1, 5, 2, 4})}, equation("bqhd,bkhd->bhqk")},
          {{a}, equation("bij->jb")},
          {{a}, equation("...j->j...")},
          {{random_integers(rng, {3, 3}, DType::i64, -9, 9)}, equation("ii")},
          {{random_floats(rng, {3}, DType::f16), random_floats(rng, {2}, DType::f16)}, equation("i,j")}};
}

inline OpCases nll_loss_cases(Philox& rng) {
  const Tensor x = random_floats(rng, {3, 5, 2}), labels = random_integers(rng, {3, 2}, DType::i64, 0, 4),
               weight = random_floats(rng, {5}, DType::f32, 0.5f, 2);
  return {{{x, labels}, {{"reduction", std::string("none")}}},
          {{x, labels, weight}, {{"ignore_index", int64_t{2}}}},
          {{random_floats(rng, {2, 3}, DType::f64), Tensor::of<int32_t>({2}, {0, 2})},
           {{"reduction", std::string("sum")}}}};
}

// A step of an optimizer on w and `others` of its shape, given as many scalars.
inline OpCases step_cases(Philox& rng, int others, int scalars, const Attributes& attributes) {
  OpCases cases;
  for (const Sizes64& shape : {Sizes64{}, Sizes64{17}, Sizes64{3, 40}}) {
    OpCase one{.operands = {random_floats(rng, shape)}, .attributes = attributes};
    for (int i = 0; i < others; ++i) one.operands.emplace_back(random_floats(rng, shape, DType::f32, 0.1f, 2));
    for (int i = 0; i < scalars; ++i) one.operands.emplace_back(random_floats(rng, {}, DType::f32, 0.1f, 1));
    cases.push_back(std::move(one));
  }
  return cases;
}

// Ops that the other tables do not list, or list without all they take; empty for the rest.
inline OpCases points_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  if (name == "tan") return float_cases(rng, 1, {}, {-1.4f, 1.4f});
  if (name == "asin" || name == "acos" || name == "atanh") return float_cases(rng, 1, {}, {-0.95f, 0.95f});
  if (name == "acosh") return float_cases(rng, 1, {}, {1, 9});
  if (name == "elu" || name == "celu") return joined({float_cases(rng, 1), float_cases(rng, 1, {{"alpha", 0.5}})});
  if (name == "thresholded_relu" || name == "silu") return float_cases(rng, 1, {{"alpha", 1.5}});
  if (name == "selu") return joined({float_cases(rng, 1), float_cases(rng, 1, {{"alpha", 2.0}, {"gamma", 3.0}})});
  if (name == "shrink") return float_cases(rng, 1, {{"threshold", 1.0}, {"bias", 0.5}});
  if (name == "weighted_sum") return float_cases(rng, 2, {{"alpha", 0.75}, {"beta", -2.0}});
  if (name == "descent_step") return step_cases(rng, 1, 2, {});
  if (name == "adam_step") return step_cases(rng, 2, 3, {{"epsilon", 1e-3}});
  if (name == "lion_step") return step_cases(rng, 2, 2, {{"beta", 0.8}});
  if (name == "prelu" || name == "mod" || name == "fmod") return joined({float_cases(rng, 2), integer_cases(rng, 2)});
  if (name == "pow") return joined({float_cases(rng, 2, {}, {0.1f, 4}), integer_cases(rng, 2)});
  if (name.starts_with("bitwise_")) return integer_cases(rng, op.operands.most());
  if (name == "bit_shift") return shift_cases(rng);
  if (name == "lookup") return lookup_cases(rng);
  if (name == "is_inf") return is_inf_cases();
  if (name.starts_with("reduce_")) return joined({reduce_cases(op, rng), more_reduce_cases(op, rng)});
  if (name == "argmax" || name == "argmin") return joined({argmax_cases(rng), more_argmax_cases(rng)});
  if (name == "cumsum" || name == "cumprod") return cumsum_cases(rng);
  if (name == "det") return {{{random_floats(rng, {2, 4, 4})}, {}}, {{random_floats(rng, {1, 1}, DType::f64)}, {}}};
  if (name == "einsum") return einsum_cases(rng);
  if (name == "nll_loss") return nll_loss_cases(rng);
  if (name == "cast_unsaturated")
    return {{{random_floats(rng, {17}, DType::f32, -600, 600)}, {{"dtype", DType::f8e4m3fn}}},
            {{random_floats(rng, {3, 5}, DType::f16, -4, 4)}, {{"dtype", DType::f8e5m2fnuz}}}};
  if (name == "format_numbers")
    return {{{random_floats(rng, {2, 3}, DType::f16)}, {}}, {{random_integers(rng, {5}, DType::i64, -9, 9)}, {}}};
  const Tensor a = Tensor::strings({2, 1}, {"x", "y"}), b = Tensor::strings({3}, {"y", "", "x"});
  if (name == "equal_strings") return {{{a, b}, {}}};
  if (name == "where_strings") return {{{Tensor::of<bool>({3}, {true, false, true}), a, b}, {}}};
  if (name == "parse_numbers") return {{{Tensor::strings({2}, {"1.5", "-2e3"})}, {{"dtype", DType::f32}}}};
  return {};
}

}  // namespace hone
