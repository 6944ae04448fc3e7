#include "bench/code_subjects.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/unbacked.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/activations.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/registry.h"
#include "runtime/cut_graph.h"
#include "tests/support/op_calls.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

Tensor weights_of(std::vector<int64_t> shape) {
  Philox rng(1);
  return random_floats(rng, std::move(shape));
}

// A linear layer of `rows` rows and a table that is read, of weights in `format`. Rows: 0 for an open number of them.
Subject packed_layers(const std::string& format, Compute compute, int64_t rows, const Pipeline& pipeline) {
  Graph graph;
  const Format parsed = parse_format(format);
  const Dim m = rows > 0 ? Dim(rows) : Dim::symbol("M");
  const ValueId x = graph.add_input("x", {DType::f32, Shape{m, Dim(320)}});
  const ValueId ids = graph.add_input("ids", {DType::i64, Shape{m}});
  const ValueId w = graph.add_constant("w", pack(parsed, weights_of({192, 320})));
  const ValueId y = ops::linear(graph, {.x = x, .w = w});
  graph.add_output(ops::gelu(graph, {y}), "y");
  graph.add_output(ops::gather(graph, {.table = w, .indices = ids}), "rows");
  const std::string name =
      fmt::format("layers {} {} {}", format, to_string(compute), rows > 0 ? std::to_string(rows) : "M");
  return {name, prepare_for_codegen(std::move(graph), compute, {}, pipeline),
          rows > 0 ? Bindings{} : Bindings{{"M", 24}}};
}

Subject network(const std::string& model, Compute compute, int64_t batch, const Pipeline& pipeline) {
  const Json config = preset_config(model);
  Graph graph =
      model_for(config, model)
          .build({.config = config, .source = model, .inputs = {}, .pooling = {}, .weights = random_weights(1)});
  std::vector<std::string> symbols;
  for (ValueId input : graph.arguments())
    for (const Dim& dim : graph.type(input).shape) dim.collect_symbols(symbols);
  Bindings sizes;
  for (const std::string& symbol : symbols) sizes[symbol] = batch;
  return {fmt::format("{} {} {}", model, to_string(compute), batch),
          prepare_for_codegen(std::move(graph), compute, {}, pipeline), std::move(sizes)};
}

// What has sizes that are known without data, as a session prepares it before it knows the others.
Graph before_data(Graph graph) {
  const auto waits = [&](ValueId v) { return depends_on_data(graph.type(v).shape); };
  for (NodeId n : graph.nodes())
    if (std::ranges::any_of(graph.node(n).results, waits)) return specialised_parts(graph, {}).head;
  return graph;
}

Subject calls_of_op(const OpDef& op, Compute compute, const Pipeline& pipeline) {
  return {fmt::format("{} {}", op.name, to_string(compute)),
          before_data(prepare_for_codegen(calls_of(op).graph, compute, {}, pipeline)),
          {}};
}

}  // namespace

std::vector<MakeSubject> subjects(const Pipeline& pipeline) {
  std::vector<MakeSubject> all;
  for (const Compute compute : {Compute::f32, Compute::bf16}) {
    for (const OpDef* op : ops::all()) all.push_back([=, &pipeline] { return calls_of_op(*op, compute, pipeline); });
    for (const std::string& format : test::packed_examples())
      for (const int64_t rows : {1, 16, 64, 0})
        all.push_back([=, &pipeline] { return packed_layers(format, compute, rows, pipeline); });
    for (const char* model : {"mlp", "convnet", "resnet18", "mobilenet_v3_small"})
      for (const int64_t batch : {1, 3})
        all.push_back([=, &pipeline] { return network(model, compute, batch, pipeline); });
  }
  return all;
}

}  // namespace hone
