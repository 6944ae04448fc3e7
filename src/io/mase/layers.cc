#include "io/mase/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/bodies.h"

namespace hone {
namespace {

constexpr const char* kNoInputs = "hone rounds what products read, not the inputs of other ops";

// What MASE has quantized layers of.
constexpr MaseType kTypes[] = {
    {"linear", "linear", "op:linear, op:linear.in, op:linear.bias"},
    {"conv1d", "conv", "op:conv, op:conv.in, op:conv.bias of windows of one axis"},
    {"conv2d", "conv", "op:conv, op:conv.in, op:conv.bias of windows of two axes"},
    {"convtranspose2d", "conv_transpose", "op:conv_transpose, op:conv_transpose.in, op:conv_transpose.bias"},
    {"matmul", "matmul", "op:matmul.in, where data_in and weight are alike"},
    {"bmm", "matmul", "op:matmul.in, where data_in and weight are alike"},
    {"embedding", "gather", "op:gather: tables of mxint and mxfp"},
    {"relu", nullptr, kNoInputs},
    {"selu", nullptr, kNoInputs},
    {"silu", nullptr, kNoInputs},
    {"tanh", nullptr, kNoInputs},
    {"gelu", nullptr, kNoInputs},
    {"softsign", nullptr, kNoInputs},
    {"softplus", nullptr, kNoInputs},
    {"add", nullptr, kNoInputs},
    {"sub", nullptr, kNoInputs},
    {"mul", nullptr, kNoInputs},
    {"batch_norm1d", nullptr, "hone folds batch norms into what is before them"},
    {"batch_norm2d", nullptr, "hone folds batch norms into what is before them"},
    {"layer_norm", nullptr, kNoInputs},
    {"group_norm", nullptr, kNoInputs},
    {"instance_norm2d", nullptr, kNoInputs},
    {"rms_norm", nullptr, kNoInputs},
    {"avg_pool2d", nullptr, kNoInputs},
    {"adaptive_avg_pool2d", nullptr, kNoInputs},
    {"max_pool2d", nullptr, kNoInputs},
    {"attention", nullptr, "hone's attention is one op; its products are rounded by --rule op:attention.in=FORMAT"},
    {"grouped_query_attention", nullptr, "the same as attention"},
};

// Ops of hone's that MASE rounds the inputs of.
constexpr std::string_view kRoundedThere[] = {
    "relu", "selu", "silu",       "tanh",       "gelu",     "softsign", "softplus",  "add",
    "sub",  "mul",  "batch_norm", "layer_norm", "rms_norm", "avg_pool", "mean_pool", "attention"};

std::string type_of(const Graph& graph, const Layer& layer) {
  const Node& node = graph.node(layer.node);
  const std::string_view op = node.op->name;
  if (op == "linear") return "linear";
  if (op == "matmul") return layer.weight == kNone ? "matmul" : "linear";
  if (op == "conv_transpose") return "convtranspose2d";
  if (op != "conv") return "";
  const size_t axes = node.attributes.has("kernel_shape")
                          ? node.attributes.get<std::vector<int64_t>>("kernel_shape").size()
                          : graph.type(node.operands[1]).shape.size() - 2;
  return axes == 1 ? "conv1d" : axes == 2 ? "conv2d" : "";
}

// A table of a gather is a layer that has a weight alone.
std::vector<Layer> tables_of(const Graph& graph) {
  std::vector<Layer> tables;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (std::string_view(node.op->name) != "gather" || !graph.constant(node.operands[0])) continue;
    const std::string& label = graph.value(node.operands[0]).label;
    const TensorType& type = graph.type(node.operands[0]);
    if (!label.empty() && is_float(type.dtype) && type.rank() >= 2)
      tables.push_back({.node = id, .name = layer_name(label), .weight = node.operands[0]});
  }
  return tables;
}

}  // namespace

std::vector<MaseLayer> mase_layers(const Graph& graph) {
  std::vector<MaseLayer> found;
  for_each_graph(graph, [&](const Graph& each) {
    for (const Layer& layer : layers_of(each))
      found.push_back({&each, layer, type_of(each, layer), each.node(layer.node).op->name});
    for (const Layer& table : tables_of(each)) found.push_back({&each, table, "embedding", "gather"});
  });
  return found;
}

// Whether a name of MASE's is the layer's. Heads of models there put a part before the encoder's names that files of
// hone's do not have: "bert.encoder.layer.0".
bool is_mase_name_of(std::string_view name, const std::string& layer) {
  const std::string there = fx_name(name), here = fx_name(layer);
  if (there == here) return true;
  const size_t first = there.find('_');
  return first != std::string::npos && there.substr(first + 1) == here;
}

bool is_matched_by(const Regex& regex, const std::string& layer) {
  if (regex.matches(layer) || regex.matches(fx_name(layer))) return true;
  for (const char* before : {"bert", "roberta", "distilbert", "deberta", "electra", "mpnet", "vit", "model"})
    if (const std::string name = fmt::format("{}.{}", before, layer);
        regex.matches(name) || regex.matches(fx_name(name)))
      return true;
  return false;
}

std::vector<std::string> rounded_there(const Graph& graph) {
  std::vector<std::string> ops;
  for_each_graph(graph, [&](const Graph& each) {
    for (NodeId id : each.nodes()) {
      const std::string_view op = each.node(id).op->name;
      if (std::ranges::count(kRoundedThere, op) && !std::ranges::count(ops, op)) ops.emplace_back(op);
    }
  });
  return ops;
}

std::string fx_name(std::string_view name) {
  std::string text;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const char c : name) text += is_word(c) ? c : '_';
  return !text.empty() && text[0] >= '0' && text[0] <= '9' ? "_" + text : text;
}

std::span<const MaseType> mase_types() { return kTypes; }

}  // namespace hone
