// Sweeps: a model in many number formats, or pruned in many ways, one after the other.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of SweepOptions, written by generate_api
// What a model is varied in, and judged by.
struct SweepOptions {
  // Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'
  std::vector<std::string> formats;
  // Prune instead, to these shares: 0.1:0.9, 0.5:0.9:0.05 or 0.5,0.75
  std::string sparsity;
  // Scores to prune by, e.g. random,l1 (hone prune --help lists them)
  std::vector<std::string> methods;
  // What is pruned: none, heads, neurons, channels or layers
  std::string structure = "none";
  // local or global
  std::string scope = "local";
  // What quality is measured on, half of it to choose by and half to report: a file as of --calib, or a data set
  // (default: that of --calib; where the method learns, it learns from the other half)
  std::string data;
  // What answers to data with labels are judged by: accuracy, cross_entropy, f1_macro, f1, f1_micro, kl, mae, mcc, mrr,
  // mse, pearson, perplexity, recall, same_token, spearman (default: what suits them)
  std::vector<std::string> metric;
  // Split to read: train, validation or test (default: test, else validation, else all rows)
  std::string data_split;
  // Largest number of rows to read, drawn by a seed
  std::optional<int64_t> data_limit;
  // The model's output that metrics are of (default: the one that fits)
  std::string score_output;
  // Tokens that texts are cut to (default: as in training, else what the model takes)
  std::optional<int64_t> max_length;
  // the reader, where the path does not tell
  std::string data_format;
  // column of the text, or of the first of two
  std::string data_text;
  // column of the second text
  std::string data_text2;
  // column of the class
  std::string data_label;
  // column of any number of classes
  std::string data_labels;
  // column of the number to predict
  std::string data_target;
  // column of words, each of which has a class
  std::string data_tokens;
  // column of the classes of words
  std::string data_tags;
  // column of what must not be in two splits, such as an author
  std::string data_group_column;
  // column that says train, validation or test
  std::string data_split_column;
  // what stands between the classes or words of one cell
  std::string data_separator = " ";
  // the first line is a row; columns are called 1, 2, ...
  bool data_no_header = false;
  // the classes in order, where those that occur are not all or not in that order
  std::vector<std::string> data_classes;
  // channels of decoded images: 1 gray, 3 color
  int64_t data_channels = 3;
  // file or folder with the rows for validation
  std::string data_validation_file;
  // file or folder with the rows for the test
  std::string data_test_file;
  // share of the rows to validate on, from 0 to 1
  double data_validation_fraction = 0;
  // share of the rows to test on, from 0 to 1
  double data_test_fraction = 0;
  // random seed that decides which rows those are
  int64_t data_split_seed = 0;
  // The inputs of products in each format too
  bool with_activations = false;
  // Train the model in each format as well, beside quantizing it, or after pruning, where zeros stay: for one epoch on
  // the training rows of --data, or as --train-config says
  bool train = false;
  // TOML file with the keys of hone train --config
  std::string train_config;
  // File in which measurements are remembered between runs (default: measurements.txt in --output)
  std::string measurements;
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
  std::string compute = "f32";
  // Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is --isa avx512; auto: a GPU where
  // there is one, else the CPU (default: cpu)
  std::string device;
  // Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then +feature or -feature, as in
  // avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default: host)
  std::string isa;
  // Refuse, and list, steps that the device has no kernel for, which kernels of the host run otherwise, on copies, and
  // where there are none the interpreter
  bool no_fallback = false;
  // cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums in double (cpu, cuda,
  // reference)
  std::string backend = "cpu";
  // 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
  int64_t optimise = 2;
  // Threads to use
  int64_t threads = 1;
  // Verify the graph after every pass
  bool verify = false;
  // Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
  std::string cache;
  // Neither read nor write machine code on disk
  bool no_cache = false;
  // Give each node a kernel of its own
  bool no_fusion = false;
  // Sums of products as they are written: no Winograd convolutions, whose rounding errors are larger
  bool no_winograd = false;
  // Leave a pass out (repeatable)
  std::vector<std::string> no_pass;
  // Run the machine code that the model's file carries (hone compile): it is a program, and can do whatever hone can
  bool trust_code = false;
};
// end of SweepOptions

// One variant of the model, measured.
struct SweptVariant {
  std::string format;    // of a sweep over formats: "int8.f4"
  std::string method;    // of a sweep over sparsities: "l1"
  double sparsity = 0;   // likewise
  bool trained = false;  // in the format, or after pruning
  OutputQuality selecting, held_out;
  double average_bits = 0;  // of formats: of everything that is stored
  int64_t bytes = 0;        // of the weights; of a sweep over sparsities with zeros as a bitmap
  int64_t parameters = 0;   // of a sweep over sparsities: weights that the model has
};

// Variants in the order of measuring: with training each one as it is, then trained.
struct SweepResult {
  std::string data;    // what they were measured on, in words
  std::string metric;  // what they were judged by; empty: the output error
  std::vector<SweptVariant> variants;
  std::optional<SweptVariant> original;          // as it is; of a sweep over sparsities only with training
  std::optional<SweptVariant> original_trained;  // as long as the variants, with training
  std::optional<size_t> best;                    // of a sweep over formats: of `variants`, where choices are compared
  int64_t measured = 0, recalled = 0;            // recalled: from SweepOptions::measurements
};

// Throws Error where neither or both of formats and sparsities are given, and where data and model do not fit.
HONE_API SweepResult sweep(const Model& model, const SweepOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
