// Written by generate_api from the tables of options.
#include "api/given_options.h"

#include <hone/quantize.h>
#include <hone/session.h>

namespace hone::api {

template <>
GivenOptions given(const SessionOptions& options) {
  GivenOptions all;
  const SessionOptions unset;
  detail::add(all, "device", options.device, unset.device);
  detail::add(all, "isa", options.isa, unset.isa);
  detail::add(all, "no-fallback", options.no_fallback, unset.no_fallback);
  detail::add(all, "backend", options.backend, unset.backend);
  detail::add(all, "optimise", options.optimise, unset.optimise);
  detail::add(all, "threads", options.threads, unset.threads);
  detail::add(all, "verify", options.verify, unset.verify);
  detail::add(all, "cache", options.cache, unset.cache);
  detail::add(all, "no-cache", options.no_cache, unset.no_cache);
  detail::add(all, "no-fusion", options.no_fusion, unset.no_fusion);
  detail::add(all, "no-winograd", options.no_winograd, unset.no_winograd);
  detail::add(all, "no-pass", options.no_pass, unset.no_pass);
  detail::add(all, "compute", options.compute, unset.compute);
  detail::add(all, "trust-code", options.trust_code, unset.trust_code);
  detail::add(all, "memory-limit", options.memory_limit, unset.memory_limit);
  return all;
}

template <>
GivenOptions given(const QuantizeOptions& options) {
  GivenOptions all;
  const QuantizeOptions unset;
  detail::add(all, "to", options.to, unset.to);
  detail::add(all, "rule", options.rule, unset.rule);
  detail::add(all, "skip", options.skip, unset.skip);
  detail::add(all, "activations", options.activations, unset.activations);
  detail::add(all, "method", options.method, unset.method);
  detail::add(all, "damping", options.damping, unset.damping);
  detail::add(all, "activation-order", options.activation_order, unset.activation_order);
  detail::add(all, "bias-correction", options.bias_correction, unset.bias_correction);
  detail::add(all, "equalise-layers", options.equalise_layers, unset.equalise_layers);
  detail::add(all, "smooth-quant", options.smooth_quant, unset.smooth_quant);
  detail::add(all, "awq-scaling", options.awq_scaling, unset.awq_scaling);
  detail::add(all, "rotate-hadamard", options.rotate_hadamard, unset.rotate_hadamard);
  detail::add(all, "alpha", options.alpha, unset.alpha);
  detail::add(all, "on-nonfinite", options.on_nonfinite, unset.on_nonfinite);
  detail::add(all, "calib", options.calib, unset.calib);
  detail::add(all, "calib-batch", options.calib_batch, unset.calib_batch);
  detail::add(all, "compute", options.compute, unset.compute);
  return all;
}

}  // namespace hone::api
