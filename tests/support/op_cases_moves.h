// Samples of ops that move, find or make elements where shapes or places may be computed.
#pragma once

#include "tests/support/op_cases_shape.h"

namespace hone {

inline Tensor integer_vector(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

// A sample in several element types for each set of attributes, with further operands, of which some may be absent.
inline OpCases moved_by(Philox& rng, const Sizes64& shape, const std::vector<std::optional<Tensor>>& further,
                        const std::vector<Attributes>& attributes) {
  OpCases cases = moved(rng, shape, attributes);
  for (OpCase& one : cases) one.operands.insert(one.operands.end(), further.begin(), further.end());
  return cases;
}

inline OpCases joined(OpCases cases, const OpCases& more) {
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

inline OpCases reshape_cases(Philox& rng) {
  return joined(moved(rng, {2, 3, 4}, {{{"shape", Shape{4, 6}}}, {{"shape", Shape{-1, 2}}}}),
                moved_by(rng, {2, 3, 4}, {integer_vector({0, -1})}, {{{"copy_zeros", int64_t{1}}}}));
}

inline OpCases expand_cases(Philox& rng) {
  return joined(moved(rng, {3, 1}, {{{"shape", Shape{2, 3, 17}}}, {{"shape", Shape{1}}}}),
                moved_by(rng, {3, 1}, {integer_vector({2, 1, 5})}, {{}}));
}

inline OpCases strided_slice_cases(Philox& rng) {
  const Attributes backward = {
      {"axes", Integers{2, 0}}, {"starts", Shape{-1, 1}}, {"ends", Shape{-100, 100}}, {"steps", Shape{-2, 1}}};
  return joined(moved(rng, {5, 7, 9}, {backward}),
                moved_by(rng, {5, 7},
                         {integer_vector({9}), integer_vector({0}), integer_vector({-1}), integer_vector({-3})}, {{}}));
}

inline OpCases split_cases(Philox& rng) {
  return joined(moved(rng, {6, 4}, {{{"sizes", Shape{1, 0, 5}}}, {{"sizes", Shape{3, 1}}, {"axis", int64_t{-1}}}}),
                moved_by(rng, {6, 4}, {integer_vector({2, 4})}, {{}}));
}

inline OpCases pad_cases(Philox& rng) {
  OpCases cases = moved(rng, {3, 4},
                        {{{"pads", Shape{1, 0, 2, 3}}},
                         {{"pads", Shape{2, 3}}, {"axes", Integers{-1}}, {"mode", "edge"}},
                         {{"pads", Shape{7, -1, 0, 5}}, {"mode", "reflect"}},
                         {{"pads", Shape{-1, 9, -1, 1}}, {"mode", "wrap"}}});
  const Tensor value = Tensor::scalar<float>(-1.5f);
  cases.push_back({{random_floats(rng, {2, 3}), value}, {{"pads", Shape{1, 1, 1, 1}}}});
  cases.push_back({{random_floats(rng, {2, 3}), value, integer_vector({2, -1}), integer_vector({-1})}, {}});
  return cases;
}

inline OpCases tile_cases(Philox& rng) {
  return joined(moved(rng, {2, 3}, {{{"repeats", Shape{2, 3}}}, {{"repeats", Shape{1, 0}}}}),
                moved_by(rng, {2, 3}, {integer_vector({3, 1})}, {{}}));
}

inline OpCases range_cases() {
  const auto sample = [](auto start, auto limit, auto step) -> OpCase {
    return {{Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(step)}, {}};
  };
  return {sample(int64_t{3}, int64_t{-5}, int64_t{-3}), sample(1.0f, 2.0f, 0.25f),
          sample(int32_t{4}, int32_t{4}, int32_t{1})};
}

inline OpCases gather_elements_cases(Philox& rng) {
  return joined(moved_by(rng, {3, 4}, {random_integers(rng, {2, 4}, DType::i64, -3, 2)}, {{}}),
                moved_by(rng, {3, 4}, {random_integers(rng, {3, 7}, DType::i32, 0, 3)}, {{{"axis", int64_t{-1}}}}));
}

inline OpCases gather_nd_cases(Philox& rng) {
  return joined(
      moved_by(rng, {3, 3, 4}, {random_integers(rng, {5, 2}, DType::i64, -3, 2)}, {{}}),
      moved_by(rng, {2, 3, 4}, {random_integers(rng, {2, 2, 1}, DType::i32, 0, 2)}, {{{"batch_dims", int64_t{1}}}}));
}

// Data, indices and updates, with each reduction.
inline OpCases scatter_cases(Philox& rng, const Sizes64& shape, const Tensor& indices, const Sizes64& updates,
                             const Attributes& attributes) {
  OpCases cases;
  for (const char* reduction : {"none", "add", "mul", "min", "max"})
    for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8}) {
      Attributes each = attributes;
      each.set("reduction", std::string(reduction));
      cases.push_back(
          {{random_integers(rng, shape, dtype, 0, 9), indices, random_integers(rng, updates, dtype, 0, 9)}, each});
    }
  return cases;
}

// Rows around the length of a vector, and sums that are rounded.
inline OpCases scatter_row_cases(Philox& rng) {
  OpCases cases;
  const Tensor tuples = random_integers(rng, {9, 1}, DType::i64, -3, 2);
  for (const char* reduction : {"add", "mul", "min", "max"})
    for (DType dtype : {DType::f32, DType::f64, DType::f16}) {
      const Attributes attributes{{"reduction", std::string(reduction)}};
      cases.push_back({{random_floats(rng, {3, 37}, dtype), tuples, random_floats(rng, {9, 37}, dtype)}, attributes});
    }
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = Tensor::of<float>({4}, {kNaN, 1, -0.0f, 0.0f}), places = Tensor::of<int64_t>({4, 1}, {0, 1, 2, 3});
  for (const char* reduction : {"min", "max"})
    cases.push_back(
        {{odd, places, Tensor::of<float>({4}, {2, kNaN, 0.0f, -0.0f})}, {{"reduction", std::string(reduction)}}});
  return cases;
}

inline OpCases non_zero_cases(Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::boolean})
    cases.push_back({{random_integers(rng, {3, 4}, dtype, 0, 1)}, {}});
  return cases;
}

