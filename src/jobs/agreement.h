// How closely the answers of one model follow those of another, over many inputs: of all numbers, and in the form in
// which users would notice (docs/evaluation.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/box_outputs.h"
#include "measure/boxes.h"
#include "measure/estimate.h"
#include "measure/quality.h"
#include "runtime/session.h"

namespace hone {

// `by_name`: outputs called "logits" are classes, boxes are those that find_boxes() sees, f32[B,C] are embeddings.
enum class AnswerForm : uint8_t { by_name, classes, embeddings, boxes };
AnswerForm parse_answer_form(const std::string& text);

struct AgreementOptions {
  AnswerForm form = AnswerForm::by_name;
  double least_score = 0.5;  // of boxes that count
  double least_iou = 0.5;    // of boxes that are the same
  int64_t neighbours = 10;   // of embeddings; fewer where there are not twice as many rows
  uint64_t seed = 1;         // of intervals
};

// Of one output. A row is what lies along the last axis: an embedding, the scores of the classes, a token's state.
struct OutputAgreement {
  std::string output;
  Quality quality;                       // over all elements
  RowCosine cosine;                      // over rows
  std::optional<Estimate> same_class;    // classes: share of rows whose largest score is at the same place
  std::optional<Estimate> divergence;    // classes: mean over rows of KL(reference || candidate) of softmax, in nats
  std::optional<double> same_neighbour;  // embeddings: share of rows whose nearest other row is the same
  std::optional<Estimate> shared_neighbours;  // embeddings: share of `neighbours` nearest other rows that is the same
  int64_t neighbours = 0;
};

// Of boxes: the candidate's against the reference's.
struct BoxAgreement {
  Estimate precision, recall;  // matched pairs over the candidate's boxes, over the reference's; 1 when there are none
  BoxMatches matches;          // of all images
  int64_t images = 0;
  double least_score = 0, least_iou = 0;  // as AgreementOptions asked
};

struct Agreement {
  std::vector<OutputAgreement> outputs;  // but those that are boxes, of which models find different numbers
  std::optional<BoxAgreement> boxes;
};

// Answers of both models, run by run.
class AgreementMeter {
 public:
  // Throws Error when the models have different outputs, or none of the asked form.
  AgreementMeter(const std::vector<std::string>& reference, const std::vector<std::string>& candidate,
                 const AgreementOptions& options);
  void add(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate);
  Agreement finish() const;

 private:
  struct Pair {
    std::vector<float> reference, candidate;
    int64_t width = 1;
    bool embedding = false;  // rank 2
  };
  void add_output(size_t output, const Tensor& reference, const Tensor& candidate);
  OutputAgreement compare_output(const std::string& name, const Pair& pair) const;
  bool is_classes(const std::string& name) const;

  std::vector<std::string> names_;
  AgreementOptions options_;
  std::optional<BoxOutputs> boxes_;
  std::vector<Pair> pairs_;
  Evidence precision_, recall_;  // by image
  BoxMatches matches_;
};

// Runs both on every one of `inputs`. Throws Error when the models have different outputs.
Agreement agreement(Session& reference, Session& candidate, std::span<const NamedTensors> inputs,
                    const AgreementOptions& options = {});

}  // namespace hone
