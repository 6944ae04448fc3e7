// How closely the outputs of one model follow those of another, over many inputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/quality.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// Of one output. A row is what lies along the last axis: an embedding, the scores of the classes, a token's state.
struct OutputAgreement {
  std::string output;
  Quality quality;                       // over all elements
  RowCosine cosine;                      // over rows
  std::optional<double> same_class;      // "logits": share of rows whose largest score is at the same place
  std::optional<double> same_neighbour;  // embeddings, f32[B,C]: share of rows whose nearest other row is the same
};

// Runs both on every one of `inputs`. Throws Error when the models have different outputs.
std::vector<OutputAgreement> agreement(Session& reference, Session& candidate, std::span<const NamedTensors> inputs);

// Table "agreement", with a row per output and only the columns that any of them has.
Table agreement_table(const std::vector<OutputAgreement>& outputs, const std::string& title);

}  // namespace hone
