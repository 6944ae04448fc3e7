// The one intermediate representation: a typed graph in SSA form. A Graph is a value: copies are cheap, constants are
// shared.
//
// Values are inputs, constants or results of nodes. Value and node ids are small integers that stay valid until erased;
// names are for people and files (%name in text). Nodes are kept in an order in which operands precede users.
// References to values, nodes and types stay valid while more are added, until compact().
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"

namespace hone {

enum class ValueKind : uint8_t { input, constant, result };

// Who gives an input its value: the caller of each run; the session, which owns its parameters; or the context of runs,
// which keeps state from one to the next.
enum class InputRole : uint8_t { argument, parameter, state };

std::string_view to_string(InputRole role);  // input, parameter, state

struct Value {
  ValueKind kind = ValueKind::result;
  TensorType type;
  std::string name;     // unique in the graph, without %: what text and messages show
  std::string label;    // input: its name for callers; constant: the tensor's name in files ("" for anonymous ones)
  NodeId node = kNone;  // result: its producer
  int result = 0;       // result: which one
  std::optional<Tensor> constant;
  InputRole role = InputRole::argument;  // input
  std::optional<Tensor> initial;  // parameter: what it is at first; state: likewise, where it begins as something
  bool live = true;
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> operands;  // kNone where absent
  std::vector<ValueId> results;
  Attributes attributes;
  std::vector<Graph> subgraphs;  // bodies of If, Loop, Scan; captured values are trailing operands
  bool live = true;
};

// A node to be: ops/calls/ has one function for each op that makes one from named operands and attributes.
struct Call {
  const OpDef* op = nullptr;
  std::vector<ValueId> operands;  // kNone where absent
  Attributes attributes;
  std::vector<Graph> subgraphs;
};

struct Output {
  ValueId value;
  std::string label;        // name for callers; of an update "update of <input>"
  ValueId updates = kNone;  // the parameter or state that is this value after a run: nothing that callers get
};

class Graph {
 public:
  std::string name = "main";
  std::map<std::string, std::string>
      metadata;  // free text that travels with the model: family, tokenizer, compute type

  // Building. add_node infers the result types; a type or arity error is an Error naming op and operands.
  ValueId add_input(std::string label, TensorType type);
  // Inputs that callers do not give: `label` is also the tensor's name in files.
  ValueId add_parameter(std::string label, Tensor initial);
  ValueId add_state(std::string label, TensorType type, std::optional<Tensor> initial = std::nullopt);
  ValueId add_constant(std::string label, Tensor value);
  template <class T>
  ValueId add_scalar(T value) {
    return add_constant("", Tensor::scalar<T>(value));
  }
  // Sizes that the op's shape rule can't know become new symbols, _1, _2, ….
  NodeId add_node(const OpDef& op, std::vector<ValueId> operands, Attributes attributes = {},
                  std::string result_name = "", std::vector<Graph> subgraphs = {});
  NodeId add_node(Call call, std::string result_name = "");
  ValueId emit(const OpDef& op, std::vector<ValueId> operands, Attributes attributes = {},
               std::string result_name = "");  // its only result
  ValueId emit(Call call, std::string result_name = "");
  std::vector<ValueId> emit_all(Call call, std::string result_name = "");  // its results
  void add_output(ValueId value, std::string label);
  // After a run, `target` is what `value` was in it. Error unless it is a parameter or state of that very type that no
  // other value updates.
  void add_update(ValueId target, ValueId value);
  int unbacked_symbols() const { return unbacked_symbols_; }
  void number_unbacked_after(int count);    // for bodies, whose symbols must differ from those around them
  void set_insertion_point(NodeId before);  // new nodes go before it; kNone: at the end

  // Reading.
  std::span<const NodeId> nodes() const { return order_; }  // in order
  std::vector<NodeId> nodes(const OpDef& op) const;         // a copy: safe while editing
  std::vector<NodeId> nodes(std::string_view op_name) const;
  const Node& node(NodeId id) const;
  const Value& value(ValueId id) const;
  ValueId operand(NodeId id, int i) const { return node(id).operands[static_cast<size_t>(i)]; }
  ValueId result(NodeId id, int i = 0) const { return node(id).results[static_cast<size_t>(i)]; }
  const TensorType& type(ValueId id) const { return value(id).type; }
  const Tensor* constant(ValueId id) const;                     // nullptr when not a constant (or kNone)
  NodeId producer(ValueId id) const { return value(id).node; }  // kNone for inputs and constants
  const OpDef* producer_op(ValueId id) const;                   // nullptr for inputs and constants
  std::span<const ValueId> inputs() const { return inputs_; }
  std::vector<ValueId> constants() const;                       // live, in order of creation
  std::vector<ValueId> arguments() const;                       // the inputs that callers give
  std::span<const Output> outputs() const { return outputs_; }  // those that callers get, then updates
  size_t returned() const;                                      // how many callers get
  ValueId update_of(ValueId input) const;                       // kNone where it stays what it is
  struct Use {
    NodeId node;
    int operand;
  };
  std::vector<Use> uses(ValueId id) const;          // by node id
  int use_count(ValueId id) const;                  // by nodes and outputs
  std::vector<std::vector<Use>> all_uses() const;   // indexed by ValueId: one sweep for passes that look at everything
  ValueId find_value(std::string_view name) const;  // kNone when absent
  ValueId find_constant(std::string_view label) const;
  size_t value_capacity() const { return values_.size(); }  // ids are below this
  size_t node_capacity() const { return nodes_.size(); }
  std::vector<std::string> symbols() const;  // of the input shapes, in order of appearance

