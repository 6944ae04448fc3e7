// Samples of ops that train: gradients, and forward ops that only training has.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

inline OpCases conv_input_gradient_cases(Philox& rng) {
  const Tensor d = random_floats(rng, {2, 6, 7, 9});
  return {
      {{d, random_floats(rng, {6, 4, 3, 3})}, {{"pads", Integers{1, 1, 1, 1}}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 6, 4, 5}), random_floats(rng, {6, 4, 1, 1})},
       {{"strides", Integers{2, 2}}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 6, 4, 5}), random_floats(rng, {6, 4, 1, 1})},
       {{"strides", Integers{2, 2}}, {"sizes", Shape{8, 10}}}},
      {{random_floats(rng, {2, 6, 4, 3}), random_floats(rng, {6, 4, 3, 2})},
       {{"strides", Integers{2, 3}}, {"auto_pad", "same_lower"}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 6, 7, 9}), random_floats(rng, {6, 2, 3, 2})},
       {{"groups", int64_t{2}}, {"pads", Integers{0, 1, 2, 0}}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 4, 3, 3}), random_floats(rng, {4, 1, 3, 3})},
       {{"groups", int64_t{4}}, {"dilations", Integers{2, 3}}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 4, 4, 5}), random_floats(rng, {4, 1, 3, 3})},
       {{"groups", int64_t{4}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}, {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {1, 3, 3, 3}, DType::bf16), random_packed(rng, {3, 32, 3, 3}, "int8.channel")},
       {{"sizes", Shape{5, 5}}}},
      {{random_floats(rng, {2, 5, 12}), random_floats(rng, {5, 3, 3})},
       {{"pads", Integers{1, 2}}, {"sizes", Shape{11}}}},
      {{random_floats(rng, {1, 3, 3, 3, 5}, DType::f64), random_floats(rng, {3, 2, 2, 3, 2})},
       {{"sizes", Shape{4, 5, 6}}}},
      {{random_floats(rng, {2, 3, 9, 6}), random_floats(rng, {6, 36})},
       {{"channels_last", int64_t{1}},
        {"kernel_shape", Integers{3, 3}},
        {"strides", Integers{2, 1}},
        {"pads", Integers{0, 1, 0, 1}},
        {"sizes", Shape{7, 9}}}},
      {{random_floats(rng, {2, 7, 9, 4}), random_floats(rng, {4, 1, 3, 3})},
       {{"channels_last", int64_t{1}}, {"groups", int64_t{4}}, {"pads", Integers{1, 1, 1, 1}}, {"sizes", Shape{7, 9}}}},
  };
}

inline OpCases conv_weight_gradient_cases(Philox& rng) {
  const Tensor image = random_floats(rng, {2, 4, 7, 9}), last = random_floats(rng, {2, 7, 9, 4});
  const Integers three{3, 3};
  return {
      {{random_floats(rng, {2, 6, 7, 9}), image}, {{"kernel_shape", three}, {"pads", Integers{1, 1, 1, 1}}}},
      {{random_floats(rng, {2, 6, 4, 5}), image}, {{"kernel_shape", Integers{1, 1}}, {"strides", Integers{2, 2}}}},
      {{random_floats(rng, {2, 6, 4, 3}), image},
       {{"kernel_shape", Integers{3, 2}}, {"strides", Integers{2, 3}}, {"auto_pad", "same_lower"}}},
      {{random_floats(rng, {2, 6, 7, 9}), image},
       {{"kernel_shape", Integers{3, 2}}, {"groups", int64_t{2}}, {"pads", Integers{0, 1, 2, 0}}}},
      {{random_floats(rng, {2, 4, 3, 3}), image},
       {{"kernel_shape", three}, {"groups", int64_t{4}}, {"dilations", Integers{2, 3}}}},
      {{random_floats(rng, {1, 3, 3, 3}, DType::bf16), random_floats(rng, {1, 32, 5, 5}, DType::bf16)},
       {{"kernel_shape", three}}},
      {{random_floats(rng, {2, 5, 12}), random_floats(rng, {2, 3, 11})},
       {{"kernel_shape", Integers{3}}, {"pads", Integers{1, 2}}}},
      {{random_floats(rng, {1, 3, 3, 3, 5}), random_floats(rng, {1, 2, 4, 5, 6}, DType::f64)},
       {{"kernel_shape", Integers{2, 3, 2}}}},
      {{random_floats(rng, {2, 3, 7, 6}), last},
       {{"channels_last", int64_t{1}}, {"kernel_shape", three}, {"strides", Integers{2, 1}}, {"matrix", int64_t{1}}}},
      {{random_floats(rng, {2, 7, 9, 4}), last},
       {{"channels_last", int64_t{1}},
        {"kernel_shape", three},
        {"groups", int64_t{4}},
        {"pads", Integers{1, 1, 1, 1}}}},
      {{random_floats(rng, {2, 7, 9, 4}), last},
       {{"channels_last", int64_t{1}},
        {"kernel_shape", Integers{3, 2}},
        {"groups", int64_t{2}},
        {"auto_pad", "same_upper"},
        {"matrix", int64_t{1}}}},
  };
}

