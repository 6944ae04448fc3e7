// Losses, as a sum over what counts and the number that it is divided by: batches that are taken in parts have one
// mean.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct LossOptions {
  std::string loss = "cross-entropy";
  double label_smoothing = 0;
  std::vector<double> class_weights;  // one per class, or none
};

struct LossTerms {
  ValueId sum, count;  // f32[]
};

struct LossDef {
  const char* name;
  const char* doc;
  bool classes;  // labels are i64, numbers of classes, or kIgnored (measure/metric.h); else f32, as many as predictions
  // x f32[N,C] with labels i64[N] or f32[N,C]; throws Error for options that it does not have.
  LossTerms (*terms)(Graph& graph, ValueId x, ValueId labels, const LossOptions& options);
};
std::span<const LossDef> losses();
const LossDef& find_loss(const std::string& name);  // Error with the nearest

// Adds the loss of predictions f32[...,C] and an input `labels`, i64[...] or f32[...,C], of that name.
LossTerms add_loss(Graph& graph, ValueId predictions, const std::string& labels, const LossOptions& options);

}  // namespace hone
