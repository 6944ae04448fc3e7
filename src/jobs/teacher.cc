#include "jobs/teacher.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "importers/class_names.h"
#include "jobs/image_inputs.h"
#include "jobs/text_inputs.h"
#include "passes/pipelines.h"
#include "train/losses/distillation.h"
#include "train/train_graph.h"

namespace hone {
namespace {

// Texts become the same numbers for both, or what one says of a word says nothing to the other.
void check_vocabulary(const Model& teacher, const Model& student, const std::string& text) {
  const Tokenizer own = tokenizer_of(teacher), other = tokenizer_of(student);
  const auto size = [](const Tokenizer& t) { return t.spec().vocabulary_size; };
  if (size(own) == size(other) && own.encode(text, 0) == other.encode(text, 0)) return;
  fail("the teacher {} has another vocabulary ({} tokens) than {} ({}): a teacher reads the student's tokens",
       teacher.name, size(own), student.name, size(other));
}

void check_images(const Model& teacher, const TrainingData& data) {
  const ImageTransform own = image_transform_of(teacher);
  const auto differ = [](const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return true;
    for (size_t i = 0; i < a.size(); ++i)
      if (std::abs(a[i] - b[i]) > 1e-3f * std::abs(b[i]) + 1e-6f) return true;
    return false;
  };
  if (own.mean.empty() || (!differ(own.mean, data.images().mean) && !differ(own.deviation, data.images().deviation)))
    return;
  fail(
      "the teacher {} takes images with mean {} and deviation {}, and the student {} and {}: train the student from "
      "scratch on the data that the teacher was trained on",
      teacher.name, fmt::join(own.mean, ","), fmt::join(own.deviation, ","), fmt::join(data.images().mean, ","),
      fmt::join(data.images().deviation, ","));
}

void check_classes(const Model& teacher, const TrainingData& data) {
  const std::vector<std::string> known = classes_of(teacher), &own = data.needs().names;
  if (known.empty() || own.empty() || known == own) return;
  for (size_t i = 0; i < std::max(known.size(), own.size()); ++i) {
    const auto at = [&](const std::vector<std::string>& names) {
      return i < names.size() ? fmt::format("\"{}\"", names[i]) : std::string("none");
    };
    if (at(known) != at(own))
      fail(
          "the teacher {} has other classes than the data: number {} is {}, and {} there. Give the data's by --classes "
          "in the teacher's order, or distill layers alone (--distill-weight 0)",
          teacher.name, i, at(known), at(own));
  }
}

// Sizes that are not known before a run may be called otherwise. Of layers the last one may differ: `projected`.
void check_shape(const TensorType& teacher, const TensorType& student, const std::string& what,
                 bool projected = false) {
  bool fits = teacher.ranked && student.ranked && teacher.rank() == student.rank();
  for (size_t i = 0; fits && i + projected < teacher.rank(); ++i) {
    const Dim &a = teacher.shape[i], &b = student.shape[i];
    fits = !a.is_constant() || !b.is_constant() || a == b;
  }
  if (!fits || !is_float(teacher.dtype))
    fail("{}: the teacher gives {}, and the student {}; they must have one shape{}", what, to_string(teacher),
         to_string(student), projected ? " but for the last dimension" : "");
}

}  // namespace

Teacher::Teacher(const TeacherOptions& options, const Model& student_model, const Graph& student,
                 const std::string& student_predictions, TrainingData& data, const SessionOptions& session) {
  const Model teacher = load_model(options.model);
  name_ = teacher.name, sha256_ = teacher.sha256();
  graph_ = canonicalise(teacher.graph);
  std::vector<Output> outputs;
  if (options.predictions) {
    const std::string label = predictions_label(graph_, options.output);
    const auto output = std::ranges::find(graph_.outputs(), label, &Output::label);
    outputs.push_back({output->value, TeacherNames::kPredictions});
    const auto predicts = std::ranges::find(student.outputs(), student_predictions, &Output::label);
    check_classes(teacher, data);
    check_shape(graph_.type(output->value), student.type(predicts->value), "predictions");
  }
  graph_.set_outputs(std::move(outputs));
  graph_ = with_compared_layers(std::move(graph_), options.layers, "the teacher " + name_);
  const std::vector<ValueId> own = compared_layers(graph_), other = compared_layers(student);
  CHECK(own.size() == other.size());
  for (size_t i = 0; i < own.size(); ++i)
    check_shape(graph_.type(own[i]), student.type(other[i]), fmt::format("distill-layers: \"{}\"", options.layers[i]),
                true);
  graph_ = run_pass(std::move(graph_), "remove_dead");
  const std::vector<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
  for (ValueId input : inputs)
    if (graph_.use_count(input) == 0) graph_.erase_input(input);
  graph_.compact();
  const Dataset& rows = data.data();
  if (!rows.texts.empty() || !rows.words.empty())
    check_vocabulary(teacher, student_model,
                     rows.texts.empty() ? fmt::format("{}", fmt::join(rows.words[0], " ")) : rows.texts[0]);
  if (data.data().images) check_images(teacher, data);
  data.fit_teacher(graph_);
  session_ = std::make_unique<Session>(graph_, session);
}

void Teacher::teach(const NamedTensors& inputs, NamedTensors& part) {
  const std::vector<Tensor> given = session_->run(context_, inputs);
  const std::vector<std::string> names = session_->output_names();
  for (size_t i = 0; i < names.size(); ++i) part.insert_or_assign(names[i], given[i].converted(DType::f32));
}

int64_t Teacher::plan(const Bindings& sizes) {
  session_->prepare(sizes, Session::Code::any_sizes);
  const SessionStatistics s = session_->statistics();
  return s.arena_bytes + s.scratch_bytes + s.laid_out_bytes + s.output_bytes + s.prepacked_bytes +
         s.direct_weight_bytes;
}

std::string Teacher::what() const {
  const auto layers = compared_layers(graph_).size();
  const bool predicts = graph_.outputs().size() > layers;
  return fmt::format("the teacher is {}: {}{}{}", name_, predicts ? "its predictions" : "",
                     predicts && layers > 0 ? " and " : "",
                     layers > 0 ? fmt::format("what {} of its layers compute", layers) : "");
}

}  // namespace hone
