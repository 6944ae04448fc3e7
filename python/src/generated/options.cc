// Written by generate_api from the tables of options.
#include "options.h"

#include <hone/quantize.h>
#include <hone/session.h>

namespace hone::python {

template <>
SessionOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "device",
      "isa",
      "no_fallback",
      "backend",
      "optimise",
      "threads",
      "verify",
      "cache",
      "no_cache",
      "no_fusion",
      "no_winograd",
      "no_pass",
      "compute",
      "trust_code",
      "memory_limit",
      nullptr};
  check_names(given, kNames);
  SessionOptions options;
  take(given, "device", options.device);
  take(given, "isa", options.isa);
  take(given, "no_fallback", options.no_fallback);
  take(given, "backend", options.backend);
  take(given, "optimise", options.optimise);
  take(given, "threads", options.threads);
  take(given, "verify", options.verify);
  take(given, "cache", options.cache);
  take(given, "no_cache", options.no_cache);
  take(given, "no_fusion", options.no_fusion);
  take(given, "no_winograd", options.no_winograd);
  take(given, "no_pass", options.no_pass);
  take(given, "compute", options.compute);
  take(given, "trust_code", options.trust_code);
  take(given, "memory_limit", options.memory_limit);
  return options;
}

template <>
QuantizeOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "to",
      "rule",
      "skip",
      "activations",
      "method",
      "damping",
      "activation_order",
      "bias_correction",
      "equalise_layers",
      "smooth_quant",
      "awq_scaling",
      "rotate_hadamard",
      "alpha",
      "on_nonfinite",
      "calib",
      "calib_batch",
      "compute",
      nullptr};
  check_names(given, kNames);
  QuantizeOptions options;
  take(given, "to", options.to);
  take(given, "rule", options.rule);
  take(given, "skip", options.skip);
  take(given, "activations", options.activations);
  take(given, "method", options.method);
  take(given, "damping", options.damping);
  take(given, "activation_order", options.activation_order);
  take(given, "bias_correction", options.bias_correction);
  take(given, "equalise_layers", options.equalise_layers);
  take(given, "smooth_quant", options.smooth_quant);
  take(given, "awq_scaling", options.awq_scaling);
  take(given, "rotate_hadamard", options.rotate_hadamard);
  take(given, "alpha", options.alpha);
  take(given, "on_nonfinite", options.on_nonfinite);
  take(given, "calib", options.calib);
  take(given, "calib_batch", options.calib_batch);
  take(given, "compute", options.compute);
  return options;
}

}  // namespace hone::python
