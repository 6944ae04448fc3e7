// Graphs: what a model computes, as nodes of operations on typed values. This header lists all operations and passes,
// builds, reads and changes graphs, and turns them into text and back.
#pragma once

#include <hone/tensor.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hone::HONE_API_INLINE api {
using ValueId = int32_t;         // of one graph; it stays valid until the value is erased
using NodeId = int32_t;          // likewise
constexpr int32_t kAbsent = -1;  // an operand that a node does without

// An attribute of a node. Where an operation asks for a dimension, a shape, an element type or a number format, a
// text is that: "B*S", "[B,S,384]", "bf16", "mxint8". Whole numbers are numbers and dimensions, too, and lists of
// them are shapes.
using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, Tensor>;
using Attributes = std::map<std::string, Attribute>;  // by name

// How often an operand occurs; `several` means at least once.
enum class OperandCount : uint8_t { one, optional, several, any_number };

// An operand of an operation. Those that may be absent follow those that may not; what there are several of comes
// last.
struct OperandInfo {
  std::string name;
  OperandCount count = OperandCount::one;
  bool factor = false;    // products of its elements with those of the other factors are summed
  bool argument = false;  // its values say what the operation does, as attributes do
  bool weight = false;    // a constant here is a weight, which may be stored in a number format
  bool bias = false;      // added to each row of the sums
  bool indices = false;   // its elements say which rows of the first operand are read
};

// An attribute that an operation takes.
struct AttributeInfo {
  std::string name;
  std::string kind;  // integer number string integers numbers strings dim shape dtype format tensor
  bool required = false;
  std::string doc;
};

// An operation.
struct OpInfo {
  std::string name, doc;
  std::vector<OperandInfo> operands;
  std::vector<AttributeInfo> attributes;
  int results = 1;         // -1: as many as the operands and attributes ask for
  int bodies = 0;          // graphs that each node owns: of if, loop and scan
  bool pointwise = false;  // each element of the result depends on one element of each operand
};

// All operations in the order of their names; one of them: Error with the nearest names for another.
HONE_API std::vector<OpInfo> list_ops();
HONE_API OpInfo op_info(const std::string& name);

// An option of a pass.
struct OptionInfo {
  std::string name, doc;
  std::string kind;           // text flag integer number list
  std::string default_value;  // as text; empty: none
  bool required = false;
};

// A pass: a function from graphs to graphs.
struct PassInfo {
  std::string name, doc;
  std::vector<OptionInfo> options;  // its own; given as "name.option"
};

// All passes in the order of their names.
HONE_API std::vector<PassInfo> list_passes();

enum class ValueKind : uint8_t { input, constant, result };     // where a value comes from
enum class InputRole : uint8_t { argument, parameter, state };  // given to each run; of the session; of a context

// What is known of a value.
struct ValueInfo {
  ValueKind kind = ValueKind::result;
  InputRole role = InputRole::argument;  // of an input
  std::string name;                      // in the graph's text, without %
  std::string label;                     // of an input: for callers; of a constant: of the tensor in files
  std::string type;                      // "f32[B,S,384]", "mxint8[1536,384]", "f32[*]" where the rank is open
  DType dtype = DType::f32;              // of its elements; f32 of packed ones
  std::vector<std::string> shape;        // dimensions: numbers and formulas of symbols; empty where the rank is open
  bool ranked = true;                    // the number of dimensions is known
  NodeId node = kAbsent;                 // of a result: which node computes it
  int result = 0;                        // and which of its results it is
};

class Graph;

// A node: one use of an operation.
struct NodeInfo {
  std::string op;
  std::vector<ValueId> operands;  // kAbsent where one is absent
  std::vector<ValueId> results;
  Attributes attributes;
  std::vector<Graph> bodies;
};

// A place where a value is read: an operand of a node.
struct Use {
  NodeId node = kAbsent;
  int operand = 0;
};

// What a graph gives.
struct OutputInfo {
  ValueId value = kAbsent;
  std::string label;          // its name for callers
  ValueId updates = kAbsent;  // the parameter or state that is this value after a run: nothing that callers get
};

// A graph in static single assignment form: operands precede their users. Graphs are values: a copy is cheap and does
// not see later changes. Any number of threads may read one; who changes it must be alone with it. Ids, types, names
// and attributes that do not fit are an Error, which changes nothing; so is an id that is none of this graph's.
class HONE_API Graph {
 public:
  explicit Graph(const std::string& name = "main");

