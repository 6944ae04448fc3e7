// Written by generate_api from the tables of options.
#include "options.h"

#include <hone/allocate.h>
#include <hone/bench.h>
#include <hone/evaluate.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/search.h>
#include <hone/session.h>
#include <hone/sweep.h>
#include <hone/train.h>

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

template <>
EvaluateOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "data",
      "metric",
      "batch",
      "cmd_seconds",
      "split",
      "limit",
      "score_output",
      "max_length",
      "format",
      "text",
      "text2",
      "label",
      "labels",
      "target",
      "tokens",
      "tags",
      "group_column",
      "split_column",
      "separator",
      "no_header",
      "classes",
      "channels",
      "validation_file",
      "test_file",
      "validation_fraction",
      "test_fraction",
      "split_seed",
      "seed",
      "answers",
      "least_score",
      "least_iou",
      "neighbours",
      "window",
      "stride",
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
      "trust_code",
      "compute",
      nullptr};
  check_names(given, kNames);
  EvaluateOptions options;
  take(given, "data", options.data);
  take(given, "metric", options.metric);
  take(given, "batch", options.batch);
  take(given, "cmd_seconds", options.cmd_seconds);
  take(given, "split", options.split);
  take(given, "limit", options.limit);
  take(given, "score_output", options.score_output);
  take(given, "max_length", options.max_length);
  take(given, "format", options.format);
  take(given, "text", options.text);
  take(given, "text2", options.text2);
  take(given, "label", options.label);
  take(given, "labels", options.labels);
  take(given, "target", options.target);
  take(given, "tokens", options.tokens);
  take(given, "tags", options.tags);
  take(given, "group_column", options.group_column);
  take(given, "split_column", options.split_column);
  take(given, "separator", options.separator);
  take(given, "no_header", options.no_header);
  take(given, "classes", options.classes);
  take(given, "channels", options.channels);
  take(given, "validation_file", options.validation_file);
  take(given, "test_file", options.test_file);
  take(given, "validation_fraction", options.validation_fraction);
  take(given, "test_fraction", options.test_fraction);
  take(given, "split_seed", options.split_seed);
  take(given, "seed", options.seed);
  take(given, "answers", options.answers);
  take(given, "least_score", options.least_score);
  take(given, "least_iou", options.least_iou);
  take(given, "neighbours", options.neighbours);
  take(given, "window", options.window);
  take(given, "stride", options.stride);
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
  take(given, "trust_code", options.trust_code);
  take(given, "compute", options.compute);
  return options;
}

template <>
BenchOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "batch",
      "seq",
      "dim",
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
      "trust_code",
      "compute",
      "input",
      "data",
      "metric",
      "data_batch",
      "cmd_seconds",
      "data_split",
      "data_limit",
      "score_output",
      "max_length",
      "data_format",
      "data_text",
      "data_text2",
      "data_label",
      "data_labels",
      "data_target",
      "data_tokens",
      "data_tags",
      "data_group_column",
      "data_split_column",
      "data_separator",
      "data_no_header",
      "data_classes",
      "data_channels",
      "data_validation_file",
      "data_test_file",
      "data_validation_fraction",
      "data_test_fraction",
      "data_split_seed",
      "seconds",
      "seed",
      "no_probe",
      "protocol",
      "check_finite",
      nullptr};
  check_names(given, kNames);
  BenchOptions options;
  take(given, "batch", options.batch);
  take(given, "seq", options.seq);
  take(given, "dim", options.dim);
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
  take(given, "trust_code", options.trust_code);
  take(given, "compute", options.compute);
  take(given, "input", options.input);
  take(given, "data", options.data);
  take(given, "metric", options.metric);
  take(given, "data_batch", options.data_batch);
  take(given, "cmd_seconds", options.cmd_seconds);
  take(given, "data_split", options.data_split);
  take(given, "data_limit", options.data_limit);
  take(given, "score_output", options.score_output);
  take(given, "max_length", options.max_length);
  take(given, "data_format", options.data_format);
  take(given, "data_text", options.data_text);
  take(given, "data_text2", options.data_text2);
  take(given, "data_label", options.data_label);
  take(given, "data_labels", options.data_labels);
  take(given, "data_target", options.data_target);
  take(given, "data_tokens", options.data_tokens);
  take(given, "data_tags", options.data_tags);
  take(given, "data_group_column", options.data_group_column);
  take(given, "data_split_column", options.data_split_column);
  take(given, "data_separator", options.data_separator);
  take(given, "data_no_header", options.data_no_header);
  take(given, "data_classes", options.data_classes);
  take(given, "data_channels", options.data_channels);
  take(given, "data_validation_file", options.data_validation_file);
  take(given, "data_test_file", options.data_test_file);
  take(given, "data_validation_fraction", options.data_validation_fraction);
  take(given, "data_test_fraction", options.data_test_fraction);
  take(given, "data_split_seed", options.data_split_seed);
  take(given, "seconds", options.seconds);
  take(given, "seed", options.seed);
  take(given, "no_probe", options.no_probe);
  take(given, "protocol", options.protocol);
  take(given, "check_finite", options.check_finite);
  return options;
}

