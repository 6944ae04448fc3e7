// A model beside itself in other number formats, over calibration data: what hone sweep and hone allocate share.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocate/measurements.h"
#include "base/threads.h"
#include "jobs/calibration_data.h"
#include "jobs/compiled_packer.h"
#include "jobs/evaluation.h"
#include "jobs/file_facts.h"
#include "jobs/quality_scale.h"
#include "jobs/quantize_model.h"

namespace hone {

struct StudyOptions {
  Calibration data;          // what outputs are compared on; without a file, what methods learn from
  EvaluationOptions judged;  // by what, besides their distance; where `data` is a data set, how it is read
  Calibration calibration;   // what methods learn from; without a file, what outputs are compared on
  QuantizeOptions quantize;
  SessionOptions session;
  std::string memory;         // file in which measurements are remembered; empty: none
  std::string settings = {};  // what they depend on besides all this
};

// What selects a choice must not judge it, nor what a method learnt from either: samples are dealt out.
struct StudyData {
  CalibrationData selecting;               // what choices are compared on
  std::optional<CalibrationData> judging;  // what is reported of the chosen; none: too few samples to hold any out
  std::optional<CalibrationData> learnt;   // what methods learn from, where it is other data than the selecting ones
  std::string title;                       // of what is reported: where from, how many samples, what the others did
  Calibration calibration;                 // what methods learn from beyond the study: all of it
  const CalibrationData& held_out() const { return judging ? *judging : selecting; }
  const CalibrationData& for_methods() const { return learnt ? *learnt : selecting; }
};

// What is known of a study's model and samples, for whoever reads its distances.
struct StudyFacts {
  QualityScale scale;
  std::string model;  // its name
  FileFacts file;
  std::string data;  // StudyData::title
  int64_t selecting_samples = 0, held_out_samples = 0;
  bool holds_out = true;  // false: what selects judges, too, since there are too few samples
};

class FormatStudy {
 public:
  FormatStudy(const Model& model, const StudyOptions& options);

  // Of what selects, and of what is held out; the outputs to compare with are computed at the first call.
  const OutputMeasure& selection();
  const OutputMeasure& judge();
  StudyFacts facts() const;
  // A changed model on what selects and on what is held out, with two figures of the caller's; remembered by `key`.
  struct Changed {
    Graph graph;
    std::array<double, 2> figures;
  };
  struct Measured {
    OutputDistance selecting, held_out;
    std::array<double, 2> figures;
  };
  Measured measured(const std::string& key, const std::function<Changed()>& change);
  Measured measured_original();  // in the arithmetic of the others, without a difference to itself or figures
  // Of a changed model by one of the two. One with weights that are no numbers, which no file may have, is as far away
  // as can be and its figure is none, whatever the samples show of it.
  OutputDistance distance(const OutputMeasure& measure, const Graph& changed) const;

  const Model model;
  const Graph graph;             // canonical
  const SessionOptions session;  // of what is measured but times: with all threads
  const StudyData data;
  const QualityScale scale{data.selecting.metric};
  Measurements known;
  const std::shared_ptr<const Packer> packer = compiled_packer();

 private:
  OutputMeasure measure(const CalibrationData& on, bool differences) const;
  std::optional<OutputMeasure> selection_, judge_;
};

// Distances as they are remembered.
using DistanceValues = std::array<double, 11>;
DistanceValues values_of(const OutputDistance& distance);
OutputDistance distance_of(const DistanceValues& values);

}  // namespace hone
