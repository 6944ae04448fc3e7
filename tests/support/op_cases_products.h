// Samples of ops that sum products: linear, matmul, attention.
#pragma once

#include "tests/support/op_case.h"

namespace hone {

using Integers = std::vector<int64_t>;
constexpr const char* kSampleFormats[] = {"mxint8", "mxint4",       "mxfp8_e4m3", "mxfp6_e2m3",
                                          "mxfp4",  "int8.channel", "int4.g32",   "fp8_e5m2"};

inline OpCases linear_cases(Philox& rng) {
  OpCases cases;
  for (int64_t m : {1, 3, 7, 17})
    for (int64_t n : {1, 7, 17, 64})
      for (int64_t k : {1, 7, 17, 64})
        cases.push_back({{random_floats(rng, {m, k}), random_floats(rng, {n, k}), random_floats(rng, {n})}, {}});
  for (DType x : {DType::f32, DType::bf16, DType::f16})
    for (DType w : {DType::f32, DType::bf16, DType::f16}) {
      cases.push_back({{random_floats(rng, {2, 3, 33}, x), random_floats(rng, {19, 33}, w)}, {}});
      cases.push_back(
          {{random_floats(rng, {33}, x), random_floats(rng, {19, 33}, w), random_floats(rng, {19}, w)}, {}});
    }
  for (const char* format : kSampleFormats)
    for (DType x : {DType::f32, DType::bf16}) {
      cases.push_back(
          {{random_floats(rng, {7, 64}, x), random_packed(rng, {17, 64}, format), random_floats(rng, {17})}, {}});
      cases.push_back({{random_floats(rng, {1, 70}, x), random_packed(rng, {33, 70}, format)}, {}});
    }
  const auto codes = [&](Sizes64 shape, DType dtype) {
    return dtype == DType::i8 ? random_integers(rng, std::move(shape), dtype, -128, 127)
                              : random_integers(rng, std::move(shape), dtype, 0, 255);
  };
  for (DType x : {DType::i8, DType::u8})
    for (int64_t k : {1, 2, 3, 4, 33, 70, 131}) {
      for (int64_t m : {1, 7, 17}) cases.push_back({{codes({m, k}, x), codes({33, k}, DType::i8)}, {}});
      cases.push_back(
          {{codes({2, 3, k}, x), codes({19, k}, DType::i8), random_integers(rng, {19}, DType::i32, -9, 9)}, {}});
      cases.push_back({{codes({2, k}, x), codes({5, k}, DType::u8)}, {}});
    }
  return cases;
}

inline OpCases block_linear_cases(Philox& rng) {
  OpCases cases;
  for (const auto& [x, w] : {std::pair("", "int8.g32"),
                             {"", "int4.g12"},
                             {"", "mxint4.g16"},
                             {"mxint8", "mxint8"},
                             {"mxint8.g16", "int4.g32.s=bf16"},
                             {"mxint8", "int8.channel"},
                             {"mxint8", "int5"}})
    for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {1, 33, 70}, {7, 17, 64}, {17, 5, 37}}) {
      const Sizes64 rows = m == 7 ? Sizes64{m, 2, k} : Sizes64{m, k};
      const Tensor codes =
          std::string_view(x).empty() ? random_integers(rng, rows, DType::i8, -128, 127) : random_packed(rng, rows, x);
      cases.push_back({{codes, random_packed(rng, {n, k}, w)}, {}});
    }
  return cases;
}

