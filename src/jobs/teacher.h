// A model that another one is trained by (train/losses/distillation.h): any that opens, which gives its outputs for
// each batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "jobs/training_data.h"
#include "runtime/session.h"

namespace hone {

struct TeacherOptions {
  std::string model;
  std::vector<std::string> layers;  // whose outputs are compared
  bool predictions = true;          // whether they are
  std::string output;               // that has them; empty: found
};

class Teacher {
 public:
  // `student` is the model in training form, with its compared layers as outputs. Throws Error where the teacher's
  // tokens, images, classes or outputs are not the student's.
  Teacher(const TeacherOptions& options, const Model& student_model, const Graph& student,
          const std::string& student_predictions, TrainingData& data, const SessionOptions& session);

  // Adds what the teacher gives for `inputs`, which are of the same rows as `part`.
  void teach(const NamedTensors& inputs, NamedTensors& part);

  // All that it takes in runs of these sizes.
  int64_t plan(const Bindings& sizes);

  const Graph& graph() const { return graph_; }
  std::string what() const;                              // for people
  const std::string& sha256() const { return sha256_; }  // of its weights

 private:
  std::string name_, sha256_;
  Graph graph_;
  std::unique_ptr<Session> session_;
  Context context_;
};

}  // namespace hone
