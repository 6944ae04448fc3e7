// Written by generate_api from the tables of options.
#include "api/given_options.h"

#include <hone/allocate.h>
#include <hone/bench.h>
#include <hone/evaluate.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/search.h>
#include <hone/session.h>
#include <hone/sweep.h>
#include <hone/train.h>

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

template <>
GivenOptions given(const EvaluateOptions& options) {
  GivenOptions all;
  const EvaluateOptions unset;
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "metric", options.metric, unset.metric);
  detail::add(all, "batch", options.batch, unset.batch);
  detail::add(all, "cmd-seconds", options.cmd_seconds, unset.cmd_seconds);
  detail::add(all, "split", options.split, unset.split);
  detail::add(all, "limit", options.limit, unset.limit);
  detail::add(all, "score-output", options.score_output, unset.score_output);
  detail::add(all, "max-length", options.max_length, unset.max_length);
  detail::add(all, "format", options.format, unset.format);
  detail::add(all, "text", options.text, unset.text);
  detail::add(all, "text2", options.text2, unset.text2);
  detail::add(all, "label", options.label, unset.label);
  detail::add(all, "labels", options.labels, unset.labels);
  detail::add(all, "target", options.target, unset.target);
  detail::add(all, "tokens", options.tokens, unset.tokens);
  detail::add(all, "tags", options.tags, unset.tags);
  detail::add(all, "group-column", options.group_column, unset.group_column);
  detail::add(all, "split-column", options.split_column, unset.split_column);
  detail::add(all, "separator", options.separator, unset.separator);
  detail::add(all, "no-header", options.no_header, unset.no_header);
  detail::add(all, "classes", options.classes, unset.classes);
  detail::add(all, "channels", options.channels, unset.channels);
  detail::add(all, "validation-file", options.validation_file, unset.validation_file);
  detail::add(all, "test-file", options.test_file, unset.test_file);
  detail::add(all, "validation-fraction", options.validation_fraction, unset.validation_fraction);
  detail::add(all, "test-fraction", options.test_fraction, unset.test_fraction);
  detail::add(all, "split-seed", options.split_seed, unset.split_seed);
  detail::add(all, "seed", options.seed, unset.seed);
  detail::add(all, "answers", options.answers, unset.answers);
  detail::add(all, "least-score", options.least_score, unset.least_score);
  detail::add(all, "least-iou", options.least_iou, unset.least_iou);
  detail::add(all, "neighbours", options.neighbours, unset.neighbours);
  detail::add(all, "window", options.window, unset.window);
  detail::add(all, "stride", options.stride, unset.stride);
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
  detail::add(all, "trust-code", options.trust_code, unset.trust_code);
  detail::add(all, "compute", options.compute, unset.compute);
  return all;
}

