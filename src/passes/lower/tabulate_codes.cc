// What follows from one code of 8 bits alone is looked up.
#include <map>

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/lookup.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/rounding.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr int64_t kCodes = 256;

bool is_code(const TensorType& type) {
  return !type.is_packed() && (type.dtype == DType::i8 || type.dtype == DType::u8);
}

// What code is computed with as fast as it is looked up.
bool is_cheap(const OpDef& op) {
  for (const OpDef* cheap : {&dequantize_linear_def, &quantize_linear_def, &cast_def, &relu_def, &clip_def, &max_def,
                             &min_def, &add_def, &sub_def, &mul_def, &neg_def, &abs_def, &lookup_def})
    if (&op == cheap) return true;
  return false;
}

class Tables {
 public:
  explicit Tables(Graph& graph) : g_(graph) {}

  // Takes note of what a node's result depends on. Nodes come in their order.
  void add(NodeId id) {
    const Node& node = g_.node(id);
    if (!node.op->pointwise || node.results.size() != 1 || node.operands.empty()) return;
    Origin origin{.is_cheap = is_cheap(*node.op)};
    for (ValueId operand : node.operands) {
      if (operand == kNone || is_number(operand)) continue;
      const auto known = origins_.find(operand);
      if (known == origins_.end() && !is_code(g_.type(operand))) return;
      const ValueId codes = known == origins_.end() ? operand : known->second.codes;
      if (g_.constant(codes) || (origin.codes != kNone && origin.codes != codes)) return;
      origin.codes = codes;
      origin.is_cheap = origin.is_cheap && (known == origins_.end() || known->second.is_cheap);
    }
    const TensorType& type = g_.type(node.results[0]);
    if (origin.codes == kNone || !type.ranked || !g_.type(origin.codes).ranked ||
        type.shape != g_.type(origin.codes).shape)
      return;
    origins_.emplace(node.results[0], origin);
  }

  // A code that is worth a table of its own.
  void replace(NodeId id) {
    const ValueId result = g_.node(id).results[0];
    const auto found = origins_.find(result);
    if (found == origins_.end() || found->second.is_cheap || !is_code(g_.type(result))) return;
    const ValueId codes = found->second.codes;
    const std::vector<int64_t> table = of_all_codes(result, codes).to_integers();
    g_.set_insertion_point(id);
    replace_by_value(g_, id, ops::lookup(g_, {.x = codes, .table = table, .dtype = g_.type(result).dtype}));
    g_.set_insertion_point(kNone);
  }

 private:
  struct Origin {
    ValueId codes = kNone;
    bool is_cheap = true;
  };

  bool is_number(ValueId v) const {
    const Tensor* tensor = g_.constant(v);
    return tensor && !tensor->is_packed() && tensor->shape().empty();
  }

  // The values of v for the codes 0 to 255, as bytes.
  const Tensor& of_all_codes(ValueId v, ValueId codes) {
    const auto known = values_.find(v);
    if (known != values_.end()) return known->second;
    const auto keep = [&](Tensor value) -> const Tensor& { return values_.emplace(v, std::move(value)).first->second; };
    if (v == codes) {
      std::vector<std::byte> bytes(kCodes);
      for (int64_t i = 0; i < kCodes; ++i) bytes[static_cast<size_t>(i)] = static_cast<std::byte>(i);
      return keep(Tensor(g_.type(v).dtype, {kCodes}, Buffer::copy_of(bytes)));
    }
    const Node& node = g_.node(g_.producer(v));
    std::vector<const Tensor*> operands;
    for (ValueId operand : node.operands)
      operands.push_back(operand == kNone     ? nullptr
                         : is_number(operand) ? g_.constant(operand)
                                              : &of_all_codes(operand, codes));
    return keep(evaluate_node(*node.op, operands, node.attributes)[0]);
  }

  Graph& g_;
  std::map<ValueId, Origin> origins_;
  std::map<ValueId, Tensor> values_;  // for all codes, of what depends on one
};

Graph tabulate_codes(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  Tables tables(graph);
  for (NodeId id : nodes) tables.add(id);
  // The last ones first: what they looked at may have no other use.
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id)
    if (graph.node(*id).op == &quantize_linear_def) tables.replace(*id);
  return graph;
}

}  // namespace

extern constinit const PassDef tabulate_codes_def{
    .name = "tabulate_codes",
    .doc =
        "quantize_linear to eight bits of what depends on one code of eight bits alone, by more than sums, products "
        "and bounds, becomes a lookup in a table of the results of all 256.",
    .run = tabulate_codes};

}  // namespace hone