template <>
TrainOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "data",
      "folder",
      "resume",
      "skip_bad",
      "epochs",
      "steps",
      "batch",
      "parts",
      "window",
      "in_order",
      "max_length",
      "recompute",
      "optimizer",
      "rate",
      "decay",
      "optimizer_option",
      "rule",
      "decay_all",
      "clip_norm",
      "clip_value",
      "dropout",
      "dropout_layers",
      "loss",
      "class_weights",
      "label_smoothing",
      "head",
      "pooling",
      "predictions",
      "from_scratch",
      "lora",
      "lora_rank",
      "lora_alpha",
      "lora_dropout",
      "rslora",
      "dora",
      "keep_zeros",
      "qat",
      "learn_scales",
      "teacher",
      "temperature",
      "distill_weight",
      "distill_layers",
      "distill_layer_weight",
      "image_size",
      "crop_padding",
      "flip",
      "metric",
      "validate_every",
      "checkpoint_every",
      "log_every",
      "patience",
      "seed",
      "schedule",
      "warmup",
      "final_rate",
      "step_every",
      "step_factor",
      "format",
      "text",
      "text2",
      "label",
      "labels",
      "target",
      "tokens",
      "tags",
      "group_column",
      "split_column",
      "separator",
      "no_header",
      "classes",
      "channels",
      "validation_file",
      "test_file",
      "validation_fraction",
      "test_fraction",
      "split_seed",
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
      nullptr};
  check_names(given, kNames);
  TrainOptions options;
  take(given, "data", options.data);
  take(given, "folder", options.folder);
  take(given, "resume", options.resume);
  take(given, "skip_bad", options.skip_bad);
  take(given, "epochs", options.epochs);
  take(given, "steps", options.steps);
  take(given, "batch", options.batch);
  take(given, "parts", options.parts);
  take(given, "window", options.window);
  take(given, "in_order", options.in_order);
  take(given, "max_length", options.max_length);
  take(given, "recompute", options.recompute);
  take(given, "optimizer", options.optimizer);
  take(given, "rate", options.rate);
  take(given, "decay", options.decay);
  take(given, "optimizer_option", options.optimizer_option);
  take(given, "rule", options.rule);
  take(given, "decay_all", options.decay_all);
  take(given, "clip_norm", options.clip_norm);
  take(given, "clip_value", options.clip_value);
  take(given, "dropout", options.dropout);
  take(given, "dropout_layers", options.dropout_layers);
  take(given, "loss", options.loss);
  take(given, "class_weights", options.class_weights);
  take(given, "label_smoothing", options.label_smoothing);
  take(given, "head", options.head);
  take(given, "pooling", options.pooling);
  take(given, "predictions", options.predictions);
  take(given, "from_scratch", options.from_scratch);
  take(given, "lora", options.lora);
  take(given, "lora_rank", options.lora_rank);
  take(given, "lora_alpha", options.lora_alpha);
  take(given, "lora_dropout", options.lora_dropout);
  take(given, "rslora", options.rslora);
  take(given, "dora", options.dora);
  take(given, "keep_zeros", options.keep_zeros);
  take(given, "qat", options.qat);
  take(given, "learn_scales", options.learn_scales);
  take(given, "teacher", options.teacher);
  take(given, "temperature", options.temperature);
  take(given, "distill_weight", options.distill_weight);
  take(given, "distill_layers", options.distill_layers);
  take(given, "distill_layer_weight", options.distill_layer_weight);
  take(given, "image_size", options.image_size);
  take(given, "crop_padding", options.crop_padding);
  take(given, "flip", options.flip);
  take(given, "metric", options.metric);
  take(given, "validate_every", options.validate_every);
  take(given, "checkpoint_every", options.checkpoint_every);
  take(given, "log_every", options.log_every);
  take(given, "patience", options.patience);
  take(given, "seed", options.seed);
  take(given, "schedule", options.schedule);
  take(given, "warmup", options.warmup);
  take(given, "final_rate", options.final_rate);
  take(given, "step_every", options.step_every);
  take(given, "step_factor", options.step_factor);
  take(given, "format", options.format);
  take(given, "text", options.text);
  take(given, "text2", options.text2);
  take(given, "label", options.label);
  take(given, "labels", options.labels);
  take(given, "target", options.target);
  take(given, "tokens", options.tokens);
  take(given, "tags", options.tags);
  take(given, "group_column", options.group_column);
  take(given, "split_column", options.split_column);
  take(given, "separator", options.separator);
  take(given, "no_header", options.no_header);
  take(given, "classes", options.classes);
  take(given, "channels", options.channels);
  take(given, "validation_file", options.validation_file);
  take(given, "test_file", options.test_file);
  take(given, "validation_fraction", options.validation_fraction);
  take(given, "test_fraction", options.test_fraction);
  take(given, "split_seed", options.split_seed);
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
  return options;
}

