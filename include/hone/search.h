// Searches of architectures, training, pruning and number formats, by studies that can be gone on with.
#pragma once

#include <hone/study.h>

#include <optional>

namespace hone::HONE_API_INLINE api {

// begin of SearchOptions, written by generate_api
// What is searched, by what, and where its studies are kept.
struct SearchOptions {
  // A folder, .onnx file or file of hone, or a name or configuration of hone build
  std::string model;
  // TOML file with all that is asked for; flags win (docs/search.md)
  std::string config;
  // TOML file with [parameters]: what is tried, and constraints
  std::string space;
  // What candidates are trained on and judged by
  std::string data;
  // accuracy, loss, bits, bytes, latency, memory, flops or another metric; several for a front; or a weighted sum:
  // accuracy - 0.05*bits
  std::vector<std::string> objective;
  // What candidates must keep: bits<=4.5, bytes<=1MB, accuracy>=0.9
  std::vector<std::string> budget;
  // Candidates in all, those of earlier runs included (30)
  std::optional<int64_t> trials;
  // random, grid, qmc, tpe, nsga2, cmaes, evolution, ilp or ilp-tpe (tpe; docs/search.md)
  std::string sampler;
  // One of the sampler's own, e.g. startup=5
  std::vector<std::string> sampler_option;
  // median, percentile, successive-halving, hyperband, patience or threshold
  std::string pruner;
  // One of the pruner's own
  std::vector<std::string> pruner_option;
  // Random seed of the sampler (1)
  std::optional<int64_t> seed;
  // Candidates at once
  int64_t workers = 1;
  // Where studies are kept: study.db, study.log, or memory
  std::string storage = "memory";
  // Name of the study; or which one of those in --config
  std::string study;
  // Go on with a study that is there
  bool resume = false;
  // The chosen model, .safetensors; of several objectives or studies a folder for them
  std::string output;
  // Inputs of a folder's model, e.g. input_ids,attention_mask
  std::vector<std::string> inputs;
  // Kind of the model's files, where they do not tell (gguf, huggingface, onnx, package)
  std::string model_format;
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
};
// end of SearchOptions

// What all studies of a search found.
struct SearchResult {
  std::string model;  // what candidates are made of
  std::string data;   // what they were judged on, in words; empty: on no data
  std::vector<Study> studies;
};

// Each candidate is built, trained, compressed and measured as the file that it becomes. Throws Error before anything
// is trained for keys, values and parameters that are not possible, a budget that nothing meets, and a study that is of
// another model, data, objective or space; and where all trials have failed. A cancelled search puts the trials under
// way back, and a later one with SearchOptions::resume tries them again.
HONE_API SearchResult search(const SearchOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
