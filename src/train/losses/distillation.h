// Distillation: a model is trained by what another one computes for the same rows beside what labels say. The teacher
// runs by itself; what it gives are arguments of the graphs of a step.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "train/losses/loss.h"

namespace hone {

struct DistillationOptions {
  double temperature = 2;   // logits are divided by it
  double weight = 0.5;      // share of the loss that the teacher's predictions make; the labels' is 1 less that
  double layer_weight = 1;  // what the compared layers add counts so often
};

// Labels of the teacher's outputs, and of the arguments that they are for the student.
struct TeacherNames {
  static constexpr const char* kPredictions = "teacher.predictions";
  static std::string layer(size_t i) { return "teacher.layer." + std::to_string(i); }
};

// "student=teacher" as the names of two layers. Throws Error.
std::pair<std::string, std::string> parse_layer_pair(const std::string& text);

// The graph with further outputs, labelled by TeacherNames::layer: what these layers compute; of attention the
// probabilities, [rows, heads, queries, keys]. A layer is named by its weight, without ".weight", or by its result
// where it has none (passes/layer.h). `whose`: for errors. Throws Error with the nearest names for one that is none.
Graph with_compared_layers(Graph graph, std::span<const std::string> layers, const std::string& whose);
bool is_compared_layer(const Output& output);              // whether it is one of those
std::vector<ValueId> compared_layers(const Graph& graph);  // all of them, in order
Graph without_compared_layers(Graph graph);                // and without what is trained for them alone

// The student, whose compared layers are brought to the teacher's width where the last dimension has another: by
// linears without a bias, with weights [teacher's, student's] that are trained with the rest and go with the
// comparison. As of TinyBERT, too.
Graph with_projections(Graph student, const Graph& teacher, uint64_t seed);
// A rule of groups (train/optimizers/parameter_groups.h) that has those weights trained, and whether one has such a
// name.
constexpr const char* kProjectionRule = "^distill\\.projection\\.=rate:1";
bool is_projection(const std::string& parameter);

// The loss of labels and of the teacher's outputs, which become arguments. Over the mean of all rows, or of the tokens
// that an argument "attention_mask" marks:
//   (1 - weight) labels + weight T² KL(softmax(teacher / T) || softmax(predictions / T)) + layer_weight sum of the
//   layers' mean squared differences
// with sigmoids in place of softmax where the labels' loss is bce, and mean squared differences where it is mse. Hinton
// et al., "Distilling the knowledge in a neural network" (2015); layers as of Jiao et al., "TinyBERT" (2020).
LossTerms add_distillation(Graph& graph, LossTerms of_labels, ValueId predictions, std::span<const ValueId> layers,
                           const std::string& loss, const DistillationOptions& options);

}  // namespace hone
