// Allocation: a number format for each weight, so that a model meets a budget and loses least.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of AllocateOptions, written by generate_api
// What weights may be stored in, and what bounds the choice.
struct AllocateOptions {
  // Formats to choose from, e.g. mxint{3,4,6,8},int4.g32; required
  std::vector<std::string> formats;
  // avg-bits=4.5, bytes=12MB (of the whole file), latency=0.7x (of the original's time), latency=12ms (both of the file
  // as written and measured) or drop=0.5% (as few bits as lose no more of the metric, as of squeeze --max-drop)
  std::string budget;
  // Instead of a budget: minimize what is lost (1 - accuracy or another metric; without labels the output error) plus
  // this times average bits
  std::optional<double> lambda;
  // What choices are compared on, and, on samples that are held out from that, judged by: a file as of --calib, or a
  // data set (default: that of --calib; where the method learns, it learns from the other half)
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
  // The kind of file that the plan is for: its size is held to a budget of bytes (safetensors, onnx)
  std::string for_ = "safetensors";
  // Size of the first dimension of the inputs
  int64_t batch = 1;
  // Size of the inputs' second dimension (default: 128, or what the model can take when that is less; what its weights
  // and windows ask for comes first)
  std::optional<int64_t> seq;
  // Size of a dimension by name, e.g. S=64; it overrides --batch and --seq
  std::vector<std::string> dim;
  // What is chosen for other budgets too, as table and plot
  bool front = false;
  // Measure each tensor in every format; otherwise one measurement a tensor scales its layers' errors
  bool measure_all = false;
  // Choices measured to refine the solution
  int64_t trials = 8;
  // File in which measurements are remembered between runs
  std::string measurements;
  // Longest time that one measurement of times takes
  double seconds = 10;
  // Random seed for the refinement and for the order of rounds
  uint64_t seed = 1;
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
  std::string method = "gptq";
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
  std::string compute = "bf16";
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
// end of AllocateOptions

// One choice of formats for all weights, measured.
struct MeasuredChoice {
  std::string name;         // "the plan", "all in mxint4"
  double average_bits = 0;  // of everything that is stored
  int64_t bytes = 0;        // of the weights
  OutputQuality selecting, held_out;
};

// One weight of the plan, alone in its format.
struct AllocatedTensor {
  std::string name, format;
  int64_t bytes = 0;
  double layer_error = 0;    // of its layer's output, relative
  double output_error = 0;   // of the model's outputs
  bool is_measured = false;  // else the output error is an estimate
};

// A plan, beside one format for all and the original.
struct AllocateResult {
  // The plan, as QuantizeOptions has it: quantize() makes the model of these.
  std::vector<std::string> rule, skip;
  std::string method, activations, compute;
  int64_t file_bytes = 0;  // of the file that this model makes
  std::string data;        // what choices were measured on, in words
  std::string metric;      // what they were judged by; empty: the output error
  MeasuredChoice chosen, original;
  std::vector<MeasuredChoice> uniform;  // by format
  std::vector<MeasuredChoice> front;    // on demand: for other budgets
  std::vector<AllocatedTensor> tensors;
  int64_t measured = 0, recalled = 0;  // recalled: from AllocateOptions::measurements
};

// Throws Error where no choice meets the budget, and where data, options and model do not fit each other.
HONE_API AllocateResult allocate(const Model& model, const AllocateOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