template <>
GivenOptions given(const BenchOptions& options) {
  GivenOptions all;
  const BenchOptions unset;
  detail::add(all, "batch", options.batch, unset.batch);
  detail::add(all, "seq", options.seq, unset.seq);
  detail::add(all, "dim", options.dim, unset.dim);
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
  detail::add(all, "trust-code", options.trust_code, unset.trust_code);
  detail::add(all, "compute", options.compute, unset.compute);
  detail::add(all, "input", options.input, unset.input);
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "metric", options.metric, unset.metric);
  detail::add(all, "data-batch", options.data_batch, unset.data_batch);
  detail::add(all, "cmd-seconds", options.cmd_seconds, unset.cmd_seconds);
  detail::add(all, "data-split", options.data_split, unset.data_split);
  detail::add(all, "data-limit", options.data_limit, unset.data_limit);
  detail::add(all, "score-output", options.score_output, unset.score_output);
  detail::add(all, "max-length", options.max_length, unset.max_length);
  detail::add(all, "data-format", options.data_format, unset.data_format);
  detail::add(all, "data-text", options.data_text, unset.data_text);
  detail::add(all, "data-text2", options.data_text2, unset.data_text2);
  detail::add(all, "data-label", options.data_label, unset.data_label);
  detail::add(all, "data-labels", options.data_labels, unset.data_labels);
  detail::add(all, "data-target", options.data_target, unset.data_target);
  detail::add(all, "data-tokens", options.data_tokens, unset.data_tokens);
  detail::add(all, "data-tags", options.data_tags, unset.data_tags);
  detail::add(all, "data-group-column", options.data_group_column, unset.data_group_column);
  detail::add(all, "data-split-column", options.data_split_column, unset.data_split_column);
  detail::add(all, "data-separator", options.data_separator, unset.data_separator);
  detail::add(all, "data-no-header", options.data_no_header, unset.data_no_header);
  detail::add(all, "data-classes", options.data_classes, unset.data_classes);
  detail::add(all, "data-channels", options.data_channels, unset.data_channels);
  detail::add(all, "data-validation-file", options.data_validation_file, unset.data_validation_file);
  detail::add(all, "data-test-file", options.data_test_file, unset.data_test_file);
  detail::add(all, "data-validation-fraction", options.data_validation_fraction, unset.data_validation_fraction);
  detail::add(all, "data-test-fraction", options.data_test_fraction, unset.data_test_fraction);
  detail::add(all, "data-split-seed", options.data_split_seed, unset.data_split_seed);
  detail::add(all, "seconds", options.seconds, unset.seconds);
  detail::add(all, "seed", options.seed, unset.seed);
  detail::add(all, "no-probe", options.no_probe, unset.no_probe);
  detail::add(all, "protocol", options.protocol, unset.protocol);
  detail::add(all, "check-finite", options.check_finite, unset.check_finite);
  return all;
}

