// Signal processing.
#include <fmt/format.h>

#include <cmath>

#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

// The axis is an attribute before opset 20, an operand since.
Names dft(const ExportNode& n) {
  Attributes attributes = n.take({"inverse", "onesided"});
  const Shape given = n.attributes().get_or<Shape>("axis", {-2});
  Names inputs{n.in(0), n.size_argument("length", 1)};
  if (n.has(2) || !is_constant(given)) n.needs(20, "DFT along a computed axis");
  if (n.opset() >= 20) inputs.push_back(n.has(2) ? n.in_as(2, DType::i64) : n.emit("Squeeze", {n.sizes(given)}));
  else
    attributes.set(
        "axis", given[0].constant() < 0 ? given[0].constant() + static_cast<int64_t>(n.rank(0)) : given[0].constant());
  return {n.emit("DFT", inputs, attributes)};
}

Names stft(const ExportNode& n) {
  return {n.emit("STFT", {n.in(0), n.size_argument("step", 2), n.in(1), n.size_argument("length", 3)},
                 n.take({"onesided"}))};
}

struct CosineWindow {
  const char* op_type;
  std::vector<double> coefficients;
};

// Hamming's coefficients are 25/46 and 21/46 in ONNX.
const char* window_name(const std::vector<double>& coefficients) {
  const CosineWindow kWindows[] = {
      {"HannWindow", {0.5, -0.5}}, {"HammingWindow", {25.0 / 46, -21.0 / 46}}, {"BlackmanWindow", {0.42, -0.5, 0.08}}};
  for (const CosineWindow& window : kWindows)
    if (window.coefficients == coefficients) return window.op_type;
  not_in_onnx(
      "coefficients {}; ONNX has the windows of Hann (0.5,-0.5), Hamming (25/46,-21/46) and Blackman "
      "(0.42,-0.5,0.08). Fold it into a constant",
      fmt::join(coefficients, ","));
}

Names cosine_window(const ExportNode& n) {
  Attributes attributes = n.take({"periodic"});
  attributes.set("output_datatype", n.result_type().dtype);
  return {n.emit(window_name(n.attributes().get<std::vector<double>>("coefficients")), {n.size_argument("size", 0)},
                 attributes)};
}

Names mel_weight_matrix(const ExportNode& n) {
  return {n.emit("MelWeightMatrix", n.all_in(), {{"output_datatype", n.result_type().dtype}})};
}

constexpr ExportRule kRules[] = {
    {"cosine_window", cosine_window}, {"dft", dft}, {"mel_weight_matrix", mel_weight_matrix}, {"stft", stft}};

}  // namespace

std::span<const ExportRule> signal_rules() { return kRules; }

}  // namespace hone::onnx