  // A graph from its text (docs/DESIGN.md, section 3). Constants that the text only names are taken from `constants`.
  // Throws Error with line and column.
  static Graph parse(const std::string& text, const NamedTensors& constants = {});
  std::string text() const;  // parse() reads it; constants of more than 16 elements appear by name alone

  // Building. Types are texts: "i64[B,S]". Labels of inputs and of outputs are unique.
  ValueId add_input(const std::string& label, const std::string& type);
  ValueId add_parameter(const std::string& label, const Tensor& initial);  // the session owns it
  ValueId add_state(const std::string& label, const std::string& type);    // a context keeps it; begins as it is set
  ValueId add_state(const std::string& label, const Tensor& initial);      // begins as `initial`
  ValueId add_constant(const std::string& label, const Tensor& value);     // "": a literal without a name

  // A node of any operation: its results, whose types the operation's rule gives. It stands at the end, or before the
  // node that set_insertion_point() named. Throws Error that names the operation and the types of the operands.
  std::vector<ValueId> add_node(const std::string& op, const std::vector<ValueId>& operands,
                                const Attributes& attributes = {}, const std::string& result_name = "",
                                const std::vector<Graph>& bodies = {});
  void set_insertion_point(NodeId before);  // of the nodes that are added from now on; kAbsent: the end
  void add_output(ValueId value, const std::string& label);
  void add_update(ValueId target, ValueId value);  // after a run, `target`, a parameter or state, is `value`

  // Reading.
  std::string name() const;
  std::vector<ValueId> inputs() const;     // arguments, parameters and state, in order
  std::vector<ValueId> constants() const;  // in the order of their creation
  std::vector<OutputInfo> outputs() const;
  std::vector<NodeId> nodes() const;  // operands precede users
  NodeInfo node(NodeId id) const;
  ValueInfo value(ValueId id) const;
  std::vector<Use> users(ValueId id) const;
  Tensor constant(ValueId id) const;                      // Error where the value is no constant
  ValueId find_value(const std::string& name) const;      // by its name in the text; kAbsent: there is none
  ValueId find_constant(const std::string& label) const;  // likewise
  std::vector<std::string> symbols() const;               // that stand for sizes of inputs, in order of appearance
  std::map<std::string, std::string> metadata() const;    // texts that travel with the model

  // Changing. After new types of inputs or constants, infer_types() gives all results theirs.
  void replace_all_uses(ValueId old_value, ValueId new_value);  // in nodes and outputs
  void set_operand(NodeId node, int operand, ValueId value);
  void set_attribute(NodeId node, const std::string& name, const Attribute& value);
  void set_constant(ValueId constant, const Tensor& value);
  void set_input_type(ValueId input, const std::string& type);
  void set_outputs(const std::vector<OutputInfo>& outputs);
  void set_metadata(const std::string& key, const std::string& text);  // "" removes it
  void rename(ValueId value, const std::string& name);                 // with a suffix where the name is taken
  void set_label(ValueId value, const std::string& label);
  void erase_node(NodeId node);     // Error that lists the users of its results
  void erase_input(ValueId input);  // likewise
  void erase_unused_constants();
  void infer_types();
  void compact();  // drops what was erased: ids change

  // Checks types, order, names and attributes. Throws InternalError with the node's text, since no function of this
  // class lets a graph become wrong.
  void verify() const;

  // The graph after passes, one after the other; this one stays. Options are texts by "pass.option":
  // {"smooth_quant.alpha",
  // {"0.5"}}. Throws Error for a pass or option that is unknown, with the nearest ones.
  Graph after_passes(const std::vector<std::string>& passes,
                     const std::map<std::string, std::vector<std::string>>& options = {}) const;

  // The graph with sizes in place of symbols: {"B", 1}. Symbols that are not named stay.
  Graph with_sizes(const std::map<std::string, int64_t>& sizes) const;

  struct Impl;                                                 // hone's own
  explicit Graph(std::shared_ptr<Impl> impl);                  // hone's own
  const std::shared_ptr<Impl>& impl() const { return impl_; }  // hone's own

 private:
  Impl& mine();  // not shared with a copy

  std::shared_ptr<Impl> impl_;
};

}  // namespace hone::HONE_API_INLINEapi
