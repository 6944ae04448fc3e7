// Transforms and windows of signals.
#include "io/onnx/onnx_family.h"
#include "ops/calls/cosine_window.h"
#include "ops/calls/fourier.h"
#include "ops/calls/mel_weight_matrix.h"

namespace hone {
namespace {

// An op under construction whose arguments are attributes where their values are known and operands where not.
struct Call {
  std::vector<ValueId> operands;
  Attributes attributes;

  void argument(const OnnxNode& n, int input, const char* name) {
    operands.push_back(kNone);
    if (!n.has(input)) return;
    if (std::optional<Shape> known = n.dims(n.in(input))) attributes.set(name, std::move(*known));
    else operands.back() = n.in(input);
  }
};

Call dft_call(const OnnxNode& n) {
  Call call{{n.in(0)}, {{"inverse", n.is_not_zero("inverse", false)}, {"onesided", n.is_not_zero("onesided", false)}}};
  call.argument(n, 1, "length");
  return call;
}

std::vector<ValueId> import_dft_17(OnnxNode& n) {
  Call call = dft_call(n);
  call.attributes.set("axis", Shape{n.integer("axis", 1)});
  return {n.emit({&dft_def, call.operands, call.attributes})};
}

std::vector<ValueId> import_dft(OnnxNode& n) {
  Call call = dft_call(n);
  call.argument(n, 2, "axis");
  return {n.emit({&dft_def, call.operands, call.attributes})};
}

std::vector<ValueId> import_stft(OnnxNode& n) {
  Call call{{n.in(0), n.in_or_none(2)}, {{"onesided", n.is_not_zero("onesided", true)}}};
  call.argument(n, 1, "step");
  call.argument(n, 3, "length");
  return {n.emit({&stft_def, call.operands, call.attributes})};
}

std::vector<ValueId> import_window(const OnnxNode& n, std::vector<double> coefficients) {
  Call call{{},
            {{"coefficients", std::move(coefficients)},
             {"periodic", n.is_not_zero("periodic", true)},
             {"dtype", n.dtype("output_datatype", DType::f32)}}};
  call.argument(n, 0, "size");
  return {n.emit({&cosine_window_def, call.operands, call.attributes})};
}

std::vector<ValueId> import_hann(OnnxNode& n) { return import_window(n, {0.5, -0.5}); }
std::vector<ValueId> import_hamming(OnnxNode& n) { return import_window(n, {25.0 / 46, -21.0 / 46}); }
std::vector<ValueId> import_blackman(OnnxNode& n) { return import_window(n, {0.42, -0.5, 0.08}); }

std::vector<ValueId> import_mel(OnnxNode& n) {
  return {ops::mel_weight_matrix(n, {.mel_bins = n.in(0),
                                     .dft_length = n.in(1),
                                     .sample_rate = n.in(2),
                                     .lower_edge = n.in(3),
                                     .upper_edge = n.in(4),
                                     .dtype = n.dtype("output_datatype", DType::f32)})};
}

constexpr OnnxOperator kOperators[] = {
    {"DFT", 17, import_dft_17},
    {"DFT", 20, import_dft},
    {"STFT", 17, import_stft},
    {"HannWindow", 17, import_hann},
    {"HammingWindow", 17, import_hamming},
    {"BlackmanWindow", 17, import_blackman},
    {"MelWeightMatrix", 17, import_mel},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_signal_def{.name = "signal", .operators = kOperators};

}  // namespace hone