  // Editing.
  void replace_all_uses(ValueId old_value,
                        ValueId new_value);  // in nodes and outputs; the name stays with the old value
  void set_operand(NodeId id, int i, ValueId value);
  void set_attribute(NodeId id, const std::string& name, Attribute value);
  void set_subgraphs(NodeId id, std::vector<Graph> bodies);
  void set_constant(ValueId id, Tensor value);  // new contents (type may change, users are re-inferred by reinfer())
  void set_input_type(ValueId id, TensorType type);
  void set_initial(ValueId id, Tensor value);  // of a parameter or state: what it is at first. Error unless it fits
  void make_parameter(ValueId constant);       // of the same name and value, without which it must have a label: Error
  void make_constant(ValueId parameter);       // what it is at first; Error when the graph updates it
  void refine_type(ValueId id, const TensorType& type);  // of a result: says more than its shape rule; Error when it
                                                         // contradicts it
  void rename(ValueId id, std::string name);             // made unique by a suffix when taken
  void set_label(ValueId id, std::string label);
  void erase(NodeId id);         // Error listing the users when a result is used
  void erase_input(ValueId id);  // likewise
  void erase_unused_constants();
  void set_outputs(std::vector<Output> outputs);
  void reinfer();           // infers every type again, in order
  void reinfer(NodeId id);  // of one node's results
  void compact();           // drops erased slots: ids change

 private:
  ValueId add_value(Value value, std::string_view wanted_name);
  ValueId add_any_input(Value value);
  std::string unique_name(std::string_view wanted);
  std::vector<TensorType> infer(const Node& node) const;
  void name_unknown(TensorType& type, const TensorType* previous);
  void note_symbols(const TensorType& type);
  std::string users_text(ValueId id) const;
  // Who reads a value: kept while the graph changes, so that asking takes as long as there are readers.
  struct Readers {
    std::vector<NodeId> nodes;      // each that reads it, some that did
    int operands = 0, outputs = 0;  // that are this value
  };
  Readers& readers(ValueId id) { return readers_[static_cast<size_t>(id)]; }
  bool reads(NodeId node, ValueId id) const;
  void add_reader(ValueId id, NodeId node);
  void drop_reader(ValueId id);
  void drop_from_order(NodeId id);
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<Readers> readers_;  // by ValueId
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<Output> outputs_;
  NodeId insertion_point_ = kNone;
  int unbacked_symbols_ = 0;
  std::map<std::string, ValueId, std::less<>> names_;
  std::map<std::string, int, std::less<>> next_suffix_;  // per wanted name: where the search for a free one goes on
  std::set<std::string> input_labels_, output_labels_;
};

// Types of a node's results by its op's rule; throws Error that names the op and shows the operand types. Sizes that
// the rule can't know are Dim::unknown().
std::vector<TensorType> infer_results(const OpDef& op, std::span<const TensorType* const> operands,
                                      std::span<const Tensor* const> constants, const Attributes& attributes,
                                      const std::vector<Graph>& subgraphs = {});

// Checks types against the ops' rules, order, uniqueness of names, attribute specs, that no operand is erased. Throws
// Bug with the node's text.
void verify(const Graph& graph);

// Every symbol replaced by its binding, all types inferred again: a graph with constant shapes where all symbols are
// bound.
Graph specialise(const Graph& graph, const Bindings& bindings);
Attributes substituted(const Attributes& attributes, const Bindings& bindings);
bool is_symbolic(const Attributes& attributes);  // a dimension or shape among them is not constant

// What the constants hold: elements of the floating and packed ones, bytes of all planes of all. Scalars without a name
// are literals of the graph (the 1 of 1 - mask, say), not weights, and left out of both.
struct Sizes {
  int64_t parameters = 0, weight_bytes = 0;
};
Sizes sizes(const Graph& graph);

}  // namespace hone
