#include "jobs/info.h"

#include <algorithm>
#include <map>
#include <set>

#include "importers/gguf_decoder.h"
#include "io/artefact.h"
#include "io/sparse_storage.h"
#include "ir/bodies.h"
#include "ir/flops.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

std::vector<PortInfo> ports_of(const Graph& graph) {
  std::vector<PortInfo> ports;
  for (ValueId v : graph.inputs())
    ports.push_back({graph.value(v).label, std::string(to_string(graph.value(v).role)), to_string(graph.type(v))});
  for (const Output& o : graph.outputs())
    ports.push_back({o.label, o.updates == kNone ? "output" : "update", to_string(graph.type(o.value))});
  return ports;
}

std::vector<FormatInfo> formats_of(const Graph& graph) {
  std::map<std::string, FormatInfo> sums;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId v : each.constants()) {
      const Tensor& tensor = *each.constant(v);
      const std::string format =
          tensor.is_packed() ? to_string(*tensor.format()) : std::string(to_string(tensor.dtype()));
      FormatInfo& sum = sums[format];
      sum.format = format;
      ++sum.tensors, sum.elements += tensor.elements(), sum.bytes += tensor.bytes();
    }
  });
  std::vector<FormatInfo> formats;
  for (auto& [name, sum] : sums) formats.push_back(std::move(sum));
  return formats;
}

// With FLOP where the sizes fit; those that nobody chose may not, and then `result` says so.
void count_ops(const Graph& graph, bool guessed, InfoResult& result) {
  std::map<std::string, int64_t> nodes;
  for (NodeId n : graph.nodes()) ++nodes[graph.node(n).op->name];
  try {
    const auto by_op = flops_by_op(graph, result.sizes);
    result.flops = 0;
    for (const auto& [name, flops] : by_op) {
      *result.flops += flops;
      result.ops.push_back({name, nodes[name], flops});
    }
  } catch (const Error& error) {
    if (!guessed) throw;
    result.flops.reset();
    result.misfit = error.what();
    for (const auto& [name, count] : nodes) result.ops.push_back({name, count, std::nullopt});
  }
}

// The constant that a value is, perhaps in another shape; kNone for others.
ValueId constant_behind(const Graph& graph, ValueId id) {
  const OpDef* producer = graph.producer_op(id);
  if (producer && producer == &reshape_def) id = graph.operand(graph.producer(id), 0);
  return graph.constant(id) ? id : kNone;
}

// Codes that stay apart from their scales, as biases do, are parameters; their scales and zero points are not. How many
// more of the first there are than of those of the second that sizes() counts.
int64_t codes_beyond_scales(const Graph& graph) {
  int64_t count = 0;
  std::set<ValueId> seen;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (const Graph& body : node.subgraphs) count += codes_beyond_scales(body);
    if (node.op != &dequantize_linear_def) continue;
    if (constant_behind(graph, node.operands[0]) == kNone) continue;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId constant = node.operands[i] == kNone ? kNone : constant_behind(graph, node.operands[i]);
      if (constant == kNone || !seen.insert(constant).second) continue;
      const Tensor& tensor = *graph.constant(constant);
      const bool is_literal = graph.value(constant).label.empty() && tensor.shape().empty();
      const bool is_counted = !is_literal && (tensor.is_packed() || is_float(tensor.dtype()));
      count += (i == 0 ? tensor.elements() : 0) - (is_counted ? tensor.elements() : 0);
    }
  }
  return count;
}

std::optional<SparseInfo> sparse_of(const Graph& graph) {
  const auto store = graph.metadata.find(kStoreKey);
  if (store == graph.metadata.end() || store->second != kSparse) return std::nullopt;
  SparseInfo sparse;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId id : each.constants()) {
      const int64_t bytes = each.constant(id)->bytes(), stored = sparse_bytes(*each.constant(id));
      sparse.whole += bytes, sparse.stored += stored, sparse.tensors += stored < bytes;
    }
  });
  return sparse;
}

}  // namespace

std::vector<std::pair<std::string, double>> flops_by_op(const Graph& graph, const Bindings& bindings) {
  const Graph shaped = specialise(graph, bindings);
  std::map<std::string, double> sums;
  for (NodeId n : shaped.nodes()) sums[shaped.node(n).op->name] += node_flops(shaped, n);
  std::vector<std::pair<std::string, double>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

InfoResult info(const Model& model, const ShapeOptions& shapes) {
  const Graph& graph = model.graph;
  const Sizes total = sizes(graph);
  InfoResult result{.path = model.path,
                    .name = model.name,
                    .parameters = total.parameters + codes_beyond_scales(graph),
                    .weight_bytes = total.weight_bytes,
                    .file_bytes = model.file_bytes,
                    .nodes = std::ssize(graph.nodes()),
                    .sparse = sparse_of(graph),
                    .compute = stored_compute(graph),
                    .sizes = bind_symbols(graph, shapes),
                    .ports = ports_of(graph),
                    .formats = formats_of(graph),
                    .unused = model.unused};
  if (const auto widened = graph.metadata.find(kWidened); widened != graph.metadata.end())
    result.widened = widened->second;
  count_ops(graph, !result.sizes.empty() && shapes.dims.empty() && !shapes.sequence, result);
  return result;
}

}  // namespace hone
