#include "ops/calls/attention.h"
#include "ops/calls/block_linear.h"
#include "ops/calls/cache_append.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/quantize.h"
#include "ops/elements.h"
#include "ops/head_rows.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Attention reads codes of keys and values a head at a time, beside f32.
bool attends_to_codes(const Graph& graph, const Node& node) {
  const TensorType& q = graph.type(node.operands[0]);
  const int64_t heads = node.attributes.get_or<int64_t>("kv_heads", node.attributes.get<int64_t>("heads"));
  const auto is_read = [&](size_t i) {
    const TensorType& type = graph.type(node.operands[i]);
    if (!type.is_packed()) return type.dtype == DType::f32;
    return type.rank() == 3 && type.shape[2].is_constant() &&
           head_rows(*type.format, heads, type.shape[2].constant() / heads);
  };
  return !q.is_packed() && q.dtype == DType::f32 && is_read(1) && is_read(2);
}

// Kernels read rows of these by their numbers, or all codes as they are; products a matrix whose rows are outputs.
bool reads_codes(const Graph& graph, const Node& node, size_t operand) {
  if (node.op == &dequantize_def || node.op == &cache_append_def || node.op == &block_linear_def) return true;
  if (node.op == &linear_def) return operand == 1;
  if (node.op == &attention_def) return (operand == 1 || operand == 2) && attends_to_codes(graph, node);
  if (node.op == &matmul_def)
    return operand == 1 && graph.type(node.operands[1]).rank() == 2 &&
           node.attributes.get_or<int64_t>("transpose_b", 0) == 1;
  return node.op == &gather_def && operand == 0 && node.attributes.get_or<int64_t>("axis", 0) == 0 &&
         graph.type(node.operands[0]).rank() >= 2;
}

Graph unpack_values(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId n : nodes) {
    const Node& node = graph.node(n);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId v = node.operands[i];
      const Tensor* constant = v == kNone ? nullptr : graph.constant(v);
      // What weights are multiplied with, what windows and rows are of.
      const bool is_data = i == 0 && !node.op->moves && !node.op->view && node.op != &matmul_def;
      const bool is_read_packed =
          constant && !is_data && node.op != &matmul_def && !node.op->view && !node.op->pointwise;
      if (v == kNone || !graph.type(v).is_packed() || is_read_packed || reads_codes(graph, node, i)) continue;
      graph.set_insertion_point(n);
      const ValueId decoded = constant && (node.op->pointwise || is_data) ? graph.add_constant("", plain(*constant))
                                                                          : ops::dequantize(graph, {v});
      graph.set_insertion_point(kNone);
      graph.set_operand(n, static_cast<int>(i), decoded);
    }
  }
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef unpack_values_def{.name = "unpack_values",
                                                 .doc =
                                                     "Packed values are decoded once before kernels that don't read "
                                                     "their codes; constants of pointwise ops, and those "
                                                     "that are no weights, for all runs.",
                                                 .run = unpack_values};

}  // namespace hone
