// How fast models are, timed in one run against each other, with what their answers are worth beside it.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of BenchOptions, written by generate_api
// What models are timed on, and for how long.
struct BenchOptions {
  // Size of the first dimension of the inputs
  int64_t batch = 1;
  // Size of the inputs' second dimension (default: 128, or what the model can take when that is less; what its weights
  // and windows ask for comes first)
  std::optional<int64_t> seq;
  // Size of a dimension by name, e.g. S=64; it overrides --batch and --seq
  std::vector<std::string> dim;
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
  // Type that products read activations in: f32 or bf16; sums are f32 (default: as stored in the model)
  std::string compute;
  // An input from a file: name=x.npy; default: seeded data of the model's own shapes
  std::vector<std::string> input;
  // Data set to judge answers on: a file or folder
  std::string data;
  // accuracy, cross_entropy, f1_macro, f1, f1_micro, kl, mae, mcc, mrr, mse, pearson, perplexity, recall, same_token,
  // spearman, retrieval, agreement (with the first model) or cmd:PROGRAM, which is given the answers as a file of JSON
  // lines and prints a number; several with commas (default: what suits the data)
  std::vector<std::string> metric;
  // Rows of the data that run at once
  int64_t data_batch = 16;
  // Longest that the program of cmd: may take
  double cmd_seconds = 600;
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
  // Longest measured part
  double seconds = 20;
  // Random seed for generated inputs and for the order of rounds
  uint64_t seed = 1;
  // Leave out what needs fresh processes: compile times, first result, memory
  bool no_probe = false;
  // fair: warm-up, interleaved rounds, medians; lab: also the mean of five runs, compilation included, and what the
  // difference is (fair, lab)
  std::string protocol = "fair";
  // Look at every result of the first run; name the first step that computes NaN or an infinity
  bool check_finite = false;
};
// end of BenchOptions

// One model beside the first.
struct SpeedComparison {
  double ratio = 1;       // the first model's time by its own: above 1 it takes less
  Interval ci95;          // of the ratio
  double cosine = 1;      // of its first output with the first model's
  bool may_claim = true;  // the two compute the same, so that speeds may be compared at all
  std::string verdict;    // what may be said, in words
};

// The times of one model. Nanoseconds are of one run.
struct TimedModel {
  std::string name, sha256;  // of the files of its weights
  int64_t file_bytes = 0, weight_bytes = 0, arena_bytes = 0, batch = 1;
  double median_ns = 0, min_ns = 0, p90_ns = 0, p99_ns = 0;
  Interval median_ci95_ns;
  std::vector<double> samples_ns;             // in the order of rounds, which all models share
  std::optional<SpeedComparison> comparison;  // with the first model; of itself none
};

// Several models, timed in turn.
struct BenchResult {
  std::vector<TimedModel> models;
  std::optional<EvaluateResult> evaluation;  // where there are data
  std::vector<std::string> notes;            // what one should know, in sentences
};

// Rounds of all models, interleaved in random orders. What only a fresh process shows is left out. Throws Error where
// the models do not take the same inputs or give the same outputs, and where there is no model.
HONE_API BenchResult bench(const std::vector<Model>& models, const BenchOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