inline OpCases matmul_cases(Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    cases.push_back({{random_floats(rng, {1, 1}, dtype), random_floats(rng, {1, 1}, dtype)}, {}});
    cases.push_back({{random_floats(rng, {7, 17}, dtype), random_floats(rng, {17, 33}, dtype)}, {}});
    cases.push_back({{random_floats(rng, {2, 7, 17}, dtype), random_floats(rng, {2, 17, 5}, dtype)}, {}});
    cases.push_back({{random_floats(rng, {2, 3, 7, 16}, dtype), random_floats(rng, {2, 3, 5, 16}, dtype)},
                     {{"transpose_b", int64_t{1}}}});
    cases.push_back(
        {{random_floats(rng, {17, 7}, dtype), random_floats(rng, {17, 33}, dtype)}, {{"transpose_a", int64_t{1}}}});
    cases.push_back({{random_floats(rng, {2, 19, 9}, dtype), random_floats(rng, {2, 5, 19}, dtype)},
                     {{"transpose_a", int64_t{1}}, {"transpose_b", int64_t{1}}}});
    cases.push_back({{random_floats(rng, {2, 1, 7, 17}, dtype), random_floats(rng, {3, 17, 5}, dtype)}, {}});
    cases.push_back({{random_floats(rng, {2, 1, 3, 7, 9}, dtype), random_floats(rng, {1, 4, 3, 9, 5}, dtype)}, {}});
    cases.push_back({{random_floats(rng, {2, 1, 3, 1, 2, 9}, dtype), random_floats(rng, {2, 1, 3, 5, 9}, dtype)},
                     {{"transpose_b", int64_t{1}}}});
    cases.push_back({{random_floats(rng, {2, 1, 2, 1, 2, 1, 2, 3, 4}, dtype),
                      random_floats(rng, {1, 3, 1, 2, 1, 2, 1, 4, 5}, dtype)},
                     {}});
    cases.push_back(
        {{random_floats(rng, {2, 3, 4}, dtype), random_floats(rng, {4, 5}, dtype)}, {{"transpose_b", int64_t{0}}}});
  }
  return cases;
}

inline OpCases attention_cases(Philox& rng) {
  OpCases cases;
  const Attributes two{{"heads", int64_t{2}}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const auto part = [&](Sizes64 shape) { return random_floats(rng, std::move(shape), dtype, -1, 1); };
    cases.push_back({{part({1, 1, 4}), part({1, 1, 4}), part({1, 1, 4})}, two});
    cases.push_back({{part({2, 7, 32}), part({2, 7, 32}), part({2, 7, 32}), random_floats(rng, {2, 1, 1, 7})}, two});
    cases.push_back({{part({2, 5, 32}), part({2, 17, 32}), part({2, 17, 32}), random_floats(rng, {2, 2, 5, 17})}, two});
    cases.push_back({{part({1, 17, 32}), part({1, 17, 32}), part({1, 17, 32})},
                     {{"heads", int64_t{2}}, {"causal", int64_t{1}}, {"scale", 0.5}}});
    cases.push_back({{part({1, 3, 32}), part({1, 9, 16}), part({1, 9, 16})},
                     {{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}, {"causal", int64_t{1}}}});
    cases.push_back(
        {{part({2, 5, 32}), part({2, 19, 16}), part({2, 19, 16}), std::nullopt, random_floats(rng, {4})},
         {{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}, {"before", int64_t{6}}, {"causal", int64_t{1}}}});
    // Queries that see no key, at the start or the end; values of another width; windows; soft caps.
    cases.push_back({{part({1, 9, 24}), part({1, 4, 24}), part({1, 4, 10})},
                     {{"heads", int64_t{2}}, {"causal", int64_t{1}}, {"blind_is_zero", int64_t{1}}}});
    cases.push_back({{part({1, 6, 8}), part({1, 11, 8}), part({1, 11, 8})},
                     {{"heads", int64_t{2}}, {"causal", int64_t{1}}, {"from_start", int64_t{1}}, {"softcap", 0.7}}});
    cases.push_back({{part({2, 33, 8}), part({2, 33, 8}), part({2, 33, 8}), random_floats(rng, {33})},
                     {{"heads", int64_t{1}}, {"before", int64_t{5}}, {"behind", int64_t{2}}}});
    cases.push_back(
        {{part({2, 9, 16}), part({2, 18, 8}), part({2, 18, 8}),
          random_integers(rng, {2, 1, 9, 18}, DType::boolean, 0, 1)},
         {{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}, {"before", int64_t{12}}, {"blind_is_zero", int64_t{1}}}});
  }
  return cases;
}

}  // namespace hone
