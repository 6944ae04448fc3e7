// Samples of ops that move, index or make elements.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

inline OpCases gather_cases(Philox& rng) {
  OpCases cases;
  const Tensor ids = random_integers(rng, {2, 7}, DType::i64, -17, 16);
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i64}) {
    const Tensor table = random_integers(rng, {17, 33}, dtype, -100, 100);
    cases.push_back({{table, ids}, {}});
    cases.push_back({{table, random_integers(rng, {3}, DType::i32, 0, 32)}, {{"axis", int64_t{1}}}});
  }
  for (const char* format : kSampleFormats) {
    cases.push_back({{random_packed(rng, {17, 64}, format), ids}, {}});
    cases.push_back({{random_packed(rng, {17, 70}, format), Tensor::scalar<int64_t>(-1)}, {}});
  }
  return cases;
}

inline OpCases gather_gradient_cases(Philox& rng) {
  const Tensor ids = random_integers(rng, {2, 7}, DType::i64, -5, 4);
  return {{{random_floats(rng, {2, 7, 33}), ids}, {{"shape", Shape{5, 33}}}},
          {{random_floats(rng, {4, 2, 7}), ids}, {{"shape", Shape{4, 5}}, {"axis", int64_t{1}}}},
          {{random_floats(rng, {3, 17}, DType::bf16), Tensor::of<int32_t>({3}, {1, 1, 0})}, {{"shape", Shape{2, 17}}}},
          {{random_floats(rng, {17}), Tensor::scalar<int64_t>(-1)}, {{"shape", Shape{5, 17}}}}};
}

// A sample in several element types for each set of attributes.
inline OpCases moved(Philox& rng, const Sizes64& shape, const std::vector<Attributes>& attributes) {
  OpCases cases;
  for (const Attributes& each : attributes)
    for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean})
      cases.push_back({{random_integers(rng, shape, dtype, 0, dtype == DType::boolean ? 1 : 100)}, each});
  return cases;
}

inline OpCases slice_cases(Philox& rng) {
  return moved(rng, {5, 7, 9},
               {{{"starts", Shape{1}}, {"ends", Shape{4}}},
                {{"starts", Shape{0, -3}}, {"ends", Shape{-1, 9}}, {"axes", Integers{1, -1}}},
                {{"starts", Shape{1, 0}}, {"ends", Shape{7, 9}}, {"axes", Integers{1, 2}}, {"steps", Integers{3, 2}}}});
}

inline OpCases concat_cases(Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::i64, DType::bf16}) {
    const auto part = [&](Sizes64 shape) { return random_integers(rng, std::move(shape), dtype, -9, 9); };
    cases.push_back({{part({2, 3}), part({5, 3}), part({1, 3})}, {{"axis", int64_t{0}}}});
    cases.push_back({{part({2, 3, 4}), part({2, 7, 4})}, {{"axis", int64_t{-2}}}});
    cases.push_back({{part({3})}, {{"axis", int64_t{0}}}});
  }
  return cases;
}

inline OpCases full_cases() {
  return {{{}, {{"shape", Shape{3, 7}}, {"value", 1.5}}},
          {{}, {{"shape", Shape{}}, {"value", 1.0}, {"dtype", DType::i64}}},
          {{Tensor::of<int64_t>({2}, {3, 7})}, {{"value", 0.5}}}};
}

inline OpCases iota_cases() {
  return {{{}, {{"shape", Shape{17}}}}, {{}, {{"shape", Shape{2, 3, 4}}, {"axis", int64_t{1}}, {"dtype", DType::f32}}}};
}

inline OpCases fake_quant_cases(Philox& rng) {
  OpCases cases;
  for (const char* format : kSampleFormats)
    for (DType dtype : {DType::f32, DType::bf16})
      cases.push_back({{random_floats(rng, {7, 40}, dtype)}, {{"format", parse_format(format)}}});
  const auto with_scale = [&](const char* format, const Sizes64& scale, float low, float high) {
    cases.push_back({{random_floats(rng, {7, 40}), random_floats(rng, scale, DType::f32, low, high)},
                     {{"format", parse_format(format)}}});
  };
  with_scale("int4.channel", {7, 1}, 0.05f, 0.2f);
  with_scale("int4.g32", {7, 2}, 0.05f, 0.2f);
  with_scale("int4.g2x8", {4, 5}, 0.05f, 0.2f);
  with_scale("mxint4", {7, 2}, -3, 0);
  with_scale("int8", {}, 0.01f, 0.02f);
  with_scale("int4.f2", {}, 0.1f, 0.3f);
  with_scale("uint4.g32.asym", {7, 2}, 0.05f, 0.2f);
  cases.back().operands.emplace_back(random_floats(rng, {7, 2}, DType::f32, 0, 15));
  return cases;
}

inline OpCases to_codes_cases(Philox& rng) {
  OpCases cases;
  for (const char* format : kSampleFormats)
    for (DType dtype : {DType::f32, DType::bf16})
      if (!is_fake_only(parse_format(format)) && !dtype_of_plain_format(parse_format(format)))
        cases.push_back({{random_floats(rng, {7, 40}, dtype)}, {{"format", parse_format(format)}}});
  cases.push_back({{random_floats(rng, {2, 3, 64})}, {{"format", parse_format("mxint8")}}});
  return cases;
}

inline OpCases from_codes_cases(Philox& rng) {
  OpCases cases;
  for (const OpCase& packed : to_codes_cases(rng))
    cases.push_back({{pack(packed.attributes.get<Format>("format"), *packed.operands[0])}, {}});
  return cases;
}

}  // namespace hone