// Of max_pool and avg_pool, whose gradients take x, or its sizes.
inline OpCases pool_gradient_cases(bool largest, Philox& rng) {
  OpCases cases;
  const auto add = [&](const Sizes64& x, const Sizes64& d, Attributes window, DType dtype = DType::f32) {
    const bool last = window.has("channels_last");
    OpCase one{{}, std::move(window)};
    if (largest) one.operands.emplace_back(random_floats(rng, x, dtype));
    else one.attributes.set("sizes", to_shape({x.begin() + (last ? 1 : 2), x.end() - (last ? 1 : 0)}));
    one.operands.emplace_back(random_floats(rng, d, dtype));
    cases.push_back(std::move(one));
  };
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Sizes64 x{2, 3, 7, 9};
    add(x, {2, 3, 3, 4}, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}}, dtype);
    add(x, {2, 3, 7, 8},
        {{"kernel_shape", Integers{3, 2}}, {"pads", Integers{1, 1, 1, 0}}, {"dilations", Integers{1, 2}}}, dtype);
    add(x, {2, 3, 3, 5}, {{"kernel_shape", Integers{3, 2}}, {"strides", Integers{2, 2}}, {"ceil_mode", int64_t{1}}},
        dtype);
    add(x, {2, 3, 4, 3}, {{"kernel_shape", Integers{3, 2}}, {"strides", Integers{2, 3}}, {"auto_pad", "same_upper"}},
        dtype);
    add(x, {2, 3, 4, 5},
        {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}, dtype);
  }
  add({2, 3, 8}, {2, 3, 6}, {{"kernel_shape", Integers{3}}});
  add({2, 7, 9, 3}, {2, 6, 9, 3},
      {{"channels_last", int64_t{1}}, {"kernel_shape", Integers{3, 2}}, {"pads", Integers{1, 0, 0, 1}}});
  add({1, 2, 4, 5, 3}, {1, 2, 3, 3, 2}, {{"kernel_shape", Integers{2, 3, 2}}}, DType::f64);
  if (!largest)
    add({2, 3, 7, 9}, {2, 3, 7, 9},
        {{"kernel_shape", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}, {"count_include_pad", int64_t{1}}});
  return cases;
}

inline OpCases batch_norm_train_cases(Philox& rng) {
  OpCases cases;
  const auto add = [&](const Sizes64& x, int64_t channels, DType dtype, const Attributes& attributes) {
    OpCase one{{random_floats(rng, x, dtype)}, attributes};
    for (int i = 0; i < 3; ++i) one.operands.emplace_back(random_floats(rng, {channels}));
    one.operands.emplace_back(random_floats(rng, {channels}, DType::f32, 0.1f, 2));
    cases.push_back(std::move(one));
  };
  add({5, 3}, 3, DType::f32, {});
  add({2, 19, 5, 7}, 19, DType::f32, {{"epsilon", 1e-3}, {"momentum", 0.25}});
  add({3, 2, 6}, 2, DType::bf16, {});
  add({2, 5, 7, 19}, 19, DType::f32, {{"channels_last", int64_t{1}}});
  add({1, 2, 2, 3, 2}, 2, DType::f64, {{"momentum", 0.5}});
  add({1, 4}, 4, DType::f32, {});
  add({1, 3, 1, 1}, 3, DType::f32, {{"momentum", 0.5}});
  return cases;
}

inline OpCases batch_norm_gradient_cases(Philox& rng) {
  OpCases cases;
  const auto add = [&](const Sizes64& x, int64_t channels, DType dtype, const Attributes& attributes) {
    OpCase one{{random_floats(rng, x), random_floats(rng, x, dtype)}, attributes};
    for (int i = 0; i < 2; ++i) one.operands.emplace_back(random_floats(rng, {channels}));
    one.operands.emplace_back(random_floats(rng, {channels}, DType::f32, 0.5f, 2));
    cases.push_back(std::move(one));
  };
  add({5, 3}, 3, DType::f32, {});
  add({2, 19, 5, 7}, 19, DType::f32, {});
  add({3, 2, 6}, 2, DType::bf16, {});
  add({2, 5, 7, 19}, 19, DType::f32, {{"channels_last", int64_t{1}}});
  add({1, 2, 2, 3, 2}, 2, DType::f64, {});
  return cases;
}

