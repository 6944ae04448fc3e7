// A model in training: sessions of its graphs, which share its parameters, and the optimizer's state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/ordered_sum.h"
#include "runtime/session.h"
#include "train/loop/sized_sessions.h"
#include "train/train_graph.h"

namespace hone {

// What is held when the most is, in bytes: in a step, in a validation, or when the best weights are read again.
struct TrainingMemory {
  int64_t parameters = 0;  // trained ones
  int64_t state = 0;       // the optimizer's, and sums of gradients
  int64_t constants = 0;   // frozen weights, as they are read or laid out for kernels
  int64_t values = 0;      // activations and gradients, as they are planned to lie in one block
  int64_t scratch = 0;     // of kernels, all threads
  int64_t laid_out = 0;    // trained weights as kernels read them
  int64_t outputs = 0;     // predictions, and updates that are not written in place
  int64_t data = 0;        // batches at work and ahead, or a tensor of a checkpoint beside the one that it replaces
  int64_t code = 0;        // machine code, graphs and what made both, as it was measured
  int64_t exchange = 0;    // gradients of other ranks
  int64_t teacher = 0;     // all that one takes which the model learns from (train/losses/distillation.h)
  int64_t total() const {
    return parameters + state + constants + values + scratch + laid_out + outputs + data + code + exchange + teacher;
  }
};

// Sizes of the largest batch of training and of validation, and bytes of the batches that are held then.
struct TrainingSizes {
  Bindings step;
  int64_t step_data = 0;
  std::optional<Bindings> validation = {};  // none: nothing is judged
  int64_t validation_data = 0;
};

class Trainer {
 public:
  // State begins as zeros. `ranks`: the processes that the graphs are for, each of which has such a trainer.
  Trainer(TrainGraphs graphs, const SessionOptions& options, const Ranks* ranks = nullptr);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  struct Step {
    double loss = 0;                  // the mean over the batch
    std::optional<double> norm;       // of the gradients, where it is clipped
    std::vector<Tensor> predictions;  // of each part
  };
  // One update by one batch, in as many parts as the graphs allow: one unless they accumulate. A part has the model's
  // inputs and labels. With `checked`, the first operation that computes NaN or an infinity is an Error that names it,
  // and nothing changes. `first` is the number of the first row in the batch that all ranks have together: the loss and
  // the update are of that.
  // `before_update`, of graphs that accumulate, is called when the gradients are there, and may change their sums,
  // which have the names of graphs().sums.
  using BeforeUpdate = std::function<void(Context& sums, std::span<const Tensor> predictions)>;
  Step step(std::span<const NamedTensors> parts, double rate, bool checked = false, int64_t first = 0,
            const BeforeUpdate& before_update = {});

  struct Evaluation {
    Tensor predictions;
    double loss_sum = 0, count = 0;
  };
  Evaluation evaluate(const NamedTensors& inputs);

  int64_t steps() const { return steps_; }  // how many were made

  // What training takes, before the first step. Code for it is made.
  TrainingMemory plan(const TrainingSizes& sizes);

  // All that a later step depends on beside its batch and rate: parameters and state by their names, and steps(). It is
  // the same on all ranks, and for any number of them.
  std::map<std::string, Tensor> tensors() const;
  // Throws Error, which begins with `source`, unless they are those of these graphs.
  void restore(const std::map<std::string, Tensor>& tensors, int64_t steps, const std::string& source);

  // Parameters become what `change` gives for a name and a value, of the same type.
  void change_parameters(const std::function<Tensor(const std::string& name, const Tensor& value)>& change);

  void reset();  // everything as it was before the first step

  // Parameters as they are now, by the names of the model's constants.
  std::vector<std::pair<std::string, Tensor>> parameters() const;

  const TrainGraphs& graphs() const { return graphs_; }

 private:
  struct Held {
    std::string name;
    TensorType type;
    bool is_sum;  // of one step
  };
  std::vector<Tensor> run(Session& session, const NamedTensors& inputs, bool checked);
  std::vector<Tensor> run_last_part(Session& session, const NamedTensors& inputs, bool checked);
  Session& main() { return main_->first(); }
  void own_parameters();
  void set_zero_state();
  Step outputs_of(const Session& session, std::vector<Tensor> outputs, size_t first) const;

  TrainGraphs graphs_;
  const Ranks* const ranks_;
  std::vector<Held> state_;
  int64_t opened_bytes_ = 0;                    // that opening the sessions took
  std::optional<SizedSessions> main_;           // of a whole step, or of gradients where there is an update
  std::unique_ptr<Session> update_, evaluate_;  // no update: a step is one graph
  Context context_;
  int64_t steps_ = 0;
  bool has_evaluated_ = false;  // since the last step
};

}  // namespace hone