template <>
PruneOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "sparsity",
      "method",
      "structure",
      "scope",
      "rule",
      "skip",
      "seed",
      "schedule",
      "stages",
      "score_rate",
      "data",
      "batch",
      "train_config",
      "store",
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
      nullptr};
  check_names(given, kNames);
  PruneOptions options;
  take(given, "sparsity", options.sparsity);
  take(given, "method", options.method);
  take(given, "structure", options.structure);
  take(given, "scope", options.scope);
  take(given, "rule", options.rule);
  take(given, "skip", options.skip);
  take(given, "seed", options.seed);
  take(given, "schedule", options.schedule);
  take(given, "stages", options.stages);
  take(given, "score_rate", options.score_rate);
  take(given, "data", options.data);
  take(given, "batch", options.batch);
  take(given, "train_config", options.train_config);
  take(given, "store", options.store);
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
  return options;
}

template <>
SweepOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "formats",
      "sparsity",
      "methods",
      "structure",
      "scope",
      "data",
      "metric",
      "data_split",
      "data_limit",
      "score_output",
      "max_length",
      "data_format",
      "data_text",
      "data_text2",
      "data_label",
      "data_labels",
      "data_target",
      "data_tokens",
      "data_tags",
      "data_group_column",
      "data_split_column",
      "data_separator",
      "data_no_header",
      "data_classes",
      "data_channels",
      "data_validation_file",
      "data_test_file",
      "data_validation_fraction",
      "data_test_fraction",
      "data_split_seed",
      "with_activations",
      "train",
      "train_config",
      "measurements",
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
      "trust_code",
      nullptr};
  check_names(given, kNames);
  SweepOptions options;
  take(given, "formats", options.formats);
  take(given, "sparsity", options.sparsity);
  take(given, "methods", options.methods);
  take(given, "structure", options.structure);
  take(given, "scope", options.scope);
  take(given, "data", options.data);
  take(given, "metric", options.metric);
  take(given, "data_split", options.data_split);
  take(given, "data_limit", options.data_limit);
  take(given, "score_output", options.score_output);
  take(given, "max_length", options.max_length);
  take(given, "data_format", options.data_format);
  take(given, "data_text", options.data_text);
  take(given, "data_text2", options.data_text2);
  take(given, "data_label", options.data_label);
  take(given, "data_labels", options.data_labels);
  take(given, "data_target", options.data_target);
  take(given, "data_tokens", options.data_tokens);
  take(given, "data_tags", options.data_tags);
  take(given, "data_group_column", options.data_group_column);
  take(given, "data_split_column", options.data_split_column);
  take(given, "data_separator", options.data_separator);
  take(given, "data_no_header", options.data_no_header);
  take(given, "data_classes", options.data_classes);
  take(given, "data_channels", options.data_channels);
  take(given, "data_validation_file", options.data_validation_file);
  take(given, "data_test_file", options.data_test_file);
  take(given, "data_validation_fraction", options.data_validation_fraction);
  take(given, "data_test_fraction", options.data_test_fraction);
  take(given, "data_split_seed", options.data_split_seed);
  take(given, "with_activations", options.with_activations);
  take(given, "train", options.train);
  take(given, "train_config", options.train_config);
  take(given, "measurements", options.measurements);
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
  take(given, "trust_code", options.trust_code);
  return options;
}