inline OpCases attention_gradient_cases(Philox& rng) {
  OpCases cases = attention_cases(rng);
  std::erase_if(cases, [](const OpCase& one) { return one.operands.size() > 4; });       // sinks have no gradient
  std::erase_if(cases, [](const OpCase& one) { return one.operands[1]->dim(1) == 1; });  // a single weight is 1
  for (OpCase& one : cases) {
    const int64_t kv_heads = one.attributes.get_or<int64_t>("kv_heads", one.attributes.get<int64_t>("heads"));
    const int64_t columns = one.operands[2]->dim(2) / kv_heads * one.attributes.get<int64_t>("heads");
    one.operands.insert(one.operands.begin() + 3,
                        random_floats(rng, {one.operands[0]->dim(0), one.operands[0]->dim(1), columns}));
  }
  return cases;
}

inline OpCases dropout_train_cases(Philox& rng) {
  OpCases cases;
  const Tensor seed = Tensor::scalar<int64_t>(0x123456789abcdef), step = Tensor::scalar<int64_t>(41);
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (double rate : {0.0, 0.1, 0.5})
      cases.push_back({{random_floats(rng, {2, 3, 17}, dtype), seed, step, Tensor::of<int64_t>({2, 1, 1}, {7, 8}),
                        random_integers(rng, {3, 17}, DType::i64, 0, int64_t{1} << 31)},
                       {{"rate", rate}}});
  return cases;
}

inline OpCases fake_quant_gradient_cases(Philox& rng) {
  OpCases cases;
  for (const char* format : {"int8.f6", "mxint8", "fp8_e4m3", "int4.g32"})
    for (DType dtype : {DType::f32, DType::bf16})
      cases.push_back(
          {{random_floats(rng, {3, 33}, dtype), random_floats(rng, {3, 33})}, {{"format", parse_format(format)}}});
  return cases;
}

// With what is learned for each row: scales around those of such values, and log2 of powers of two.
inline OpCases scaled_cases(Philox& rng, bool gradient) {
  OpCases cases;
  for (const char* name : {"int4.channel", "mxint4", "uint4.channel.asym", "int8.f4", "fp8_e4m3.channel"})
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Format format = parse_format(name);
      const bool is_log2 = std::string_view(name) == "mxint4", has_zero = std::string_view(name).ends_with("asym");
      OpCase one{{random_floats(rng, {3, 33}, dtype),
                  random_floats(rng, {3, 1}, DType::f32, is_log2 ? -4.0f : 0.02f, is_log2 ? 0.0f : 0.2f)},
                 {{"format", format}}};
      if (gradient) one.operands.emplace_back(random_floats(rng, {3, 33}));
      if (has_zero) one.operands.emplace_back(random_floats(rng, {3, 1}, DType::f32, 0, 15));
      if (!gradient) {
        cases.push_back(one);
        continue;
      }
      for (const char* by : {"x", "scale", "zero_point"}) {
        if (!has_zero && std::string_view(by) == "zero_point") continue;
        one.attributes.set("by", std::string(by));
        cases.push_back(one);
      }
    }
  return cases;
}

// Empty for an op that is none of these.
inline OpCases gradient_cases(std::string_view name, Philox& rng) {
  if (name == "conv_input_gradient") return conv_input_gradient_cases(rng);
  if (name == "conv_weight_gradient") return conv_weight_gradient_cases(rng);
  if (name == "max_pool_gradient" || name == "avg_pool_gradient")
    return pool_gradient_cases(name == "max_pool_gradient", rng);
  if (name == "batch_norm_train") return batch_norm_train_cases(rng);
  if (name == "batch_norm_gradient") return batch_norm_gradient_cases(rng);
  if (name == "attention_gradient") return attention_gradient_cases(rng);
  if (name == "dropout_train") return dropout_train_cases(rng);
  if (name == "round_scaled") return scaled_cases(rng, false);
  if (name == "round_scaled_gradient") return scaled_cases(rng, true);
  if (name == "fake_quant_gradient") return fake_quant_gradient_cases(rng);
  return {};
}

}  // namespace hone