template <>
GivenOptions given(const TrainOptions& options) {
  GivenOptions all;
  const TrainOptions unset;
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "folder", options.folder, unset.folder);
  detail::add(all, "resume", options.resume, unset.resume);
  detail::add(all, "skip-bad", options.skip_bad, unset.skip_bad);
  detail::add(all, "epochs", options.epochs, unset.epochs);
  detail::add(all, "steps", options.steps, unset.steps);
  detail::add(all, "batch", options.batch, unset.batch);
  detail::add(all, "parts", options.parts, unset.parts);
  detail::add(all, "window", options.window, unset.window);
  detail::add(all, "in-order", options.in_order, unset.in_order);
  detail::add(all, "max-length", options.max_length, unset.max_length);
  detail::add(all, "recompute", options.recompute, unset.recompute);
  detail::add(all, "optimizer", options.optimizer, unset.optimizer);
  detail::add(all, "rate", options.rate, unset.rate);
  detail::add(all, "decay", options.decay, unset.decay);
  detail::add(all, "optimizer-option", options.optimizer_option, unset.optimizer_option);
  detail::add(all, "rule", options.rule, unset.rule);
  detail::add(all, "decay-all", options.decay_all, unset.decay_all);
  detail::add(all, "clip-norm", options.clip_norm, unset.clip_norm);
  detail::add(all, "clip-value", options.clip_value, unset.clip_value);
  detail::add(all, "dropout", options.dropout, unset.dropout);
  detail::add(all, "dropout-layers", options.dropout_layers, unset.dropout_layers);
  detail::add(all, "loss", options.loss, unset.loss);
  detail::add(all, "class-weights", options.class_weights, unset.class_weights);
  detail::add(all, "label-smoothing", options.label_smoothing, unset.label_smoothing);
  detail::add(all, "head", options.head, unset.head);
  detail::add(all, "pooling", options.pooling, unset.pooling);
  detail::add(all, "predictions", options.predictions, unset.predictions);
  detail::add(all, "from-scratch", options.from_scratch, unset.from_scratch);
  detail::add(all, "lora", options.lora, unset.lora);
  detail::add(all, "lora-rank", options.lora_rank, unset.lora_rank);
  detail::add(all, "lora-alpha", options.lora_alpha, unset.lora_alpha);
  detail::add(all, "lora-dropout", options.lora_dropout, unset.lora_dropout);
  detail::add(all, "rslora", options.rslora, unset.rslora);
  detail::add(all, "dora", options.dora, unset.dora);
  detail::add(all, "keep-zeros", options.keep_zeros, unset.keep_zeros);
  detail::add(all, "qat", options.qat, unset.qat);
  detail::add(all, "learn-scales", options.learn_scales, unset.learn_scales);
  detail::add(all, "teacher", options.teacher, unset.teacher);
  detail::add(all, "temperature", options.temperature, unset.temperature);
  detail::add(all, "distill-weight", options.distill_weight, unset.distill_weight);
  detail::add(all, "distill-layers", options.distill_layers, unset.distill_layers);
  detail::add(all, "distill-layer-weight", options.distill_layer_weight, unset.distill_layer_weight);
  detail::add(all, "image-size", options.image_size, unset.image_size);
  detail::add(all, "crop-padding", options.crop_padding, unset.crop_padding);
  detail::add(all, "flip", options.flip, unset.flip);
  detail::add(all, "metric", options.metric, unset.metric);
  detail::add(all, "validate-every", options.validate_every, unset.validate_every);
  detail::add(all, "checkpoint-every", options.checkpoint_every, unset.checkpoint_every);
  detail::add(all, "log-every", options.log_every, unset.log_every);
  detail::add(all, "patience", options.patience, unset.patience);
  detail::add(all, "seed", options.seed, unset.seed);
  detail::add(all, "schedule", options.schedule, unset.schedule);
  detail::add(all, "warmup", options.warmup, unset.warmup);
  detail::add(all, "final-rate", options.final_rate, unset.final_rate);
  detail::add(all, "step-every", options.step_every, unset.step_every);
  detail::add(all, "step-factor", options.step_factor, unset.step_factor);
  detail::add(all, "format", options.format, unset.format);
  detail::add(all, "text", options.text, unset.text);
  detail::add(all, "text2", options.text2, unset.text2);
  detail::add(all, "label", options.label, unset.label);
  detail::add(all, "labels", options.labels, unset.labels);
  detail::add(all, "target", options.target, unset.target);
  detail::add(all, "tokens", options.tokens, unset.tokens);
  detail::add(all, "tags", options.tags, unset.tags);
  detail::add(all, "group-column", options.group_column, unset.group_column);
  detail::add(all, "split-column", options.split_column, unset.split_column);
  detail::add(all, "separator", options.separator, unset.separator);
  detail::add(all, "no-header", options.no_header, unset.no_header);
  detail::add(all, "classes", options.classes, unset.classes);
  detail::add(all, "channels", options.channels, unset.channels);
  detail::add(all, "validation-file", options.validation_file, unset.validation_file);
  detail::add(all, "test-file", options.test_file, unset.test_file);
  detail::add(all, "validation-fraction", options.validation_fraction, unset.validation_fraction);
  detail::add(all, "test-fraction", options.test_fraction, unset.test_fraction);
  detail::add(all, "split-seed", options.split_seed, unset.split_seed);
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
  return all;
}

template <>
GivenOptions given(const PruneOptions& options) {
  GivenOptions all;
  const PruneOptions unset;
  detail::add(all, "sparsity", options.sparsity, unset.sparsity);
  detail::add(all, "method", options.method, unset.method);
  detail::add(all, "structure", options.structure, unset.structure);
  detail::add(all, "scope", options.scope, unset.scope);
  detail::add(all, "rule", options.rule, unset.rule);
  detail::add(all, "skip", options.skip, unset.skip);
  detail::add(all, "seed", options.seed, unset.seed);
  detail::add(all, "schedule", options.schedule, unset.schedule);
  detail::add(all, "stages", options.stages, unset.stages);
  detail::add(all, "score-rate", options.score_rate, unset.score_rate);
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "batch", options.batch, unset.batch);
  detail::add(all, "train-config", options.train_config, unset.train_config);
  detail::add(all, "store", options.store, unset.store);
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
  return all;
}

