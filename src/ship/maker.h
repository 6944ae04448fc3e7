// Makes candidates of their recipes.
#pragma once

#include <memory>
#include <string>

#include "jobs/train_model.h"
#include "ship/parts.h"
#include "ship/recipe.h"

namespace hone {

struct MakerOptions {
  SessionOptions session;
  TrainModelOptions training;  // of the recipes that train: data, reading, how rows are dealt, options
  int64_t training_rows = 0;   // that there are
  std::string folder;          // for trainings that go on and what they gave; empty: a scratch one
};

class Maker {
 public:
  // `learning`: what methods learn from.
  Maker(const Model& model, std::shared_ptr<const CalibrationData> learning, MakerOptions options);

  // The graph as it is written. A training that was stopped goes on from its last checkpoint; one that is done is read
  // again. Throws Error where the recipe does not fit the model, Stopped where the context is cancelled.
  Graph make(const Recipe& recipe, const TaskContext& context) const;

  const Graph& graph() const { return graph_; }  // of the model, in canonical form
  const CalibrationData& learning() const { return *learning_; }
  const Packer& packer() const { return *packer_; }
  const TrainingOptions& training() const { return options_.training.training; }
  int64_t training_rows() const { return options_.training_rows; }

 private:
  Graph rounded(const Graph& graph, const Recipe& recipe) const;
  Graph trained(const Recipe& recipe, const TaskContext& context) const;
  Graph train(const Recipe& recipe, Model model, const std::string& folder, const TaskContext& context) const;

  const Model& model_;
  const Graph graph_;
  const std::shared_ptr<const CalibrationData> learning_;
  const MakerOptions options_;
  const std::shared_ptr<const Packer> packer_;
};

}  // namespace hone
