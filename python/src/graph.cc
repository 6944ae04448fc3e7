// hone.Graph, with its values and nodes as objects. A value or node is a place in its graph: it keeps the graph, and is
// equal to another one of the same place.
#include <hone/graph.h>

#include "arrays.h"
#include "bind.h"

namespace hone::python {
namespace {

// Of one graph, by its number there.
template <class Kind>
struct Place {
  nb::object graph;
  int32_t id;

  Graph& of() const { return nb::cast<Graph&>(graph); }
  bool operator==(const Place& other) const { return id == other.id && graph.is(other.graph); }
  size_t hash() const { return std::hash<const void*>{}(graph.ptr()) ^ static_cast<size_t>(id); }
};
using Value = Place<ValueInfo>;
using Node = Place<NodeInfo>;
using Self = nb::handle_t<Graph>;

Graph& graph_of(Self self) { return nb::cast<Graph&>(self); }
nb::object value_of(nb::handle graph, ValueId id) {
  return id == kAbsent ? nb::none() : nb::cast(Value{nb::borrow(graph), id});
}
template <class Kind>
nb::list places(nb::handle graph, const std::vector<int32_t>& ids) {
  nb::list all;
  for (const int32_t id : ids) all.append(id == kAbsent ? nb::none() : nb::cast(Place<Kind>{nb::borrow(graph), id}));
  return all;
}
nb::tuple values_of(nb::handle graph, const std::vector<ValueId>& ids) {
  return nb::tuple(places<ValueInfo>(graph, ids));
}

// The number of a value in that graph. Throws Error for one of another graph.
ValueId id_in(nb::handle graph, const Value& value) {
  if (value.graph.is(graph)) return value.id;
  throw Error("%" + value.of().value(value.id).name + " is of another graph, \"" + value.of().name() + "\"");
}
ValueId id_in(nb::handle graph, const std::optional<Value>& value) { return value ? id_in(graph, *value) : kAbsent; }

template <class T>
std::vector<T> elements(const nb::list& list) {
  std::vector<T> all;
  for (const nb::handle element : list) all.push_back(nb::cast<T>(element));
  return all;
}

bool is_integer(nb::handle h) { return PyIndex_Check(h.ptr()); }

Attribute attribute_of_list(const nb::list& list, const std::string& name) {
  bool integers = true, texts = list.size() != 0;
  for (const nb::handle element : list)
    integers = integers && is_integer(element), texts = texts && PyUnicode_Check(element.ptr());
  if (texts) return elements<std::string>(list);
  if (!integers) return elements<double>(list);
  std::vector<int64_t> all;
  for (const nb::handle element : list) all.push_back(nb::cast<int64_t>(nb::int_(element)));
  static_cast<void>(name);
  return all;
}

Attribute attribute_of(const std::string& name, nb::handle value) {
  if (nb::isinstance<Tensor>(value)) return nb::cast<Tensor>(value);
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return attribute_of_list(nb::list(value), name);
  if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
  if (is_integer(value) && !PyObject_CheckBuffer(value.ptr())) return nb::cast<int64_t>(nb::int_(value));
  return tensor_of(value, "attribute " + name);
}

Attributes attributes_of(const nb::dict& given) {
  Attributes all;
  for (const auto [name, value] : given) {
    const auto key = nb::cast<std::string>(name);
    if (!value.is_none()) all.emplace(key, attribute_of(key, value));
  }
  return all;
}

std::vector<Graph> graphs_of(const nb::list& given) {
  std::vector<Graph> all;
  for (const nb::handle graph : given) all.push_back(nb::cast<Graph>(graph));
  return all;
}

nb::tuple add_node(Self self, const std::string& op, const std::vector<std::optional<Value>>& operands,
                   const nb::object& attributes, const std::string& name, const nb::list& bodies) {
  std::vector<ValueId> ids;
  for (const std::optional<Value>& operand : operands) ids.push_back(id_in(self, operand));
  return values_of(self, graph_of(self).add_node(op, ids, attributes_of(named(attributes)), name, graphs_of(bodies)));
}

// The short form: one result by itself, several as a tuple.
nb::object call(Self self, const std::string& op, const nb::args& operands, const nb::kwargs& attributes) {
  std::vector<std::optional<Value>> given;
  for (const nb::handle operand : operands) {
    if (!operand.is_none() && !nb::isinstance<Value>(operand))
      throw nb::type_error(("operands of " + op + " are values of the graph or None, not " +
                            nb::cast<std::string>(nb::inst_name(operand)) +
                            "; add_constant() makes a value of an array")
                               .c_str());
    given.push_back(operand.is_none() ? std::nullopt : std::optional(nb::cast<Value>(operand)));
  }
  const nb::tuple results = add_node(self, op, given, attributes, "", nb::list());
  return results.size() == 1 ? nb::object(results[0]) : nb::object(results);
}

nb::object add_state(Self self, const std::string& label, nb::handle initial) {
  if (PyUnicode_Check(initial.ptr()))
    return value_of(self, graph_of(self).add_state(label, nb::cast<std::string>(initial)));
  return value_of(self, graph_of(self).add_state(label, tensor_of(initial, "state " + label)));
}

nb::dict outputs(Self self) {
  nb::dict all;
  for (const OutputInfo& output : graph_of(self).outputs())
    if (output.updates == kAbsent) all[nb::str(output.label.c_str())] = value_of(self, output.value);
  return all;
}

nb::list updates(Self self) {
  nb::list all;
  for (const OutputInfo& output : graph_of(self).outputs())
    if (output.updates != kAbsent)
      all.append(nb::make_tuple(value_of(self, output.updates), value_of(self, output.value)));
  return all;
}

void set_outputs(Self self, const nb::object& given) {
  std::vector<OutputInfo> all;
  for (const OutputInfo& output : graph_of(self).outputs())
    if (output.updates != kAbsent) all.push_back(output);
  for (const auto [label, value] : named(given))
    all.push_back({.value = id_in(self, nb::cast<const Value&>(value)), .label = nb::cast<std::string>(label)});
  graph_of(self).set_outputs(all);
}

const char* kind_name(const ValueInfo& info) {
  if (info.kind == ValueKind::constant) return "constant";
  if (info.kind == ValueKind::result) return "result";
  return info.role == InputRole::argument ? "input" : info.role == InputRole::parameter ? "parameter" : "state";
}

std::string repr(const Value& value) {
  const ValueInfo info = value.of().value(value.id);
  return "<hone.Value %" + info.name + ": " + info.type + ", " + kind_name(info) + ">";
}

std::string repr(const Node& node) {
  const NodeInfo info = node.of().node(node.id);
  const auto names = [&](const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids)
      text += (text.empty() ? "" : ", ") + (id == kAbsent ? std::string("_") : "%" + node.of().value(id).name);
    return text;
  };
  return "<hone.Node " + names(info.results) + " = " + info.op + "(" + names(info.operands) + ")>";
}

nb::list users(const Value& value) {
  nb::list all;
  for (const Use& use : value.of().users(value.id))
    all.append(nb::make_tuple(nb::cast(Node{value.graph, use.node}), use.operand));
  return all;
}

void bind_value(nb::module_& m) {
  const auto info = [](auto field) {
    return [field](const Value& value) { return field(value.of().value(value.id)); };
  };
  nb::class_<Value>(m, "Value", "A value of a graph: an input, a constant, or a result of a node.")
      .def_ro("graph", &Value::graph, nb::sig("def graph(self) -> Graph"), "The graph it is of.")
      .def_prop_ro("name", info([](const ValueInfo& i) { return i.name; }), "In the graph's text, without %.")
      .def_prop_ro("label", info([](const ValueInfo& i) { return i.label; }),
                   "Of an input: for callers; of a constant: of the tensor in files.")
      .def_prop_ro("type", info([](const ValueInfo& i) { return i.type; }),
                   "\"f32[B,S,384]\"; \"f32[*]\" of an open rank.")
      .def_prop_ro("dtype", info([](const ValueInfo& i) { return std::string(to_string(i.dtype)); }), "\"f32\".")
      .def_prop_ro(
          "shape",
          [](const Value& value) -> std::optional<std::vector<std::string>> {
            const ValueInfo i = value.of().value(value.id);
            return i.ranked ? std::optional(i.shape) : std::nullopt;
          },
          "Dimensions as texts: numbers and formulas of symbols. None where the rank is open.")
      .def_prop_ro("kind", info([](const ValueInfo& i) { return kind_name(i); }),
                   "\"input\", \"parameter\", \"state\", \"constant\" or \"result\".")
      .def_prop_ro(
          "node",
          [](const Value& value) -> std::optional<Node> {
            const ValueInfo i = value.of().value(value.id);
            return i.node == kAbsent ? std::nullopt : std::optional(Node{value.graph, i.node});
          },
          "The node that computes it, of a result; else None.")
      .def_prop_ro("users", users, nb::sig("def users(self) -> list[tuple[Node, int]]"),
                   "Nodes that read it, and as which operand.")
      .def_prop_ro(
          "tensor", [](const Value& value) { return value.of().constant(value.id); },
          "What a constant holds. Error for other values.")
      .def(
          "set_tensor", [](const Value& v, ArrayLike a) { v.of().set_constant(v.id, tensor_of(a.array, "constant")); },
          nb::arg("array"), "Gives a constant another value. Graph.infer_types() gives results their types after that.")
      .def(
          "set_type", [](const Value& v, const std::string& type) { v.of().set_input_type(v.id, type); },
          nb::arg("type"), "Gives an input another type. Graph.infer_types() gives results theirs after that.")
      .def(
          "set_label", [](const Value& v, const std::string& label) { v.of().set_label(v.id, label); },
          nb::arg("label"), "Gives an input or constant another label.")
      .def(
          "rename", [](const Value& v, const std::string& name) { v.of().rename(v.id, name); }, nb::arg("name"),
          "With a suffix where the name is taken.")
      .def(
          "replace_by", [](const Value& v, const Value& by) { v.of().replace_all_uses(v.id, id_in(v.graph, by)); },
          nb::arg("value"), "In all nodes and outputs. Error, and no change, where types do not fit.")
      .def(
          "erase", [](const Value& v) { v.of().erase_input(v.id); }, "Of an input. Error that names its users.")
      .def(
          "__eq__",
          [](const Value& a, nb::handle b) { return nb::isinstance<Value>(b) && a == nb::cast<const Value&>(b); },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", &Value::hash)
      .def("__repr__", [](const Value& value) { return repr(value); });
}

void bind_node(nb::module_& m) {
  nb::class_<Node>(m, "Node", "A node of a graph: one use of an operation.")
      .def_ro("graph", &Node::graph, nb::sig("def graph(self) -> Graph"), "The graph it is of.")
      .def_prop_ro(
          "op", [](const Node& n) { return n.of().node(n.id).op; }, "Name of the operation.")
      .def_prop_ro(
          "operands", [](const Node& n) { return values_of(n.graph, n.of().node(n.id).operands); },
          nb::sig("def operands(self) -> tuple[Value | None, ...]"), "What it reads; None where one is absent.")
      .def_prop_ro(
          "results", [](const Node& n) { return values_of(n.graph, n.of().node(n.id).results); },
          nb::sig("def results(self) -> tuple[Value, ...]"), "What it computes.")
      .def_prop_ro(
          "attributes", [](const Node& n) { return n.of().node(n.id).attributes; },
          "A copy; set_attribute() changes one.")
      .def_prop_ro(
          "bodies", [](const Node& n) { return n.of().node(n.id).bodies; }, "Copies of the graphs that it owns.")
      .def(
          "set_operand",
          [](const Node& n, int at, const std::optional<Value>& v) { n.of().set_operand(n.id, at, id_in(n.graph, v)); },
          nb::arg("operand"), nb::arg("value").none(), "Error, and no change, where the type does not fit.")
      .def(
          "set_attribute",
          [](const Node& n, const std::string& name, nb::object value) {
            n.of().set_attribute(n.id, name, attribute_of(name, value));
          },
          nb::arg("name"), nb::arg("value"), "Error, and no change, where the operation does not take it.")
      .def(
          "erase", [](const Node& n) { n.of().erase_node(n.id); }, "Error that lists the users of its results.")
      .def(
          "__eq__",
          [](const Node& a, nb::handle b) { return nb::isinstance<Node>(b) && a == nb::cast<const Node&>(b); },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", &Node::hash)
      .def("__repr__", [](const Node& node) { return repr(node); });
}

NamedTensors constants_of(const nb::object& given) {
  NamedTensors all;
  for (const auto [name, array] : named(given)) {
    const auto key = nb::cast<std::string>(name);
    all.emplace(key, tensor_of(array, "constant " + key));
  }
  return all;
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<Graph> graph(m, "Graph",
                          "What a model computes: nodes of operations on typed values, operands before their users. "
                          "Ids, types and names that do not fit are an Error, which changes nothing.");
  bind_value(m);
  bind_node(m);
  m.def("list_ops", &list_ops, "All operations in the order of their names.");
  m.def("op_info", &op_info, nb::arg("name"), "An operation; Error with the nearest names where there is none.");
  m.def("list_passes", &list_passes, "All passes in the order of their names.");
  graph.def(nb::init<const std::string&>(), nb::arg("name") = "main", "An empty graph.")
      .def_static(
          "parse",
          [](const std::string& text, const nb::object& constants) {
            return Graph::parse(text, constants_of(constants));
          },
          nb::arg("text"), nb::arg("constants") = nb::dict(),
          nb::sig("def parse(text: str, constants: collections.abc.Mapping[str, hone.typing.ArrayLike] = {}) -> Graph"),
          "A graph of its text; arrays for constants that the text only names. Error with line and column.")
      .def("text", &Graph::text, "The graph as text, which parse() reads.")
      .def_prop_ro("name", &Graph::name, "Its name in the text.")
      // Building.
      .def(
          "add_input",
          [](Self g, const std::string& label, const std::string& type) {
            return value_of(g, graph_of(g).add_input(label, type));
          },
          nb::arg("label"), nb::arg("type"), nb::sig("def add_input(self, label: str, type: str) -> Value"),
          "What each run is given: of type \"i64[B,S]\".")
      .def(
          "add_parameter",
          [](Self g, const std::string& label, ArrayLike initial) {
            return value_of(g, graph_of(g).add_parameter(label, tensor_of(initial.array, "parameter " + label)));
          },
          nb::arg("label"), nb::arg("initial"),
          nb::sig("def add_parameter(self, label: str, initial: hone.typing.ArrayLike) -> Value"),
          "What the session owns; Session.set_parameters() changes it.")
      .def("add_state", add_state, nb::arg("label"), nb::arg("initial"),
           nb::sig("def add_state(self, label: str, initial: str | hone.typing.ArrayLike) -> Value"),
           "What a context keeps from run to run: it begins as the array, or, of a type alone, as Context.set_state() "
           "says.")
      .def(
          "add_constant",
          [](Self g, ArrayLike value, const std::string& label) {
            return value_of(g, graph_of(g).add_constant(label, tensor_of(value.array, "constant " + label)));
          },
          nb::arg("value"), nb::arg("label") = "",
          nb::sig("def add_constant(self, value: hone.typing.ArrayLike, label: str = '') -> Value"),
          "An array, which is read where it lies and must not change; without a label, a literal.")
      .def("add_node", add_node, nb::arg("op"), nb::arg("operands"), nb::arg("attributes") = nb::dict(),
           nb::arg("name") = "", nb::arg("bodies") = nb::list(),
           nb::sig("def add_node(self, op: str, operands: collections.abc.Sequence[Value | None], attributes: "
                   "collections.abc.Mapping[str, object] = {}, "
                   "name: str = '', bodies: list[Graph] = []) -> tuple[Value, ...]"),
           "A node of any operation, at the end: its results, whose types the operation's rule gives. Attributes that "
           "are "
           "None are left out.")
      .def("op", call, nb::arg("op"), nb::arg("operands"), nb::arg("attributes"),
           nb::sig("def op(self, op: str, /, *operands: Value | None, **attributes: object) -> Any"),
           "add_node() in short: one result as a Value, several as a tuple of them.")
      .def(
          "set_insertion_point",
          [](Self g, const std::optional<Node>& before) {
            if (before && !before->graph.is(g)) throw Error("set_insertion_point(): the node is of another graph");
            graph_of(g).set_insertion_point(before ? before->id : kAbsent);
          },
          nb::arg("before").none(), nb::sig("def set_insertion_point(self, before: Node | None) -> None"),
          "Nodes that are added from now on stand before that one; None: at the end.")
      .def(
          "add_output",
          [](Self g, const Value& value, const std::string& label) { graph_of(g).add_output(id_in(g, value), label); },
          nb::arg("value"), nb::arg("label"), "What a run gives, by its name for callers.")
      .def(
          "add_update",
          [](Self g, const Value& target, const Value& value) {
            graph_of(g).add_update(id_in(g, target), id_in(g, value));
          },
          nb::arg("target"), nb::arg("value"), "After a run `target`, a parameter or state, is `value`.")
      // Reading.
      .def_prop_ro(
          "inputs", [](Self g) { return places<ValueInfo>(g, graph_of(g).inputs()); },
          nb::sig("def inputs(self) -> list[Value]"), "Inputs, parameters and state, in order.")
      .def_prop_ro(
          "constants", [](Self g) { return places<ValueInfo>(g, graph_of(g).constants()); },
          nb::sig("def constants(self) -> list[Value]"), "In the order of their creation.")
      .def_prop_ro(
          "nodes", [](Self g) { return places<NodeInfo>(g, graph_of(g).nodes()); },
          nb::sig("def nodes(self) -> list[Node]"), "Operands precede users.")
      .def_prop_ro("outputs", outputs, nb::sig("def outputs(self) -> dict[str, Value]"), "By their labels.")
      .def_prop_ro("updates", updates, nb::sig("def updates(self) -> list[tuple[Value, Value]]"),
                   "Parameters or state, and what they are after a run.")
      .def(
          "find_value", [](Self g, const std::string& name) { return value_of(g, graph_of(g).find_value(name)); },
          nb::arg("name"), nb::sig("def find_value(self, name: str) -> Value | None"), "By its name in the text.")
      .def(
          "find_constant",
          [](Self g, const std::string& label) { return value_of(g, graph_of(g).find_constant(label)); },
          nb::arg("label"), nb::sig("def find_constant(self, label: str) -> Value | None"), "By its label.")
      .def_prop_ro("symbols", &Graph::symbols, "That stand for sizes of inputs, in order of appearance.")
      .def_prop_ro("metadata", &Graph::metadata, "Texts that travel with the model; a copy.")
      // Changing.
      .def("set_outputs", set_outputs, nb::arg("outputs"),
           nb::sig("def set_outputs(self, outputs: collections.abc.Mapping[str, Value]) -> None"),
           "Other outputs by their labels; updates stay.")
      .def("set_metadata", &Graph::set_metadata, nb::arg("key"), nb::arg("text"), "An empty text removes the key.")
      .def("erase_unused_constants", &Graph::erase_unused_constants, "Constants that nobody reads go.")
      .def("infer_types", &Graph::infer_types, "Gives all results their types, after new ones of inputs or constants.")
      .def("verify", &Graph::verify, "Checks types, order, names and attributes.")
      .def("after_passes", &Graph::after_passes, nb::arg("passes"),
           nb::arg("options") = std::map<std::string, std::vector<std::string>>{},
           nb::call_guard<nb::gil_scoped_release>(),
           "A graph after passes, one after the other; this one stays. Options are lists of texts by \"pass.option\".")
      .def("with_sizes", &Graph::with_sizes, nb::arg("sizes"), "The graph with sizes in place of symbols: {\"B\": 1}.")
      .def("__str__", &Graph::text)
      .def(
          "_repr_html_",
          [](const Graph& g) {
            return "<pre>" + nb::cast<std::string>(nb::module_::import_("hone._result").attr("escape")(g.text())) +
                   "</pre>";
          },
          "What notebooks show: the text.")
      .def("__repr__",
           [](const Graph& g) {
             return "<hone.Graph " + g.name() + ": " + std::to_string(g.nodes().size()) + " nodes, " +
                    std::to_string(g.inputs().size()) + " inputs, " + std::to_string(g.outputs().size()) + " outputs>";
           })
      .def("__copy__", [](const Graph& g) { return g; })
      .def(
          "__deepcopy__", [](const Graph& g, nb::handle) { return g; }, nb::arg("memo"));
}

}  // namespace hone::python
