// What may be said of one model beside another: computed once, so that tables, findings and the lab protocol say the
// same.
#pragma once

#include <optional>
#include <string>

#include "jobs/candidate.h"
#include "measure/break_even.h"
#include "measure/quality.h"

namespace hone {

struct Comparison {
  Ratio ratio;                 // of steady runs
  Quality quality;             // of the first output against the base's
  std::optional<double> top1;  // share of rows of that output with the same largest element
  std::string verdict;         // "1.63x faster (1.60-1.66)", "no difference shown (0.98-1.03)", "no speed claimed: …"
  bool may_claim = false;      // the two compute the same: a speed may be claimed at all
  std::optional<BreakEven> pays;  // where a steady run is shown to be faster and set-ups were measured
};

// Formats of four bits stay above on every model tried; two functions that have nothing in common are near 0.
constexpr double kLeastCosine = 0.9;

// No speed is claimed for a model whose first output is not that of the base, by a cosine of kLeastCosine.
Comparison compare(const Candidate& base, const Candidate& other, const Ratio& ratio, const SetUps& base_set_ups,
                   const SetUps& set_ups);

}  // namespace hone
