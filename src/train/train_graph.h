// Training as graphs: a model's weights become parameters, a loss stands behind its predictions, gradients follow by
// `differentiate`, and the optimizer's nodes update parameters and state in place. All graphs name the same parameters,
// so that their sessions share them (SessionOptions::parameters_of).
#pragma once

#include <any>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/packer.h"
#include "train/losses/distillation.h"
#include "train/losses/loss.h"
#include "train/optimizers/optimizer.h"
#include "train/optimizers/parameter_groups.h"
#include "train/training_form.h"

namespace hone {

// Arguments of the graphs beside those of the model, and outputs beside the predictions.
struct TrainNames {
  static constexpr const char* kLabels = "labels";
  static constexpr const char* kRate = "rate";  // f32[]: of this step
  static constexpr const char* kStep = "step";  // f32[]: its number, 1 for the first
  static constexpr const char* kSample =
      "sample";  // i64[]: number of the first row, counted through the parts of a batch
  static constexpr const char* kKeep = "keep_sums";      // bool[]: false in the first part of a batch; `accumulate`
  static constexpr const char* kLoss = "loss";           // f32[]: the mean
  static constexpr const char* kLossSum = "loss_sum";    // f32[]
  static constexpr const char* kCount = "loss_count";    // f32[]: what the sum is divided by
  static constexpr const char* kNorm = "gradient_norm";  // f32[]: before it is clipped
};

struct TrainGraphOptions {
  LossOptions loss;
  GroupOptions groups;
  const OptimizerDef* optimizer = nullptr;
  std::any optimizer_options;  // a struct of its table
  double clip_norm = 0;        // largest norm of all gradients together; 0: as it is
  double clip_value = 0;       // largest magnitude of a gradient's element, looked at before the norm; 0: any
  double dropout = 0;          // share of what layers read that is left out; the masks are the seed's
  std::vector<std::string> dropout_layers;  // regular expressions of weights' names; empty: the last layer
  double adapter_dropout = 0;               // share of what low-rank adapters read (passes/compress/lora.h)
  uint64_t seed = 1;
  int64_t recompute = 0;           // see recompute.h; 0: activations are kept
  bool accumulate = false;         // a batch may be taken in parts
  int ranks = 1;                   // processes that have a part of each batch (mpi/ranks.h)
  bool keep_zeros = false;         // weights of rank 2 and more that are 0 stay 0: what was pruned
  std::string predictions;         // label of the output; empty: "logits", or the only one
  const Packer* packer = nullptr;  // of rounded weights that are frozen; null: the reference
  std::optional<DistillationOptions> distillation = {};  // the model then has outputs of compared layers, or none
  // Those of a batch, for the arguments of `evaluate`: asked for where a gradient needs sizes that the model leaves
  // open.
  std::function<Bindings(const Graph& evaluate)> sizes = {};
};

struct TrainedParameter {
  std::string name;
  double rate_factor = 1, decay = 0;
  int64_t elements = 0;
};

// A batch norm in training: how many values of a channel it sees at once, by the sizes of the model's arguments.
struct TrainedNorm {
  std::string name;  // of its scale
  Dim values;
};

struct TrainGraphs {
  // Of whole batches: the model's arguments, labels, what a teacher gives, rate, step, sample → predictions, loss, and
  // the norm where it is clipped. With `accumulate`, and with several ranks, there are two in its place, since the
  // number that a loss is divided by is known at the end alone:
  Graph step;
  Graph gradients;  // the model's arguments, labels, keep, step, sample → predictions; sums of losses, counts and
                    // gradients are state
  std::vector<std::string> sums;  // the names of that state, of which nothing outlives a step
  Graph update;                   // rate, step → loss, and the norm where it is clipped
  // The model's arguments, labels → predictions, loss_sum, loss_count.
  Graph evaluate;
  std::vector<TrainedParameter> parameters;
  std::vector<std::string> statistics;  // of batch norms: parameters, too, which follow the batches
  std::vector<TrainedNorm> norms;       // that go by the batch
  std::vector<std::string> frozen;      // names of constants that stay what they are, by a rule
  std::vector<StoredTensor> others;     // that are not trained either, and why
  std::string predictions;              // label of the output
  // Where gradients need sizes that the model leaves open, `step` or `gradients` is for these alone, and `for_sizes`
  // gives that of others, of the same symbols. Both are empty where it is for all sizes.
  Bindings sizes;
  std::function<Graph(const Bindings&)> for_sizes;
};

// `model` is in training form (train/training_form.h); weights of fewer bits become f32. Throws Error where nothing can
// be trained, the loss has no such predictions, or an op on the way has no gradient, with the sizes of a batch either.
TrainGraphs make_train_graphs(Graph model, const TrainGraphOptions& options);

// The model with the values of its parameters.
Graph with_trained(Graph model, const std::vector<std::pair<std::string, Tensor>>& values);

// The label of the output that a loss or a metric is about: `wanted`, "logits", or the only one. Throws Error that
// lists them.
std::string predictions_label(const Graph& model, const std::string& wanted);

}  // namespace hone
