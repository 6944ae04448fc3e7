// Trials of a search, as `hone study export` writes them, and what figures are made of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "labs/lab.h"
#include "report/study_drawings.h"

namespace hone {

struct LabTrial {
  int64_t number = 0;
  std::map<std::string, double> figures;          // accuracy, bits, bytes, …
  std::map<std::string, std::string> parameters;  // as the search shows them
  double figure(const std::string& name) const;   // NaN where it has none
};

// The complete ones, in the order of their numbers. Throws Error, `source` first, for what is no list of trials.
std::vector<LabTrial> parse_trials(const std::string& csv, const std::string& source);

// A search, and the trials of each of its studies, whose results are called NAME-STUDY.
struct LabSearch {
  std::string name, what, config;
  std::vector<std::string> words;    // the model, --data and the like
  std::vector<std::string> studies;  // as they are stored: "tpe-1" where the study has seeds
  int64_t quick_trials = 3;          // 0: as in full
};
std::vector<LabStep> search_steps(const LabSearch& search, const LabPlaces& places);
std::vector<LabTrial> trials_of(const LabResults& results, const std::string& search, const std::string& study);

// Accuracy less a price of bits; the trial that has most of it, the earliest of equals.
double reward(const LabTrial& trial, double price);
const LabTrial& highest(const std::vector<LabTrial>& trials, double price = 0);
const LabTrial& highest(std::vector<LabTrial>&& trials, double price = 0) = delete;  // it would not outlive them

// Up to each trial, the accuracy and the reward of the highest so far.
enum class Curve { accuracy, reward };
Line curve_so_far(const std::string& label, const std::vector<LabTrial>& trials, Curve curve, double price = 0);

// Medians over studies that differ in their seeds, with a band.
StudyCurve seeds_curve(const LabResults& results, const std::string& search, const std::string& label,
                       const std::vector<std::string>& studies);

}  // namespace hone