template <>
GivenOptions given(const SweepOptions& options) {
  GivenOptions all;
  const SweepOptions unset;
  detail::add(all, "formats", options.formats, unset.formats);
  detail::add(all, "sparsity", options.sparsity, unset.sparsity);
  detail::add(all, "methods", options.methods, unset.methods);
  detail::add(all, "structure", options.structure, unset.structure);
  detail::add(all, "scope", options.scope, unset.scope);
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "metric", options.metric, unset.metric);
  detail::add(all, "data-split", options.data_split, unset.data_split);
  detail::add(all, "data-limit", options.data_limit, unset.data_limit);
  detail::add(all, "score-output", options.score_output, unset.score_output);
  detail::add(all, "max-length", options.max_length, unset.max_length);
  detail::add(all, "data-format", options.data_format, unset.data_format);
  detail::add(all, "data-text", options.data_text, unset.data_text);
  detail::add(all, "data-text2", options.data_text2, unset.data_text2);
  detail::add(all, "data-label", options.data_label, unset.data_label);
  detail::add(all, "data-labels", options.data_labels, unset.data_labels);
  detail::add(all, "data-target", options.data_target, unset.data_target);
  detail::add(all, "data-tokens", options.data_tokens, unset.data_tokens);
  detail::add(all, "data-tags", options.data_tags, unset.data_tags);
  detail::add(all, "data-group-column", options.data_group_column, unset.data_group_column);
  detail::add(all, "data-split-column", options.data_split_column, unset.data_split_column);
  detail::add(all, "data-separator", options.data_separator, unset.data_separator);
  detail::add(all, "data-no-header", options.data_no_header, unset.data_no_header);
  detail::add(all, "data-classes", options.data_classes, unset.data_classes);
  detail::add(all, "data-channels", options.data_channels, unset.data_channels);
  detail::add(all, "data-validation-file", options.data_validation_file, unset.data_validation_file);
  detail::add(all, "data-test-file", options.data_test_file, unset.data_test_file);
  detail::add(all, "data-validation-fraction", options.data_validation_fraction, unset.data_validation_fraction);
  detail::add(all, "data-test-fraction", options.data_test_fraction, unset.data_test_fraction);
  detail::add(all, "data-split-seed", options.data_split_seed, unset.data_split_seed);
  detail::add(all, "with-activations", options.with_activations, unset.with_activations);
  detail::add(all, "train", options.train, unset.train);
  detail::add(all, "train-config", options.train_config, unset.train_config);
  detail::add(all, "measurements", options.measurements, unset.measurements);
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
  detail::add(all, "trust-code", options.trust_code, unset.trust_code);
  return all;
}

template <>
GivenOptions given(const AllocateOptions& options) {
  GivenOptions all;
  const AllocateOptions unset;
  detail::add(all, "formats", options.formats, unset.formats);
  detail::add(all, "budget", options.budget, unset.budget);
  detail::add(all, "lambda", options.lambda, unset.lambda);
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "metric", options.metric, unset.metric);
  detail::add(all, "data-split", options.data_split, unset.data_split);
  detail::add(all, "data-limit", options.data_limit, unset.data_limit);
  detail::add(all, "score-output", options.score_output, unset.score_output);
  detail::add(all, "max-length", options.max_length, unset.max_length);
  detail::add(all, "data-format", options.data_format, unset.data_format);
  detail::add(all, "data-text", options.data_text, unset.data_text);
  detail::add(all, "data-text2", options.data_text2, unset.data_text2);
  detail::add(all, "data-label", options.data_label, unset.data_label);
  detail::add(all, "data-labels", options.data_labels, unset.data_labels);
  detail::add(all, "data-target", options.data_target, unset.data_target);
  detail::add(all, "data-tokens", options.data_tokens, unset.data_tokens);
  detail::add(all, "data-tags", options.data_tags, unset.data_tags);
  detail::add(all, "data-group-column", options.data_group_column, unset.data_group_column);
  detail::add(all, "data-split-column", options.data_split_column, unset.data_split_column);
  detail::add(all, "data-separator", options.data_separator, unset.data_separator);
  detail::add(all, "data-no-header", options.data_no_header, unset.data_no_header);
  detail::add(all, "data-classes", options.data_classes, unset.data_classes);
  detail::add(all, "data-channels", options.data_channels, unset.data_channels);
  detail::add(all, "data-validation-file", options.data_validation_file, unset.data_validation_file);
  detail::add(all, "data-test-file", options.data_test_file, unset.data_test_file);
  detail::add(all, "data-validation-fraction", options.data_validation_fraction, unset.data_validation_fraction);
  detail::add(all, "data-test-fraction", options.data_test_fraction, unset.data_test_fraction);
  detail::add(all, "data-split-seed", options.data_split_seed, unset.data_split_seed);
  detail::add(all, "for", options.for_, unset.for_);
  detail::add(all, "batch", options.batch, unset.batch);
  detail::add(all, "seq", options.seq, unset.seq);
  detail::add(all, "dim", options.dim, unset.dim);
  detail::add(all, "front", options.front, unset.front);
  detail::add(all, "measure-all", options.measure_all, unset.measure_all);
  detail::add(all, "trials", options.trials, unset.trials);
  detail::add(all, "measurements", options.measurements, unset.measurements);
  detail::add(all, "seconds", options.seconds, unset.seconds);
  detail::add(all, "seed", options.seed, unset.seed);
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
  detail::add(all, "trust-code", options.trust_code, unset.trust_code);
  return all;
}

