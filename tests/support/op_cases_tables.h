// Samples of ops that look up, decide by trees, keep a cache or a state, and of bits read as another type.
#pragma once

#include "tests/support/op_case.h"

namespace hone {

inline Tensor i64_vector(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

inline OpCases map_values_cases() {
  const Tensor words = Tensor::strings({2, 2}, {"a", "c", "b", "?"}), keys = Tensor::strings({3}, {"a", "b", "c"});
  return {
      {{words, keys, Tensor::of<float>({3}, {1, 2, 3}), Tensor::scalar(-1.0f)}, {}},
      {{i64_vector({4, 5, 6}), i64_vector({6, 5}), Tensor::strings({2}, {"x", "y"}), Tensor::strings({}, {"z"})}, {}}};
}

// One tree: x[1] <= 0.5 ? leaf 0 : (x[0] > 0 ? leaf 1 : leaf 2); another that is leaf 1 alone.
inline OpCases tree_ensemble_cases(Philox& rng) {
  const std::vector<std::optional<Tensor>> operands{random_floats(rng, {5, 2}),
                                                    i64_vector({1, 0}),
                                                    Tensor::of<uint8_t>({2}, {0, 3}),
                                                    Tensor::of<float>({2}, {0.5f, 0}),
                                                    Tensor::of<uint8_t>({2}, {0, 1}),
                                                    i64_vector({-1, -2}),
                                                    i64_vector({1, -3}),
                                                    i64_vector({0, -2}),
                                                    i64_vector({0, 1, 3, 4}),
                                                    i64_vector({0, 0, 1, 2}),
                                                    Tensor::of<float>({4}, {1, 2, 3, 4})};
  OpCases cases;
  for (const char* aggregate : {"sum", "average", "min", "max"})
    cases.push_back({operands, {{"targets", int64_t{3}}, {"aggregate", std::string(aggregate)}}});
  return cases;
}

inline OpCases tensor_scatter_cases(Philox& rng) {
  return {{{random_floats(rng, {2, 3, 5, 2}), random_floats(rng, {2, 3, 2, 2}), i64_vector({1, 3})}, {}},
          {{random_floats(rng, {2, 4}), random_floats(rng, {2, 3}), i64_vector({2, -1})},
           {{"axis", int64_t{1}}, {"circular", int64_t{1}}}},
          {{random_integers(rng, {1, 4, 3}, DType::i8, -9, 9), random_integers(rng, {1, 4, 3}, DType::i8, -9, 9)}, {}}};
}

inline OpCases cache_append_cases(Philox& rng) {
  const Tensor table = Tensor::of<int64_t>({2, 3}, {4, 0, 2, 1, 3, -1}), lengths = i64_vector({5, 1}),
               table32 = table.converted(DType::i32);
  OpCases cases{{{random_floats(rng, {5, 3, 7}), random_floats(rng, {2, 4, 7}), table, lengths}, {}},
                {{random_integers(rng, {5, 4}, DType::i8, -9, 9), random_integers(rng, {2, 1}, DType::i8, -9, 9),
                  table32, lengths},
                 {}}};
  for (const char* format : {"mxint8", "int8.g32", "mxint4", "uint4.asym.g16"})
    cases.push_back(
        {{random_packed(rng, {5, 3, 64}, format), random_packed(rng, {2, 2, 64}, format), table, lengths}, {}});
  return cases;
}

inline OpCases linear_attention_cases(Philox& rng) {
  const Tensor q = random_floats(rng, {2, 3, 8}), kv = random_floats(rng, {2, 3, 4}), v = random_floats(rng, {2, 3, 6}),
               state = random_floats(rng, {2, 2, 2, 3}), decay = random_floats(rng, {2, 3, 2}),
               each = random_floats(rng, {2, 3, 4}), beta = random_floats(rng, {2, 3, 1});
  const Attributes plain{{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}};
  Attributes corrected = plain, scaled = plain;
  corrected.set("delta", int64_t{1});
  scaled.set("scale", 0.5);
  return {{{q, kv, v}, plain},
          {{q, kv, v, state, decay}, scaled},
          {{q, kv, v, std::nullopt, each, beta}, corrected},
          {{q.converted(DType::f16), kv.converted(DType::f16), v.converted(DType::f16), state, std::nullopt,
            beta.converted(DType::f16)},
           corrected}};
}

inline OpCases table_cases(std::string_view name, Philox& rng) {
  if (name == "map_values") return map_values_cases();
  if (name == "tree_ensemble") return tree_ensemble_cases(rng);
  if (name == "tensor_scatter") return tensor_scatter_cases(rng);
  if (name == "linear_attention") return linear_attention_cases(rng);
  if (name == "cache_append") return cache_append_cases(rng);
  if (name == "bit_cast")
    return {{{random_floats(rng, {3, 2})}, {{"dtype", DType::i32}}},
            {{random_integers(rng, {5}, DType::i8, -128, 127)}, {{"dtype", DType::u8}}},
            {{random_integers(rng, {5}, DType::u4, 0, 15)}, {{"dtype", DType::i4}}}};
  if (name == "cast_to_powers")
    return {{{random_floats(rng, {17})}, {}},
            {{random_floats(rng, {3, 5}, DType::f64, 0, 9)},
             {{"round", std::string("nearest")}, {"saturate", int64_t{0}}}}};
  return {};
}

}  // namespace hone
