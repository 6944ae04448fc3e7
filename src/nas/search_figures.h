// What a search goes by: figures of a candidate, objectives made of them, and limits that they must keep.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "study/trial_record.h"

namespace hone {

using Figures = std::map<std::string, double>;

// What must be done to know a figure. Figures of the file are known without training, those of the start are only known
// before it.
enum class FigureSource : uint8_t { file, start, answers, time };

struct FigureKind {
  std::string name, doc;
  FigureSource source = FigureSource::answers;
  bool larger_is_better = false;
  std::string metric;  // of answers: by name; empty for loss, which suits the labels
  bool needs_data = false;
};

// bytes, bits, parameters, flops, latency, predicted_latency, memory, loss, snip, gradient_norm, synflow, or a metric
// ("accuracy"). Throws Error with the nearest.
FigureKind figure_kind(const std::string& name);
std::string figures_text();  // of those that are no metrics, for --help

// "accuracy", "bits", or a weighted sum: "accuracy - 0.05*bits". What is better of the first figure decides the
// direction; a term that pulls the other way is an Error.
struct Objective {
  struct Term {
    double weight = 1;
    std::string figure;
  };
  std::string text;
  std::vector<Term> terms;
  Direction direction = Direction::minimize;
  double value(const Figures& figures) const;
  bool is_of(const std::string& figure) const;  // that figure alone
};
Objective parse_objective(const std::string& text);

// "bits<=4.5", "accuracy>=0.9", "bytes<=1MB", "latency<=2" (ms).
struct FigureLimit {
  std::string text, figure;
  bool at_most = true;
  double bound = 0;
  double excess(const Figures& figures) const;  // above 0: exceeded, by that share of the bound
};
FigureLimit parse_limit(const std::string& text);

}  // namespace hone