template <>
AllocateOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "formats",
      "budget",
      "lambda_",
      "data",
      "metric",
      "data_split",
      "data_limit",
      "score_output",
      "max_length",
      "data_format",
      "data_text",
      "data_text2",
      "data_label",
      "data_labels",
      "data_target",
      "data_tokens",
      "data_tags",
      "data_group_column",
      "data_split_column",
      "data_separator",
      "data_no_header",
      "data_classes",
      "data_channels",
      "data_validation_file",
      "data_test_file",
      "data_validation_fraction",
      "data_test_fraction",
      "data_split_seed",
      "for_",
      "batch",
      "seq",
      "dim",
      "front",
      "measure_all",
      "trials",
      "measurements",
      "seconds",
      "seed",
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
      "trust_code",
      nullptr};
  check_names(given, kNames);
  AllocateOptions options;
  take(given, "formats", options.formats);
  take(given, "budget", options.budget);
  take(given, "lambda_", options.lambda);
  take(given, "data", options.data);
  take(given, "metric", options.metric);
  take(given, "data_split", options.data_split);
  take(given, "data_limit", options.data_limit);
  take(given, "score_output", options.score_output);
  take(given, "max_length", options.max_length);
  take(given, "data_format", options.data_format);
  take(given, "data_text", options.data_text);
  take(given, "data_text2", options.data_text2);
  take(given, "data_label", options.data_label);
  take(given, "data_labels", options.data_labels);
  take(given, "data_target", options.data_target);
  take(given, "data_tokens", options.data_tokens);
  take(given, "data_tags", options.data_tags);
  take(given, "data_group_column", options.data_group_column);
  take(given, "data_split_column", options.data_split_column);
  take(given, "data_separator", options.data_separator);
  take(given, "data_no_header", options.data_no_header);
  take(given, "data_classes", options.data_classes);
  take(given, "data_channels", options.data_channels);
  take(given, "data_validation_file", options.data_validation_file);
  take(given, "data_test_file", options.data_test_file);
  take(given, "data_validation_fraction", options.data_validation_fraction);
  take(given, "data_test_fraction", options.data_test_fraction);
  take(given, "data_split_seed", options.data_split_seed);
  take(given, "for_", options.for_);
  take(given, "batch", options.batch);
  take(given, "seq", options.seq);
  take(given, "dim", options.dim);
  take(given, "front", options.front);
  take(given, "measure_all", options.measure_all);
  take(given, "trials", options.trials);
  take(given, "measurements", options.measurements);
  take(given, "seconds", options.seconds);
  take(given, "seed", options.seed);
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
  take(given, "trust_code", options.trust_code);
  return options;
}

template <>
SearchOptions options_of(const nb::dict& given) {
  static constexpr const char* kNames[] = {
      "model",
      "config",
      "space",
      "data",
      "objective",
      "budget",
      "trials",
      "sampler",
      "sampler_option",
      "pruner",
      "pruner_option",
      "seed",
      "workers",
      "storage",
      "study",
      "resume",
      "output",
      "inputs",
      "model_format",
      "data_format",
      "data_text",
      "data_text2",
      "data_label",
      "data_labels",
      "data_target",
      "data_tokens",
      "data_tags",
      "data_group_column",
      "data_split_column",
      "data_separator",
      "data_no_header",
      "data_classes",
      "data_channels",
      "data_validation_file",
      "data_test_file",
      "data_validation_fraction",
      "data_test_fraction",
      "data_split_seed",
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
      nullptr};
  check_names(given, kNames);
  SearchOptions options;
  take(given, "model", options.model);
  take(given, "config", options.config);
  take(given, "space", options.space);
  take(given, "data", options.data);
  take(given, "objective", options.objective);
  take(given, "budget", options.budget);
  take(given, "trials", options.trials);
  take(given, "sampler", options.sampler);
  take(given, "sampler_option", options.sampler_option);
  take(given, "pruner", options.pruner);
  take(given, "pruner_option", options.pruner_option);
  take(given, "seed", options.seed);
  take(given, "workers", options.workers);
  take(given, "storage", options.storage);
  take(given, "study", options.study);
  take(given, "resume", options.resume);
  take(given, "output", options.output);
  take(given, "inputs", options.inputs);
  take(given, "model_format", options.model_format);
  take(given, "data_format", options.data_format);
  take(given, "data_text", options.data_text);
  take(given, "data_text2", options.data_text2);
  take(given, "data_label", options.data_label);
  take(given, "data_labels", options.data_labels);
  take(given, "data_target", options.data_target);
  take(given, "data_tokens", options.data_tokens);
  take(given, "data_tags", options.data_tags);
  take(given, "data_group_column", options.data_group_column);
  take(given, "data_split_column", options.data_split_column);
  take(given, "data_separator", options.data_separator);
  take(given, "data_no_header", options.data_no_header);
  take(given, "data_classes", options.data_classes);
  take(given, "data_channels", options.data_channels);
  take(given, "data_validation_file", options.data_validation_file);
  take(given, "data_test_file", options.data_test_file);
  take(given, "data_validation_fraction", options.data_validation_fraction);
  take(given, "data_test_fraction", options.data_test_fraction);
  take(given, "data_split_seed", options.data_split_seed);
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
  return options;
}

}  // namespace hone::python