inline OpCases unique_cases(Philox& rng) {
  OpCases cases;
  for (const Attributes& attributes : {Attributes{}, {{"sorted", int64_t{0}}}, {{"axis", int64_t{0}}}})
    for (DType dtype : {DType::f32, DType::i64, DType::boolean})
      cases.push_back({{random_integers(rng, {5, 2}, dtype, 0, 1)}, attributes});
  return cases;
}

// Equal elements, and orders of NaN, infinities and both zeros.
inline OpCases top_k_cases(Philox& rng) {
  OpCases cases =
      joined(moved(rng, {3, 7}, {{{"k", Shape{3}}}, {{"k", Shape{1}}, {"axis", int64_t{0}}, {"largest", int64_t{0}}}}),
             moved_by(rng, {3, 7}, {integer_vector({2})}, {{}}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = Tensor::of<float>({9}, {0.0f, kNaN, -0.0f, -kInfinity, 1e-42f, -kNaN, kInfinity, -1e-42f, 0.0f});
  for (int64_t largest : {0, 1}) {
    const auto of = [&](int64_t k, int64_t axis) {
      return Attributes{{"k", Shape{k}}, {"axis", axis}, {"largest", largest}};
    };
    for (DType dtype : {DType::f16, DType::bf16})
      for (int64_t k : {0, 1, 9}) cases.push_back({{odd.converted(dtype)}, of(k, 0)});
    for (DType dtype : {DType::f16, DType::u8, DType::i16, DType::u16, DType::u32, DType::i64, DType::u64})
      cases.push_back({{random_integers(rng, {2, 100, 3}, dtype, 0, 40)}, of(31, 1)});
    cases.push_back({{random_integers(rng, {5, 17}, DType::boolean, 0, 1)}, of(17, 1)});
    cases.push_back({{random_floats(rng, {2, 30, 3})}, of(11, 1)});
  }
  return cases;
}

inline OpCases reverse_sequence_cases(Philox& rng) {
  const Attributes batch_first = {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}};
  return joined(moved_by(rng, {4, 3, 2}, {integer_vector({1, 4, 2})}, {{}}),
                moved_by(rng, {3, 4}, {integer_vector({1, 4, 2})}, {batch_first}));
}

inline OpCases squeeze_cases(Philox& rng) {
  return joined(moved(rng, {1, 3, 1}, {{}, {{"axes", Integers{-1}}}}),
                moved_by(rng, {1, 3, 1}, {integer_vector({0})}, {{}}));
}

inline OpCases unsqueeze_cases(Philox& rng) {
  return joined(moved(rng, {2, 3}, {{{"axes", Integers{0, -1}}}, {{"axes", Integers{1}}}}),
                moved_by(rng, {2, 3}, {integer_vector({-1})}, {{}}));
}

// Empty for an op that is none of these.
inline OpCases move_cases(std::string_view name, Philox& rng) {
  const Tensor rows = random_integers(rng, {2, 4}, DType::i64, -3, 2),
               tuples = random_integers(rng, {5, 1}, DType::i64, 0, 2);
  if (name == "reshape") return reshape_cases(rng);
  if (name == "squeeze") return squeeze_cases(rng);
  if (name == "unsqueeze") return unsqueeze_cases(rng);
  if (name == "expand") return expand_cases(rng);
  if (name == "strided_slice") return strided_slice_cases(rng);
  if (name == "split") return split_cases(rng);
  if (name == "pad") return pad_cases(rng);
  if (name == "tile") return tile_cases(rng);
  if (name == "range") return range_cases();
  if (name == "gather_elements") return gather_elements_cases(rng);
  if (name == "gather_nd") return gather_nd_cases(rng);
  if (name == "scatter_elements") return scatter_cases(rng, {3, 4}, rows, {2, 4}, {{"axis", int64_t{0}}});
  if (name == "scatter_nd") return joined(scatter_cases(rng, {3, 4}, tuples, {5, 4}, {}), scatter_row_cases(rng));
  if (name == "non_zero") return non_zero_cases(rng);
  if (name == "unique") return unique_cases(rng);
  if (name == "top_k") return top_k_cases(rng);
  if (name == "reverse_sequence") return reverse_sequence_cases(rng);
  return {};
}

}  // namespace hone