template <>
GivenOptions given(const SearchOptions& options) {
  GivenOptions all;
  const SearchOptions unset;
  detail::add(all, "model", options.model, unset.model);
  detail::add(all, "config", options.config, unset.config);
  detail::add(all, "space", options.space, unset.space);
  detail::add(all, "data", options.data, unset.data);
  detail::add(all, "objective", options.objective, unset.objective);
  detail::add(all, "budget", options.budget, unset.budget);
  detail::add(all, "trials", options.trials, unset.trials);
  detail::add(all, "sampler", options.sampler, unset.sampler);
  detail::add(all, "sampler-option", options.sampler_option, unset.sampler_option);
  detail::add(all, "pruner", options.pruner, unset.pruner);
  detail::add(all, "pruner-option", options.pruner_option, unset.pruner_option);
  detail::add(all, "seed", options.seed, unset.seed);
  detail::add(all, "workers", options.workers, unset.workers);
  detail::add(all, "storage", options.storage, unset.storage);
  detail::add(all, "study", options.study, unset.study);
  detail::add(all, "resume", options.resume, unset.resume);
  detail::add(all, "output", options.output, unset.output);
  detail::add(all, "inputs", options.inputs, unset.inputs);
  detail::add(all, "model-format", options.model_format, unset.model_format);
  detail::add(all, "data-format", options.data_format, unset.data_format);
  detail::add(all, "data-text", options.data_text, unset.data_text);
  detail::add(all, "data-text2", options.data_text2, unset.data_text2);
  detail::add(all, "data-label", options.data_label, unset.data_label);
  detail::add(all, "data-labels", options.data_labels, unset.data_labels);
  detail::add(all, "data-target", options.data_target, unset.data_target);
  detail::add(all, "data-tokens", options.data_tokens, unset.data_tokens);
  detail::add(all, "data-tags", options.data_tags, unset.data_tags);
  detail::add(all, "data-group-column", options.data_group_column, unset.data_group_column);
  detail::add(all, "data-split-column", options.data_split_column, unset.data_split_column);
  detail::add(all, "data-separator", options.data_separator, unset.data_separator);
  detail::add(all, "data-no-header", options.data_no_header, unset.data_no_header);
  detail::add(all, "data-classes", options.data_classes, unset.data_classes);
  detail::add(all, "data-channels", options.data_channels, unset.data_channels);
  detail::add(all, "data-validation-file", options.data_validation_file, unset.data_validation_file);
  detail::add(all, "data-test-file", options.data_test_file, unset.data_test_file);
  detail::add(all, "data-validation-fraction", options.data_validation_fraction, unset.data_validation_fraction);
  detail::add(all, "data-test-fraction", options.data_test_fraction, unset.data_test_fraction);
  detail::add(all, "data-split-seed", options.data_split_seed, unset.data_split_seed);
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
  return all;
}

}  // namespace hone::api
