// A supernet: a network that is trained together with parts of itself (nested_weights.h), so that each can be cut out
// of its weights and computes something sensible. Every step is one of the whole by the mean of the gradients of the
// whole and of the parts that the caller names, all on one batch: the sandwich rule where these are the smallest and
// some at random, with in-place distillation where parts also learn what the whole computes. Yu and Huang, "Universally
// slimmable networks" (2019); Yu et al., "BigNAS" (2020).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/loop/trainer.h"
#include "train/nested_weights.h"

namespace hone {

struct SupernetOptions {
  TrainGraphOptions graphs;    // of the whole: accumulate is set, a teacher is none
  DistillationOptions distil;  // of the parts, by the whole's predictions; weight 0: labels alone
  SessionOptions session;
};

class SupernetTrainer {
 public:
  // `whole` is in the form of canonicalise_for_training, as parts are.
  SupernetTrainer(Graph whole, const SupernetOptions& options);

  // Its number. Throws Error where it takes other inputs, or one of its weights is no part of the whole's.
  size_t add(const Graph& part);

  // One update; the mean loss of all of them. `batch`: inputs and labels.
  double step(std::span<const size_t> parts, const NamedTensors& batch, double rate);

  Trainer& trainer() { return trainer_; }
  Graph trained() const;  // the whole with its weights as they are now

 private:
  struct Part {
    std::unique_ptr<Session> session;
    std::map<std::string, NestedPart> weights;               // by parameter
    std::vector<std::pair<std::string, NestedPart>> sums;    // in the whole's, by name
    std::vector<std::pair<std::string, TensorType>> states;  // of its run
  };
  void add_gradients(Part& part, NamedTensors batch, Context& sums, const Tensor& predictions);

  const Graph whole_;
  const SupernetOptions options_;
  Trainer trainer_;
  std::vector<Part> parts_;
  Context context_;  // of the parts, one after the other
};

}  // namespace hone
