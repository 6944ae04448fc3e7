// What models' answers to a data set are worth, with intervals, and how they differ.
#pragma once

#include <hone/model.h>

#include <optional>
#include <utility>

namespace hone::HONE_API_INLINE api {

// begin of EvaluateOptions, written by generate_api
// What models are judged on, and by which metrics.
struct EvaluateOptions {
  // Data set to judge answers on: a file or folder; required
  std::string data;
  // accuracy, cross_entropy, f1_macro, f1, f1_micro, kl, mae, mcc, mrr, mse, pearson, perplexity, recall, same_token,
  // spearman, retrieval, agreement (with the first model) or cmd:PROGRAM, which is given the answers as a file of JSON
  // lines and prints a number; several with commas (default: what suits the data)
  std::vector<std::string> metric;
  // Rows of the data that run at once
  int64_t batch = 16;
  // Longest that the program of cmd: may take
  double cmd_seconds = 600;
  // Split to read: train, validation or test (default: test, else validation, else all rows)
  std::string split;
  // Largest number of rows to read, drawn by a seed
  std::optional<int64_t> limit;
  // The model's output that metrics are of (default: the one that fits)
  std::string score_output;
  // Tokens that texts are cut to (default: as in training, else what the model takes)
  std::optional<int64_t> max_length;
  // the reader, where the path does not tell
  std::string format;
  // column of the text, or of the first of two
  std::string text;
  // column of the second text
  std::string text2;
  // column of the class
  std::string label;
  // column of any number of classes
  std::string labels;
  // column of the number to predict
  std::string target;
  // column of words, each of which has a class
  std::string tokens;
  // column of the classes of words
  std::string tags;
  // column of what must not be in two splits, such as an author
  std::string group_column;
  // column that says train, validation or test
  std::string split_column;
  // what stands between the classes or words of one cell
  std::string separator = " ";
  // the first line is a row; columns are called 1, 2, ...
  bool no_header = false;
  // the classes in order, where those that occur are not all or not in that order
  std::vector<std::string> classes;
  // channels of decoded images: 1 gray, 3 color
  int64_t channels = 3;
  // file or folder with the rows for validation
  std::string validation_file;
  // file or folder with the rows for the test
  std::string test_file;
  // share of the rows to validate on, from 0 to 1
  double validation_fraction = 0;
  // share of the rows to test on, from 0 to 1
  double test_fraction = 0;
  // random seed that decides which rows those are
  int64_t split_seed = 0;
  // Random seed for drawn rows and for intervals
  uint64_t seed = 1;
  // What agreement compares: classes, embeddings, boxes, or by-name (as the names of the outputs say)
  std::string answers = "by-name";
  // Agreement of boxes: least score of a box that counts
  double least_score = 0.5;
  // Agreement of boxes: least overlap (IoU) of two that are the same
  double least_iou = 0.5;
  // Agreement of embeddings: how many nearest neighbors to compare
  int64_t neighbours = 10;
  // Of a language model: read texts whole, in windows of so many tokens, each with a cache; 0: cut them (--max-length)
  int64_t window = 0;
  // Tokens from one window to the next; 0: as many as a window has
  int64_t stride = 0;
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
};
// end of EvaluateOptions

// From its low to its high end, at 95 % confidence.
struct Interval {
  double low = 0, high = 0;
};

// One metric of one model.
struct Figure {
  std::string name, title;       // "accuracy"
  double value = 0;              // a share is from 0 to 1
  std::optional<Interval> ci95;  // none: too few samples, or a program's own number
  int64_t samples = 0;           // that it is computed from
  bool is_share = false;         // people read it in per cent
  bool larger_is_better = true;  // else smaller is
};

// A figure less that of the first model, on the same samples.
struct FigureDifference {
  double value = 0;
  std::optional<Interval> ci95;
};

// What the answers of one model are worth.
struct EvaluatedModel {
  std::string name, sha256;  // of the files of its weights
  int64_t file_bytes = 0;
  std::vector<Figure> figures;
  std::vector<FigureDifference> differences;  // by figure; of the first model none
};

// Several models on the same rows.
struct EvaluateResult {
  std::string data;  // "1,000 rows of test of reviews.csv"
  std::vector<EvaluatedModel> models;
  std::vector<std::string> class_names;
  std::vector<std::string> notes;  // what one must know of the data, in sentences
};

// How far what a changed model computes is from the original's, and what its answers are worth.
struct OutputQuality {
  double error = 0;                    // of the outputs: sum of squared differences over the sum of their squares
  std::optional<Interval> error_ci95;  // none: too few samples
  std::optional<double> metric;        // where the data have labels: NaN where outputs are not finite
  std::optional<Interval> metric_ci95;
  std::optional<FigureDifference> difference;  // of the metric to the original's, on the same samples
};

// The first model is what the others are compared with. Throws Error where the data do not fit the metrics or a model,
// and where there is no model.
HONE_API EvaluateResult evaluate(const std::vector<Model>& models, const EvaluateOptions& options,
                                 const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
