#include <set>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace hone {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.value_capacity(), false) {}

  void run() {
    for (ValueId id : graph_.inputs()) {
      define(id, ValueKind::input, "input");
      const Value& value = graph_.value(id);
      const bool begins = value.initial.has_value();
      if (value.role == InputRole::parameter ? !begins : value.role == InputRole::argument && begins)
        broken(fmt::format("{} %{} {} contents", to_string(value.role), value.name, begins ? "has" : "has no"));
      if (begins && !fits(*value.initial, value.type)) broken("%" + value.name + " is not of its type");
    }
    for (ValueId id : graph_.constants()) {
      define(id, ValueKind::constant, "constant");
      const Value& value = graph_.value(id);
      if (!value.constant) broken("constant %" + value.name + " has no contents");
      if (value.constant->type() != value.type) broken("constant %" + value.name + " is not of its type");
    }
    for (NodeId id : graph_.nodes()) check_node(id);
    for (const Output& output : graph_.outputs()) {
      if (!is_defined(output.value)) broken("output \"" + output.label + "\" is not defined");
      if (output.updates == kNone) continue;
      if (!is_defined(output.updates) || graph_.value(output.updates).role == InputRole::argument)
        broken("\"" + output.label + "\" is updated and no parameter or state");
      if (graph_.type(output.updates) != graph_.type(output.value))
        broken("the update of %" + graph_.value(output.updates).name + " is of another type");
    }
    check_unique();
  }

 private:
  [[noreturn]] void broken(const std::string& what) const { throw Bug("graph " + graph_.name + ": " + what); }
  [[noreturn]] void broken(NodeId id, const std::string& what) const { broken(what + ": " + print_node(graph_, id)); }

  bool is_defined(ValueId id) const {
    return id >= 0 && static_cast<size_t>(id) < defined_.size() && defined_[static_cast<size_t>(id)];
  }

  void define(ValueId id, ValueKind kind, const char* what) {
    const Value& value = graph_.value(id);
    if (!value.live) broken(fmt::format("{} %{} is erased", what, value.name));
    if (value.kind != kind) broken(fmt::format("%{} is not of kind {}", value.name, what));
    if (graph_.find_value(value.name) != id) broken("%" + value.name + " is not unique");
    defined_[static_cast<size_t>(id)] = true;
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.live) broken(id, "an erased node is in the order");
    for (ValueId operand : node.operands)
      if (operand != kNone && !is_defined(operand)) {
        const bool live = graph_.value(operand).live;
        broken(id, fmt::format("operand %{} is {}", graph_.value(operand).name, live ? "defined later" : "erased"));
      }
    check_types(id);
    for (size_t i = 0; i < node.results.size(); ++i) {
      define(node.results[i], ValueKind::result, "result");
      const Value& value = graph_.value(node.results[i]);
      if (value.node != id || value.result != static_cast<int>(i)) broken(id, "a result has another producer");
    }
    for (const Graph& body : node.subgraphs) {
      if (body.arguments().size() != body.inputs().size()) broken(id, "a body has parameters or state");
      verify(body);
    }
  }

  // Sizes that a rule could not know have been given names, or are known from elsewhere.
  static bool agree(const TensorType& inferred, const TensorType& type) {
    if (!inferred.ranked || !type.ranked || !type.is_static() || !inferred.is_static())
      return may_be_same(inferred, type);
    return inferred == type;
  }

  void check_types(NodeId id) const {
    const Node& node = graph_.node(id);
    std::vector<const TensorType*> types;
    std::vector<const Tensor*> constants;
    for (ValueId operand : node.operands) {
      types.push_back(operand == kNone ? nullptr : &graph_.type(operand));
      constants.push_back(graph_.constant(operand));
    }
    std::vector<TensorType> inferred;
    try {
      inferred = infer_results(*node.op, types, constants, node.attributes, node.subgraphs);
    } catch (const Error& error) {
      broken(id, error.what());
    }
    if (inferred.size() != node.results.size()) broken(id, "wrong number of results");
    for (size_t i = 0; i < inferred.size(); ++i)
      if (!agree(inferred[i], graph_.type(node.results[i])))
        broken(id, fmt::format("result {} should be {}", i, to_string(inferred[i])));
  }

  void check_unique() const {
    std::set<std::string> inputs, outputs;
    for (ValueId id : graph_.inputs())
      if (!inputs.insert(graph_.value(id).label).second)
        broken("input \"" + graph_.value(id).label + "\" is not unique");
    for (const Output& output : graph_.outputs().first(graph_.returned()))
      if (!outputs.insert(output.label).second) broken("output \"" + output.label + "\" is not unique");
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace hone
