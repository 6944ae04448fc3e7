#include "tests/fuzz/mutate_model.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/fuzz/special_numbers.h"

namespace hone::fuzz {
namespace {

using namespace onnx;

constexpr int kMostNesting = 6;
constexpr const char* kOps[] = {"Add",
                                "MatMul",
                                "Gemm",
                                "Conv",
                                "ConvTranspose",
                                "MaxPool",
                                "AveragePool",
                                "Relu",
                                "Reshape",
                                "Transpose",
                                "Concat",
                                "Split",
                                "Slice",
                                "Gather",
                                "GatherND",
                                "Scatter",
                                "ReduceSum",
                                "Softmax",
                                "TopK",
                                "Resize",
                                "Pad",
                                "Tile",
                                "Expand",
                                "Cast",
                                "Shape",
                                "Unsqueeze",
                                "Squeeze",
                                "Where",
                                "Range",
                                "OneHot",
                                "LSTM",
                                "GRU",
                                "Einsum",
                                "Loop",
                                "If",
                                "Scan",
                                "Constant",
                                "Identity",
                                "NonZero",
                                "Flatten",
                                "CumSum",
                                "Unique",
                                "Attention",
                                "LRN",
                                "DequantizeLinear",
                                "QuantizeLinear",
                                "LayerNormalization",
                                "ConstantOfShape",
                                "SequenceAt",
                                "SplitToSequence",
                                "RoiAlign",
                                "GridSample",
                                "DepthToSpace",
                                "STFT"};

struct Parts {
  std::vector<GraphProto*> graphs;
  std::vector<NodeProto*> nodes;
  std::vector<AttributeProto*> attributes;
  std::vector<TensorProto*> tensors;
  std::vector<TypeProto*> types;
  std::vector<std::string> values;  // names
};

void collect(GraphProto& graph, Parts& parts, int nesting);

void collect(AttributeProto& attribute, Parts& parts, int nesting) {
  parts.attributes.push_back(&attribute);
  if (attribute.has_t()) parts.tensors.push_back(attribute.mutable_t());
  for (TensorProto& tensor : *attribute.mutable_tensors()) parts.tensors.push_back(&tensor);
  if (attribute.has_tp()) parts.types.push_back(attribute.mutable_tp());
  if (nesting == kMostNesting) return;
  if (attribute.has_g()) collect(*attribute.mutable_g(), parts, nesting + 1);
  for (GraphProto& graph : *attribute.mutable_graphs()) collect(graph, parts, nesting + 1);
}

void collect(GraphProto& graph, Parts& parts, int nesting) {
  parts.graphs.push_back(&graph);
  for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (ValueInfoProto& info : *infos) {
      parts.values.push_back(info.name());
      if (info.has_type()) parts.types.push_back(info.mutable_type());
    }
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    parts.values.push_back(tensor.name());
    parts.tensors.push_back(&tensor);
  }
  for (NodeProto& node : *graph.mutable_node()) {
    parts.nodes.push_back(&node);
    for (const std::string& name : node.output()) parts.values.push_back(name);
    for (AttributeProto& attribute : *node.mutable_attribute()) collect(attribute, parts, nesting);
  }
}

template <class T>
T& one_of(std::vector<T>& items, Philox& random) {
  return items[random.below(static_cast<uint32_t>(items.size()))];
}

template <class Repeated>
int place_in(const Repeated& items, Philox& random) {
  return static_cast<int>(random.below(static_cast<uint32_t>(items.size())));
}

float special_float(Philox& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float numbers[] = {0.f, -0.f, 1.f, -1.f, 0.5f, 1e10f, -1e30f, 1e-40f, kInf, -kInf, std::nanf("")};
  return numbers[random.below(std::size(numbers))];
}

template <class Repeated>
void change_list(Repeated& list, Philox& random) {
  if (list.empty() || random.below(4) == 0)
    list.Add(static_cast<std::decay_t<decltype(list.Get(0))>>(special_number(random)));
  else if (random.below(5) == 0) list.RemoveLast();
  else list.Set(place_in(list, random), static_cast<std::decay_t<decltype(list.Get(0))>>(special_number(random)));
}

void change_attribute(AttributeProto& attribute, Philox& random) {
  switch (random.below(10)) {
    case 0:
      attribute.set_type(static_cast<int32_t>(random.below(16)));
      return;
    case 1:
      attribute.set_f(special_float(random));
      return;
    case 2:
      if (attribute.floats_size() > 0)
        attribute.set_floats(place_in(attribute.floats(), random), special_float(random));
      else attribute.add_floats(special_float(random));
      return;
    case 3:
      attribute.set_s(attribute.s().substr(0, random.below(static_cast<uint32_t>(attribute.s().size() + 1))));
      return;
    case 4:
      attribute.set_name(random.below(2) ? "axis" : "axes");
      return;
    default:
      if (attribute.has_i() && random.below(8) > 0) attribute.set_i(special_number(random));
      else change_list(*attribute.mutable_ints(), random);
  }
}

// Numbers that a node reads as a shape, axes or counts stand in integer tensors.
void change_integer_data(TensorProto& tensor, Philox& random) {
  if (tensor.int64_data_size() > 0) change_list(*tensor.mutable_int64_data(), random);
  else if (tensor.int32_data_size() > 0) change_list(*tensor.mutable_int32_data(), random);
  else if (tensor.raw_data().size() >= 8) {
    const int64_t number = special_number(random);
    const size_t width = tensor.data_type() == TensorProto::INT64 ? 8 : 4;
    const size_t count = tensor.raw_data().size() / width;
    std::memcpy(tensor.mutable_raw_data()->data() + width * random.below(static_cast<uint32_t>(count)), &number, width);
  }
}

void change_tensor(TensorProto& tensor, Philox& random) {
  switch (random.below(8)) {
    case 0:
      tensor.set_data_type(static_cast<int32_t>(random.below(30)));
      return;
    case 1:
      tensor.mutable_raw_data()->resize(random.below(static_cast<uint32_t>(tensor.raw_data().size() + 9)));
      return;
    case 2:
    case 3:
      change_list(*tensor.mutable_dims(), random);
      return;
    case 4:  // the same elements, another rank
      tensor.add_dims(1);
      return;
    case 5:  // no elements
      tensor.add_dims(0);
      tensor.clear_raw_data();
      return;
    default:
      change_integer_data(tensor, random);
  }
}

void change_type(TypeProto& type, Philox& random) {
  if (random.below(12) == 0) {
    const TypeProto before = type;
    *(random.below(2) ? type.mutable_sequence_type()->mutable_elem_type()
                      : type.mutable_optional_type()->mutable_elem_type()) = before;
    return;
  }
  TypeProto::Tensor& tensor = *type.mutable_tensor_type();
  switch (random.below(6)) {
    case 0:
      tensor.set_elem_type(static_cast<int32_t>(random.below(30)));
      return;
    case 1:
      tensor.clear_shape();
      return;
    case 2:
      tensor.mutable_shape()->add_dim()->set_dim_value(special_number(random));
      return;
    case 3:
      if (tensor.shape().dim_size() > 0) tensor.mutable_shape()->mutable_dim()->RemoveLast();
      return;
    default:
      if (tensor.shape().dim_size() == 0) return;
      auto& dim = *tensor.mutable_shape()->mutable_dim(place_in(tensor.shape().dim(), random));
      if (random.below(3) == 0) dim.set_dim_param(random.below(2) ? "N" : "M");
      else dim.set_dim_value(special_number(random));
  }
}

void change_node(NodeProto& node, Parts& parts, Philox& random) {
  switch (random.below(10)) {
    case 0:
      node.set_op_type(kOps[random.below(std::size(kOps))]);
      return;
    case 1:
      if (node.input_size() > 0) node.set_input(place_in(node.input(), random), "");
      return;
    case 2:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      return;
    case 3:
    case 4:
      if (node.input_size() > 0 && !parts.values.empty())
        node.set_input(place_in(node.input(), random), one_of(parts.values, random));
      return;
    case 5:
      if (!parts.values.empty()) node.add_input(one_of(parts.values, random));
      return;
    case 6:
      if (node.output_size() > 1) node.mutable_output()->RemoveLast();
      else node.add_output(node.output_size() > 0 ? node.output(0) + "_more" : "more");
      return;
    case 7:
      if (node.attribute_size() > 0) node.mutable_attribute()->DeleteSubrange(place_in(node.attribute(), random), 1);
      return;
    case 8:  // an attribute of another node
      if (!parts.attributes.empty() && one_of(parts.attributes, random)->ByteSizeLong() < 4096)
        *node.add_attribute() = AttributeProto(*one_of(parts.attributes, random));
      return;
    default:
      for (AttributeProto& attribute : *node.mutable_attribute()) change_attribute(attribute, random);
  }
}

void change_graph(GraphProto& graph, Philox& random) {
  switch (random.below(7)) {
    case 0:
      if (graph.initializer_size() > 0)  // becomes an input without a type, or of an unknown shape
        graph.mutable_initializer()->DeleteSubrange(place_in(graph.initializer(), random), 1);
      return;
    case 1:
      if (graph.input_size() > 0) graph.mutable_input()->DeleteSubrange(place_in(graph.input(), random), 1);
      return;
    case 2:
      if (graph.node_size() > 0 && graph.node_size() < 200) {
        const NodeProto copy = graph.node(place_in(graph.node(), random));
        *graph.add_node() = copy;
      }
      return;
    case 3:
      if (graph.node_size() > 1)
        graph.mutable_node()->SwapElements(place_in(graph.node(), random), place_in(graph.node(), random));
      return;
    case 4:
      if (graph.output_size() > 0) graph.mutable_output(place_in(graph.output(), random))->clear_type();
      return;
    case 5:
      graph.clear_value_info();
      return;
    default:
      if (graph.node_size() > 0) graph.mutable_node()->DeleteSubrange(place_in(graph.node(), random), 1);
  }
}

void change_once(ModelProto& model, Philox& random) {
  Parts parts;
  collect(*model.mutable_graph(), parts, 0);
  for (FunctionProto& function : *model.mutable_functions())
    for (NodeProto& node : *function.mutable_node()) parts.nodes.push_back(&node);
  const uint32_t what = random.below(20);
  if (what == 0) {
    if (model.opset_import_size() == 0) model.add_opset_import();
    model.mutable_opset_import(place_in(model.opset_import(), random))->set_version(random.below(30));
  } else if (what < 6 && !parts.attributes.empty()) {
    change_attribute(*one_of(parts.attributes, random), random);
  } else if (what < 10 && !parts.tensors.empty()) {
    change_tensor(*one_of(parts.tensors, random), random);
  } else if (what < 14 && !parts.types.empty()) {
    change_type(*one_of(parts.types, random), random);
  } else if (what < 18 && !parts.nodes.empty()) {
    change_node(*one_of(parts.nodes, random), parts, random);
  } else {
    change_graph(*one_of(parts.graphs, random), random);
  }
}

}  // namespace

void mutate(ModelProto& model, Philox& random) {
  for (uint32_t changes = 1 + random.below(4); changes > 0; --changes) change_once(model, random);
}

}  // namespace hone::fuzz
