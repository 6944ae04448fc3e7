// Quantization: the weights of a model, and the inputs of its layers, in other number formats.
#pragma once

#include <hone/model.h>

#include <optional>

namespace hone::HONE_API_INLINE api {
// begin of QuantizeOptions, written by generate_api
// What is stored in which format. A value that is not accepted is an Error that names the option.
struct QuantizeOptions {
  // number format of the weights, e.g. mxint8
  std::string to;
  // address=format, where the last match wins: a regular expression on names, op:NAME or name:NAME; LAYER.in and
  // LAYER.bias are a layer's input and bias; the format may be keep
  std::vector<std::string> rule;
  // regular expression on names of tensors that are kept
  std::vector<std::string> skip;
  // number format of the inputs of linear, conv, matmul and attention. int8 and uint8.asym, of the tensor or of each
  // row (g1x0), and mxint8 are multiplied as integers by such weights (mxint8 by linear's), and round the inputs of
  // layers with weights alone; others are simulated; int8@min-max: by a scale that calibration data choose (min-max,
  // moving-average, percentile, mse, entropy)
  std::string activations;
  // how to round weights: nearest, scale-search or gptq (needs calibration data)
  std::string method = "nearest";
  // gptq adds this share of the inputs' mean square to that of each, above 0 to 100
  double damping = 0.01;
  // gptq rounds weights of large inputs first
  bool activation_order = true;
  // biases take up the mean error of rounded weights (needs calibration data)
  bool bias_correction = false;
  // first give the weights of consecutive layers the same ranges
  bool equalise_layers = false;
  // move outliers of activations that are rounded into the weights first (needs calibration data)
  bool smooth_quant = false;
  // enlarge weights of large activations before rounding (needs calibration data)
  bool awq_scaling = false;
  // compute on blocks of 32 to 128 channels that are rotated by a Hadamard matrix
  bool rotate_hadamard = false;
  // how far smooth-quant moves outliers, from 0 to 1
  double alpha = 0.5;
  // what to do with NaN and infinite weights: error, saturate or keep
  std::string on_nonfinite = "error";
  // calibration data: .txt with a text a line, .npz with arrays named like the inputs, or .npy
  std::string calib;
  // samples of the calibration data that run at once
  int64_t calib_batch = 16;
  // Type that products of the written model read activations in: f32 or bf16
  std::string compute;
};
// end of QuantizeOptions

// One constant, or the inputs of one layer.
struct QuantizedTensor {
  std::string name;            // of the constant; address of the inputs: LAYER.in
  std::vector<int64_t> shape;  // of a constant as it is packed
  std::string before, after;   // formats or element types; equal where nothing changed
  std::string decided_by;      // "to mxint8", the text of a rule, "skip …"
  int64_t elements = 0, bytes_before = 0, bytes_after = 0;
  std::optional<double> sqnr_db;  // of the new values against those that were rounded; none where nothing changed
};

// A quantized model, and what became of each tensor.
struct QuantizeResult {
  Model model;  // with what rode along
  std::vector<QuantizedTensor> tensors;
  std::vector<QuantizedTensor> activations;                 // inputs of layers; sizes are 0
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;  // of all constants
};

// Throws Error for a rule that matches nothing, a format that does not fit a tensor, options that need calibration
// data where there are none, and where nothing at all is asked for. Nothing is written; Model::save() does that.
HONE_API QuantizeResult quantize(const Model& model, const QuantizeOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
