// The data of a training run as a model takes them: batches of its inputs with labels, and what validation judges by.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batches.h"
#include "data/reader.h"
#include "jobs/load_model.h"
#include "jobs/train_options.h"
#include "measure/metric.h"
#include "runtime/session.h"
#include "train/train_graph.h"

namespace hone {

// What labels ask of a model's last layer, and what a loss and a metric are by default.
struct LabelNeeds {
  int64_t width = 0;
  bool per_word = false;
  TargetKind kind = TargetKind::classes;
  std::string loss, metric;
  std::vector<std::string> names;  // of the classes
};
// Throws Error where there are none, or only one class.
LabelNeeds label_needs(const Dataset& data);

class TrainingData {
 public:
  // `model` comes with its tokenizer where the data are texts. Throws Error where there are too few rows for a batch.
  TrainingData(Dataset data, const Model& model, const TrainingOptions& options);

  // Which of the data each argument of the graph is. Throws Error where it takes what the data lack.
  void fit(const Graph& graph);
  // Likewise of a model that teaches the one that is trained, for teacher_parts().
  void fit_teacher(const Graph& graph);

  const Dataset& data() const { return data_; }
  const LabelNeeds& needs() const { return needs_; }
  const Batches& train() const { return *train_; }
  const Batches* validation() const { return validation_.get(); }  // null: the data have no such split
  const std::vector<std::string>& notes() const { return notes_; }

  // Holds the batches to norms that need more than one value of a channel, where `ranks` processes have a share of
  // each: leaves out the last one of an epoch where it has fewer in a part, and says so ("": nothing is left out).
  // Throws Error where every batch has. What texts of other lengths have is not known before.
  std::string fit_norms(const TrainGraphs& graphs, int ranks);
  const ImageTransform& images() const { return images_; }

  // Writes down in a model that is trained on the data what its rows were made into, and what its classes are called:
  // every verb reads rows by that.
  void describe_rows(Model& model) const;

  // The model's inputs and labels, in at most `parts` parts of alike many rows: as many for each share of a batch, the
  // last ones perhaps without rows.
  std::vector<NamedTensors> parts(const Batch& batch, int64_t parts) const;
  // The teacher's inputs, in the same parts.
  std::vector<NamedTensors> teacher_parts(const Batch& batch, int64_t parts) const;
  // What a model gave for a batch, and what is right; refers to both and to `values`.
  Answers answers(const NamedTensors& part, const std::vector<float>& predictions) const;

  // Sizes of the largest part of a batch that training, or validation, can have: its rows, and the longest text or the
  // image.
  Bindings largest(const Graph& graph, int64_t parts, const Batches& batches) const;
  Bindings largest_of_teacher(const Graph& graph, int64_t parts) const;  // in training

  // 1 over the share of each class among the rows that are trained on, divided by the number of classes.
  std::vector<double> balanced_weights() const;

 private:
  struct Source {
    enum class Kind : uint8_t { ids, mask, types, images, array } kind;
    size_t array = 0;
    std::string name;
    TensorType type;
  };
  std::vector<Source> sources_for(const Graph& graph, const char* whose) const;
  Bindings largest(const std::vector<Source>& sources, const Graph& graph, int64_t parts, const Batches& batches) const;
  Bindings sizes_of(const std::vector<Source>& sources, const Graph& graph, int64_t rows, const Batches& batches) const;
  // The norm that sees a single value of a channel in a part of a batch of so many rows; null: none does.
  const TrainedNorm* starved_norm(const TrainGraphs& graphs, int64_t rows, int64_t ranks) const;
  Tensor source_of(const Source& source, const Batch& batch) const;
  void read_tokens(const Model& model, const TrainingOptions& options);
  void set_pixel_statistics();
  void set_images(const Model& model, const TrainingOptions& options);

  const Dataset data_;
  const LabelNeeds needs_;
  const int64_t batch_, parts_;
  const bool in_order_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<TokenRows> tokens_;
  ImageTransform images_;
  int64_t max_length_ = 0;  // that texts are cut to, where that is asked for
  BatchOptions train_options_;
  std::unique_ptr<Batches> train_, validation_;
  std::vector<Source> sources_, teacher_sources_;
  std::vector<std::string> notes_;
};

}  // namespace hone
