// A model of a table, a conv and two linears whose weights differ in how much they matter, and data for it.
#pragma once

#include <vector>

#include "allocate/candidates.h"
#include "base/philox.h"
#include "ir/graph.h"
#include "ops/registry.h"
#include "passes/pipelines.h"
#include "runtime/session.h"

namespace hone::test {

inline Tensor normal(std::vector<int64_t> shape, Philox& rng, float scale = 1) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = scale * rng.normal();
  return Tensor::of<float>(shape, values);
}

// f32[B,64] -> f32[B,10]: two layers side by side, of which `weak` hardly reaches the output, then a last one.
inline Graph small_model() {
  Philox rng(11);
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), Dim(64)}});
  const auto constant = [&](const char* name, std::vector<int64_t> shape, float scale) {
    return graph.add_constant(name, normal(std::move(shape), rng, scale));
  };
  const ValueId strong = graph.emit(ops::get("linear"), {x, constant("strong.weight", {64, 64}, 0.125f), kNone});
  const ValueId weak = graph.emit(ops::get("linear"), {x, constant("weak.weight", {64, 64}, 0.001f), kNone});
  const ValueId sum = graph.emit(ops::get("add"), {strong, weak});
  const ValueId hidden = graph.emit(ops::get("relu"), {sum});
  graph.add_output(graph.emit(ops::get("linear"), {hidden, constant("last.weight", {10, 64}, 0.2f), kNone}), "logits");
  return canonicalise(graph);
}

inline std::vector<NamedTensors> small_batches(size_t count = 8, int64_t rows = 16) {
  Philox rng(12);
  std::vector<NamedTensors> batches;
  for (size_t i = 0; i < count; ++i) batches.push_back({{"x", normal({rows, 64}, rng)}});
  return batches;
}

inline Candidates small_candidates(const std::vector<std::string>& formats) {
  const Quantize quantize = [](const Graph& graph, const QuantizeOptions& options) {
    return run_pass(run_pass(graph, "quantize", {FormatRules(options)}), "fold_fake_quant", {});
  };
  return make_candidates(small_model(), formats, {}, quantize);
}

}  // namespace hone::test
