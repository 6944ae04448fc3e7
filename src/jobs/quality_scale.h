// How distances of changed models from the original are read as quality: by a metric, where one judges, else by the
// outputs alone.
#pragma once

#include <optional>
#include <string>

#include "allocate/output_measure.h"
#include "measure/claim.h"
#include "measure/metric.h"

namespace hone {

struct QualityScale {
  std::optional<Metric> metric;  // none: the output error judges

  std::string key() const;  // "accuracy", also where there is none
  bool larger_is_better() const { return !metric || metric->def->larger_is_better; }
  double quality(const OutputDistance& distance) const;  // the metric, or the output SQNR in dB
  // One that is not a number is worse than any.
  bool is_better(const OutputDistance& a, const OutputDistance& b) const;
  // What is shown of a against b.
  Shown shown(const OutputDistance& a, const OutputDistance& b) const;
  // How far from perfect: 1 less a metric of which larger is better, or the metric, or the output error.
  double loss(const OutputDistance& distance) const;
  std::string loss_name() const;
};

double decibels(double error);
double bounded_decibels(double error);  // for plots: where nothing differs, 200

}  // namespace hone
