// Pruning: weights, neighbours, channels, heads or layers that are worth least go.
#pragma once

#include <hone/train.h>

namespace hone::HONE_API_INLINE api {

// begin of PruneOptions, written by generate_api
// What goes, by which score, and what is trained after it.
struct PruneOptions {
  // share of the weights, or units, that goes (0.5)
  double sparsity = -1;
  // the score: random, l1, l2, movement, snip, wanda or sparsegpt
  std::string method = "l1";
  // none: single weights; 2:4 and the like; heads, neurons, channels or layers
  std::string structure = "none";
  // local: each layer loses the share; global: the lowest of all go
  std::string scope = "local";
  // prune only layers whose weight's name this regular expression matches
  std::vector<std::string> rule;
  // layers that are left as they are: a regular expression
  std::vector<std::string> skip;
  // random seed of the score random
  int64_t seed = 1;
  // one-shot, gradual (more in each stage, by a cubic curve) or iterative (a share of what is left in each stage, and
  // the weights begin anew as they were)
  std::string schedule = "one-shot";
  // stages of a schedule, with training after each
  int64_t stages = 4;
  // learning rate of the descent that the score movement follows
  double score_rate = 0.001;
  // What scores, and training, learn from: texts, arrays or a data set; for snip and movement with labels
  std::string data;
  // Samples of the data that run at once
  int64_t batch = 16;
  // TOML file with the keys of hone train: trains what is left, after each stage; zeros stay
  std::string train_config;
  // whole, or sparse: a bitmap and the values that are left, where that is smaller
  std::string store = "whole";
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
// end of PruneOptions

// One weight, family of channels, or layer.
struct PrunedPart {
  std::string name;
  int64_t all = 0, gone = 0;  // weights, or units
  std::string kept_because;   // why nothing of it went; empty: something did
};

// The training after one stage.
struct StageTraining {
  int64_t steps = 0, data_rows = 0;
  double seconds = 0;
  std::optional<ValidationResult> best;  // none: nothing to validate on
};

// A pruned model, and what went.
struct PruneResult {
  Model model;              // Model::save() writes it with the storage that was asked for
  bool is_smaller = false;  // parts went; else their weights are 0
  std::vector<PrunedPart> parts;
  int64_t weights_before = 0, weights_after = 0;
  int64_t whole_bytes = 0, sparse_bytes = 0;  // of all weights; sparse: zeros as a bitmap
  std::vector<StageTraining> training;        // by stage, where there was one
  std::vector<std::string> notes;             // in sentences
};

// Nothing is written. Throws Error where options, data and model do not fit each other.
HONE_API PruneResult prune(const Model& model, const PruneOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
