// RNN, GRU, LSTM; DynamicQuantizeLSTM of com.microsoft.
#include <algorithm>

#include "io/onnx/affine.h"
#include "ops/calls/gru.h"
#include "ops/calls/lstm.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/rnn.h"

namespace hone {
namespace {

struct Activation {
  std::string_view onnx, op;
};
constexpr Activation kActivations[] = {
    {"relu", "relu"},
    {"tanh", "tanh"},
    {"sigmoid", "sigmoid"},
    {"affine", "affine"},
    {"leakyrelu", "leaky_relu"},
    {"thresholdedrelu", "thresholded_relu"},
    {"scaledtanh", "scaled_tanh"},
    {"hardsigmoid", "hard_sigmoid"},
    {"elu", "elu"},
    {"softsign", "softsign"},
    {"softplus", "softplus"},
};

// Exporters do not agree about capitals.
std::string activation_op(const OnnxNode& n, const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::ranges::find(kActivations, lower, &Activation::onnx);
  if (found == std::end(kActivations)) n.unsupported(fmt::format("activation \"{}\"", name));
  return std::string(found->op);
}

Attributes common_attributes(const OnnxNode& n) {
  Attributes attributes{{"direction", n.text("direction", "forward")}};
  if (n.has_attribute("activations")) {
    std::vector<std::string> names = n.texts("activations");
    for (std::string& name : names) name = activation_op(n, name);
    attributes.set("activations", std::move(names));
  }
  for (const char* list : {"activation_alpha", "activation_beta"})
    if (n.has_attribute(list)) attributes.set(list, n.numbers(list));
  if (n.has_attribute("clip")) attributes.set("clip", n.number("clip"));
  return attributes;
}

// Layout 1 has the batch first in x, the initial states and all results; the ops have it behind steps and directions.
std::vector<ValueId> import_layer(const OnnxNode& n, const OpDef& op, Attributes attributes) {
  const int64_t layout = n.integer("layout", 0);
  if (layout != 0 && layout != 1) fail("layout is {}; accepted: 0, 1", layout);
  std::vector<ValueId> operands = n.all_inputs();
  if (layout == 0) return n.emit_all({&op, operands, std::move(attributes)});
  for (size_t i : {0, 5, 6})
    if (i < operands.size() && operands[i] != kNone) operands[i] = n.transpose(operands[i], {1, 0, 2});
  std::vector<ValueId> results = n.emit_all({&op, operands, std::move(attributes)});
  results[0] = n.transpose(results[0], {2, 0, 1, 3});
  for (size_t i = 1; i < results.size(); ++i) results[i] = n.transpose(results[i], {1, 0, 2});
  return results;
}

std::vector<ValueId> import_rnn(OnnxNode& n) { return import_layer(n, rnn_def, common_attributes(n)); }

std::vector<ValueId> import_gru(OnnxNode& n) {
  Attributes attributes = common_attributes(n);
  attributes.set("linear_before_reset", n.is_not_zero("linear_before_reset", false));
  return import_layer(n, gru_def, std::move(attributes));
}

std::vector<ValueId> import_lstm(OnnxNode& n) {
  Attributes attributes = common_attributes(n);
  attributes.set("input_forget", n.is_not_zero("input_forget", false));
  return import_layer(n, lstm_def, std::move(attributes));
}

// Codes [D,I,4H] with a scale and zero point per direction [D] or per column [D,4H], as floats [D,4H,I].
ValueId decoded_weights(const OnnxNode& n, int codes, int scale) {
  const ValueId w = n.in(codes);
  if (n.rank(w) != 3) fail("input {} is {}; expected [directions,rows,4*hidden_size]", codes, to_string(n.type(w)));
  const auto per_column = [&](ValueId v) {
    if (v == kNone) return v;
    Shape shape = n.type(v).shape;
    if (n.rank(v) == 0) return v;
    shape.insert(shape.begin() + 1, 1);
    if (shape.size() == 2) shape.push_back(1);
    return n.reshape(v, shape);
  };
  const ValueId floats = ops::dequantize_linear(n, {.x = w,
                                                    .scale = per_column(n.in(scale)),
                                                    .zero_point = per_column(n.in_or_none(scale + 1)),
                                                    .dtype = DType::f32});
  return n.transpose(floats, {0, 2, 1});
}

// x is rounded to codes as a whole, h at each step for each sequence, the weights are codes; what is computed with them
// are floats.
std::vector<ValueId> import_dynamic_quantize_lstm(OnnxNode& n) {
  if (n.has_attribute("clip")) n.unsupported("clip, which ONNX Runtime applies to gates but not to the cell's state");
  Attributes attributes = common_attributes(n);
  attributes.set("input_forget", n.is_not_zero("input_forget", false));
  attributes.set("round_state", int64_t{1});
  const ValueId x = dequantized(n, quantized_dynamically(n, n.in(0)), DType::f32);
  return n.emit_all({&lstm_def,
                     {x, decoded_weights(n, 1, 8), decoded_weights(n, 2, 10), n.in_or_none(3), n.in_or_none(4),
                      n.in_or_none(5), n.in_or_none(6), n.in_or_none(7)},
                     std::move(attributes)});
}

constexpr OnnxOperator kOperators[] = {
    {"DynamicQuantizeLSTM", 1, import_dynamic_quantize_lstm, "com.microsoft"},
    {"GRU", 7, import_gru},
    {"LSTM", 7, import_lstm},
    {"RNN", 7, import_rnn},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_recurrent_def{.name = "recurrent", .operators = kOperators};

}  // namespace hone
