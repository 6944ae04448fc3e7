// Normalisations, softmax, reductions and losses. Narrow floats are widened first and the result is rounded once, as
// hone computes them.
#include "io/onnx/export_direct.h"

namespace hone::onnx {
namespace {

using Integers = std::vector<int64_t>;

DType wide(const ExportNode& n) { return n.type(0).dtype == DType::f64 ? DType::f64 : DType::f32; }
std::string narrowed(const ExportNode& n, const std::string& value) {
  return n.cast(value, wide(n), n.result_type().dtype);
}

template <OperatorName name>
Names softmax(const ExportNode& n) {
  return {n.emit(name.text, {n.in(0)}, {{"axis", n.integer("axis", -1)}})};
}

std::string filled(const ExportNode& n, const Shape& shape, double value, DType dtype) {
  return n.emit("ConstantOfShape", {n.sizes(shape)},
                {{"value", Tensor::from_doubles(dtype, {1}, std::vector<double>{value})}});
}

Names layer_norm(const ExportNode& n) {
  const DType dtype = wide(n);
  if (n.rank(0) == 0) not_in_onnx("layer_norm of a scalar");
  const std::string weight = n.has(1) ? n.in_as(1, dtype) : filled(n, {n.type(0).shape.back()}, 1, dtype);
  const Attributes attributes{{"epsilon", n.attributes().get_or<double>("epsilon", 1e-5)}, {"axis", int64_t{-1}}};
  return {narrowed(n, n.emit("LayerNormalization", {n.in_as(0, dtype), weight, n.in_as(2, dtype)}, attributes))};
}

Names rms_norm(const ExportNode& n) {
  const DType dtype = wide(n);
  const std::string x = n.in_as(0, dtype);
  const std::string epsilon = n.number(n.attributes().get_or<double>("epsilon", 1e-6), dtype);
  const std::string mean = n.reduce("ReduceMean", n.emit("Mul", {x, x}), {-1});
  const std::string y = n.emit("Div", {x, n.emit("Sqrt", {n.emit("Add", {mean, epsilon})})});
  return {narrowed(n, n.has(1) ? n.emit("Mul", {y, n.in_as(1, dtype)}) : y)};
}

Names l2_normalise(const ExportNode& n) {
  const DType dtype = wide(n);
  const std::string x = n.in_as(0, dtype);
  const std::string least = n.number(n.attributes().get_or<double>("epsilon", 1e-12), dtype);
  return {narrowed(n, n.emit("Div", {x, n.emit("Max", {n.reduce("ReduceL2", x, {-1}), least})}))};
}

Names norm_operands(const ExportNode& n) {
  Names inputs;
  for (size_t i = 0; i < 5; ++i) inputs.push_back(n.in_as(i, wide(n)));
  return inputs;
}

Attributes norm_attributes(const ExportNode& n) {
  Attributes attributes{{"epsilon", n.attributes().get_or<double>("epsilon", 1e-5)}};
  if (n.attributes().has("momentum")) attributes.set("momentum", 1 - n.attributes().get<double>("momentum"));
  return attributes;
}

Names batch_norm(const ExportNode& n) {
  return {narrowed(n, n.emit("BatchNormalization", norm_operands(n), norm_attributes(n)))};
}

// ONNX carries the variance of the population on, and gives no statistics of the batch.
Names batch_norm_train(const ExportNode& n) {
  for (size_t result : {1u, 2u, 4u})
    if (n.graph().use_count(n.node().results[result]) > 0)
      not_in_onnx("batch_norm_train whose statistics of the batch, or variance of the sample, are read");
  if (n.integer("channels_last", 0) == 1) not_in_onnx("batch_norm_train of [N,...,C]");
  n.needs(15, "batch_norm_train");
  Attributes attributes = norm_attributes(n);
  attributes.set("training_mode", int64_t{1});
  const Names written = n.emit_all("BatchNormalization", norm_operands(n), attributes, 3);
  const std::string mean = n.cast(written[1], wide(n), n.result_type(3).dtype);
  return {narrowed(n, written[0]), "", "", mean, ""};
}

// Integers of fewer than 32 bits as those of 32.
template <OperatorName name, bool axes_are_operand>
Names reduce(const ExportNode& n) {
  const DType result = n.result_type().dtype;
  const DType dtype = is_float(result) ? result : result == DType::boolean ? DType::u8 : compute_dtype(result);
  Names inputs{n.in_as(0, dtype)};
  Attributes attributes{{"keepdims", n.integer("keepdims", 1)}};
  if (n.has(1)) {
    if (!axes_are_operand) n.needs(18, std::string(name.text) + " over computed axes");
    inputs.push_back(n.in_as(1, DType::i64));
    attributes.set("noop_with_empty_axes", n.integer("noop_with_empty_axes", 0));
  } else if (n.attributes().has("axes")) {
    const Integers& axes = n.attributes().get<Integers>("axes");
    if (axes.empty()) return {n.in(0)};
    if (axes_are_operand || n.opset() >= 18) inputs.push_back(n.integers(axes));
    else attributes.set("axes", axes);
  }
  return {n.cast(n.emit(name.text, inputs, attributes), dtype, result)};
}

template <OperatorName name>
Names extreme(const ExportNode& n) {
  return {n.emit(name.text, {n.in(0)},
                 {{"axis", n.integer("axis", -1)},
                  {"keepdims", n.integer("keepdims", 0)},
                  {"select_last_index", n.integer("select_last_index", 0)}})};
}

template <OperatorName name, int since>
Names running(const ExportNode& n) {
  n.needs(since, name.text);
  const std::string axis = n.has(1) ? n.in(1) : n.constant(Tensor::scalar<int64_t>(n.integer("axis", -1)));
  return {n.emit(name.text, {n.in(0), axis},
                 {{"exclusive", n.integer("exclusive", 0)}, {"reverse", n.integer("reverse", 0)}})};
}

Names mean_pool(const ExportNode& n) {
  const DType dtype = wide(n);
  const std::string mask = n.emit("Unsqueeze", {n.in_as(1, dtype), n.integers({2})});
  const auto sum = [&](const std::string& x) {
    return n.emit("ReduceSum", {x, n.integers({1})}, {{"keepdims", int64_t{0}}});
  };
  const std::string count = n.emit("Max", {sum(mask), n.number(1e-9, dtype)});
  return {narrowed(n, n.emit("Div", {sum(n.emit("Mul", {n.in_as(0, dtype), mask})), count}))};
}

Names cross_entropy(const ExportNode& n) {
  if (n.attributes().get_or<double>("label_smoothing", 0) > 0) not_in_onnx("SoftmaxCrossEntropyLoss smooths no labels");
  const Names inputs{n.in_as(0, wide(n)), n.in(1), n.in_as(2, wide(n))};
  const std::string loss =
      n.emit("SoftmaxCrossEntropyLoss", inputs, {{"ignore_index", n.integer("ignore_index", -100)}});
  return {narrowed(n, loss)};
}

Names nll_loss(const ExportNode& n) {
  Names inputs{n.in_as(0, wide(n)), n.in(1), n.in_as(2, wide(n))};
  return {narrowed(n, n.emit("NegativeLogLikelihoodLoss", inputs, n.attributes()))};
}

Names det(const ExportNode& n) { return {narrowed(n, n.emit("Det", {n.in_as(0, wide(n))}))}; }

constexpr ExportRule kRules[] = {
    {"argmax", extreme<"ArgMax">},
    {"argmin", extreme<"ArgMin">},
    {"batch_norm", batch_norm},
    {"batch_norm_train", batch_norm_train},
    {"cross_entropy", cross_entropy},
    {"cumprod", running<"CumProd", 26>},
    {"cumsum", running<"CumSum", kOldestExportOpset>},
    {"det", det},
    {"l2_normalise", l2_normalise},
    {"layer_norm", layer_norm},
    {"log_softmax", softmax<"LogSoftmax">},
    {"mean_pool", mean_pool},
    {"nll_loss", nll_loss},
    {"reduce_max", reduce<"ReduceMax", false>},
    {"reduce_mean", reduce<"ReduceMean", false>},
    {"reduce_min", reduce<"ReduceMin", false>},
    {"reduce_prod", reduce<"ReduceProd", false>},
    {"reduce_sum", reduce<"ReduceSum", true>},
    {"rms_norm", rms_norm},
    {"softmax", softmax<"Softmax">},
};

}  // namespace

std::span<const ExportRule> row_rules() { return kRules; }

}  // namespace hone::onnx
