// Graphs that tests of quantization work on.
#pragma once

#include <string>
#include <vector>

#include "base/philox.h"
#include "passes/compress/quantize.h"
#include "tests/passes/parse_ops.h"

namespace hone::test {

// A table, a norm, and two layers of which the first has a bias.
inline Graph two_layers() {
  return parse(R"(
    %ids : i64[B,S] = input
    %table : f32[5,4] = const "emb.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
    %x = gather %table, %ids
    %g : f32[4] = const "ln.weight" {1, 2, 3, 4}
    %h : f32[4] = const "ln.bias" {0.1, 0.2, 0.3, 0.4}
    %n = layer_norm %x, %g, %h
    %w0 : f32[2,4] = const "layer.0.dense.weight" {1, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41}
    %b0 : f32[2] = const "layer.0.dense.bias" {0.1, 0.7}
    %a = linear %n, %w0, %b0
    %w1 : f32[3,2] = const "layer.1.dense.weight" {0.13, -0.4, 0.3, 0.7, 0.11, 0.21}
    %y = linear %a, %w1
    return %y)");
}

// A dense window of 4 * 9 weights a row, a depthwise one of 9, and weights that more than a conv reads.
inline Graph convolutions() {
  Graph g;
  Philox rng(3);
  const auto weights = [&](const char* label, std::vector<int64_t> shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& v : values) v = rng.normal();
    return g.add_constant(label, Tensor::of<float>(std::move(shape), values));
  };
  const Attributes same{{"auto_pad", "same_upper"}};
  ValueId x = g.add_input("x", parse_type("f32[1,4,5,6]"));
  x = g.emit(ops::get("conv"), {x, weights("dense", {4, 4, 3, 3})}, same);
  Attributes depthwise = same;
  depthwise.set("groups", int64_t{4});
  x = g.emit(ops::get("conv"), {x, weights("depthwise", {4, 1, 3, 3})}, depthwise);
  const ValueId shared = weights("shared", {4, 4, 1, 1});
  g.add_output(g.emit(ops::get("conv"), {x, shared}), "y");
  g.add_output(g.emit(ops::get("relu"), {shared}), "z");
  return g;
}

inline FormatRules with_rules(std::vector<std::string> rules) {
  FormatRules options;
  options.rule = std::move(rules);
  return options;
}

}  // namespace hone::test
