#include "jobs/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "io/artefact.h"
#include "io/sparse_storage.h"
#include "ir/bodies.h"
#include "ir/flops.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};

Table ports_table(const Graph& graph) {
  Table table{.key = "ports",
              .title = "Inputs and outputs",
              .columns = {{"name", "name"}, {"direction", "direction"}, {"type", "type"}},
              .rows = {}};
  for (ValueId v : graph.inputs())
    table.rows.push_back({graph.value(v).label, std::string(to_string(graph.value(v).role)), to_string(graph.type(v))});
  for (const Output& o : graph.outputs())
    table.rows.push_back({o.label, o.updates == kNone ? "output" : "update", to_string(graph.type(o.value))});
  return table;
}

Table formats_table(const Graph& graph) {
  struct Sum {
    int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId v : each.constants()) {
      const Tensor& tensor = *each.constant(v);
      Sum& sum = sums[tensor.is_packed() ? to_string(*tensor.format()) : std::string(to_string(tensor.dtype()))];
      ++sum.tensors, sum.elements += tensor.elements(), sum.bytes += tensor.bytes();
    }
  });
  Table table{.key = "formats",
              .title = "Constants by format",
              .columns = {{"format", "format"},
                          {"tensors", "tensors", "", kCount},
                          {"elements", "elements", "", kCount},
                          {"bytes", "bytes", "", kBytes},
                          {"bits", "bits per element", "", {NumberFormat::fixed, 3}}},
              .rows = {}};
  for (const auto& [name, s] : sums)
    table.rows.push_back(
        {name, number(static_cast<double>(s.tensors)), number(static_cast<double>(s.elements)),
         number(static_cast<double>(s.bytes)),
         number(s.elements ? 8.0 * static_cast<double>(s.bytes) / static_cast<double>(s.elements) : 0)});
  return table;
}

// Arithmetic at the given sizes, or why there is none: sizes that nobody chose may not fit the model.
struct Arithmetic {
  std::vector<std::pair<std::string, double>> by_op;
  double total = 0;
  std::string unknown;
};

Arithmetic arithmetic(const Graph& graph, const Bindings& bindings, bool guessed) {
  try {
    Arithmetic known{.by_op = flops_by_op(graph, bindings)};
    for (const auto& [name, flops] : known.by_op) known.total += flops;
    return known;
  } catch (const Error& error) {
    if (!guessed) throw;
    Arithmetic none{.unknown = error.what()};
    std::map<std::string, double> names;
    for (NodeId n : graph.nodes()) names[graph.node(n).op->name];
    none.by_op.assign(names.begin(), names.end());
    return none;
  }
}

Table ops_table(const Graph& graph, const Arithmetic& arithmetic) {
  std::map<std::string, int64_t> counts;
  for (NodeId n : graph.nodes()) ++counts[graph.node(n).op->name];
  const double total = arithmetic.total;
  Table table{.key = "ops",
              .title = "Ops",
              .columns = {{"op", "op"},
                          {"nodes", "nodes", "", kCount},
                          {"mflop", "MFLOP", "", {NumberFormat::significant, 4}},
                          {"share", "share of FLOP", "", {NumberFormat::percent, 1}}},
              .rows = {}};
  for (const auto& [name, f] : arithmetic.by_op)
    table.rows.push_back({name, number(static_cast<double>(counts[name])),
                          arithmetic.unknown.empty() ? number(f * 1e-6) : Cell(),
                          total > 0                    ? number(f / total)
                          : arithmetic.unknown.empty() ? number(0)
                                                       : Cell()});
  return table;
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

// How an artefact has its constants (io/artefact.h).
std::string stored_text(const Graph& graph) {
  const auto store = graph.metadata.find(kStoreKey);
  if (store == graph.metadata.end() || store->second != kSparse) return "whole";
  int64_t sparse = 0, before = 0, after = 0;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId id : each.constants()) {
      const int64_t bytes = each.constant(id)->bytes(), stored = sparse_bytes(*each.constant(id));
      before += bytes, after += stored, sparse += stored < bytes;
    }
  });
  return fmt::format("{} tensors as a bitmap and values: {} instead of {}", sparse,
                     human_bytes(static_cast<double>(after)), human_bytes(static_cast<double>(before)));
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

Record info(const LoadedModel& model, const ShapeOptions& shapes) {
  const Graph& graph = model.graph;
  const Bindings bindings = bind_symbols(graph, shapes);
  const Sizes total = sizes(graph);
  const int64_t parameters = total.parameters + codes_beyond_scales(graph);
  const bool guessed = !bindings.empty() && shapes.dims.empty() && !shapes.sequence;
  const Arithmetic work = arithmetic(graph, bindings, guessed);
  std::string at;
  for (const auto& [symbol, size] : bindings) at += fmt::format("{}{}={}", at.empty() ? "" : ", ", symbol, size);
  KeyValues summary{
      .key = "summary",
      .title = model.path,
      .items = {
          {"parameters", "parameters", number(static_cast<double>(parameters)), "", kCount},
          {"weight_bytes", "weights in memory", number(static_cast<double>(total.weight_bytes)), "", kBytes},
          {"file_bytes", "weights in files", number(static_cast<double>(model.file_bytes)), "", kBytes},
          {"average_bits",
           "average bits per parameter",
           number(parameters ? 8.0 * static_cast<double>(total.weight_bytes) / static_cast<double>(parameters) : 0),
           "",
           {NumberFormat::fixed, 2}},
          {"store", "weights are stored", stored_text(graph)},
          {"compute", "compute", std::string(to_string(stored_compute(graph)))},
          {"nodes", "nodes", number(static_cast<double>(graph.nodes().size())), "", kCount},
          {"mflop",
           at.empty() ? "MFLOP of one run" : fmt::format("MFLOP of one run at {}", at),
           work.unknown.empty() ? number(work.total * 1e-6) : Cell(),
           "",
           {NumberFormat::significant, 5}}}};
  Record record{.title = model.name,
                .command = "",
                .findings = {},
                .sections = {{"Model", {summary, ports_table(graph), formats_table(graph), ops_table(graph, work)}}},
                .machine = {},
                .manifest = {}};
  if (!work.unknown.empty())
    record.sections[0].blocks.push_back(Text{fmt::format(
        "No arithmetic is counted: the guessed {} do not fit: {}. Give sizes with --batch, --seq or --dim NAME=SIZE.",
        at, work.unknown)});
  if (!model.unused.empty())
    record.sections[0].blocks.push_back(Text{fmt::format("Not used by the graph: {}", fmt::join(model.unused, ", "))});
  return record;
}

}  // namespace hone
