// Recurrent layers.
#include <algorithm>

#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

struct Activation {
  std::string_view op;
  const char* name;
};
constexpr Activation kActivations[] = {{"affine", "Affine"},
                                       {"elu", "Elu"},
                                       {"hard_sigmoid", "HardSigmoid"},
                                       {"leaky_relu", "LeakyRelu"},
                                       {"relu", "Relu"},
                                       {"scaled_tanh", "ScaledTanh"},
                                       {"sigmoid", "Sigmoid"},
                                       {"softplus", "Softplus"},
                                       {"softsign", "Softsign"},
                                       {"tanh", "Tanh"},
                                       {"thresholded_relu", "ThresholdedRelu"}};

std::string activation_name(const std::string& op) {
  const auto found = std::ranges::find(kActivations, op, &Activation::op);
  if (found == std::end(kActivations)) not_in_onnx("recurrent layers have no activation {}", op);
  return found->name;
}

Names layer(const ExportNode& n, const char* op_type) {
  if (n.integer("round_state", 0) != 0) not_in_onnx("{} does not round its state between steps", op_type);
  const DType wanted = n.result_type().dtype, dtype = wanted == DType::f64 ? wanted : DType::f32;
  Names inputs;
  for (size_t i = 0; i < n.node().operands.size(); ++i)
    inputs.push_back(n.has(i) ? n.in_as(i, i == 4 ? DType::i32 : dtype) : "");
  Attributes attributes =
      n.take({"direction", "activation_alpha", "activation_beta", "clip", "linear_before_reset", "input_forget"});
  if (n.attributes().has("activations")) {
    auto names = n.attributes().get<std::vector<std::string>>("activations");
    std::ranges::transform(names, names.begin(), activation_name);
    attributes.set("activations", names);
  }
  if (n.rank(2) != 3) not_in_onnx("recurrent weights {}", to_string(n.type(2)));
  if (const Dim& hidden = n.type(2).shape[2]; hidden.is_constant()) attributes.set("hidden_size", hidden.constant());
  Names results = n.emit_all(op_type, inputs, attributes, n.node().results.size());
  for (std::string& result : results) result = n.cast(result, dtype, wanted);
  return results;
}

constexpr ExportRule kRules[] = {{"gru", [](const ExportNode& n) { return layer(n, "GRU"); }},
                                 {"lstm", [](const ExportNode& n) { return layer(n, "LSTM"); }},
                                 {"rnn", [](const ExportNode& n) { return layer(n, "RNN"); }}};

}  // namespace

std::span<const ExportRule> recurrent_rules() { return kRules; }

}  // namespace hone::onnx
