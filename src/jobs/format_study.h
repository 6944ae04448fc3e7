// A model beside itself in other number formats, over calibration data: what hone sweep and hone allocate share.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocate/measurements.h"
#include "allocate/output_measure.h"
#include "base/threads.h"
#include "jobs/calibration_data.h"
#include "jobs/compiled_packer.h"
#include "jobs/evaluation.h"
#include "jobs/quantize_model.h"
#include "measure/claim.h"
#include "report/record.h"

namespace hone {

struct StudyOptions {
  std::string model;
  std::vector<std::string> inputs;
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

class FormatStudy {
 public:
  explicit FormatStudy(const StudyOptions& options);

  // Of what selects, and of what is held out; the outputs to compare with are computed at the first call.
  const OutputMeasure& selection();
  const OutputMeasure& judge();
  // By what choices are judged; none: by the output error alone.
  const std::optional<Metric>& metric() const { return data.selecting.metric; }
  std::string metric_key() const;  // "accuracy", also where there is none

  // For tables and plots of distances: the metric where there is one, otherwise the output SQNR; and the columns
  // `first`, average bits, bytes, output error and SQNR, the metric, all of held-out data; and the quality on what
  // selected. The cells from the output error on.
  Axis quality() const;
  bool larger_is_better() const { return !metric() || metric()->def->larger_is_better; }
  double quality(const OutputDistance& distance) const;
  bool is_better(const OutputDistance& a, const OutputDistance& b) const;  // by quality
  // What is shown of a against b, of the metric or, where there is none, of the output SQNR.
  Shown shown(const OutputDistance& a, const OutputDistance& b) const;
  // How far from perfect: 1 less a metric of which larger is better, or the metric, or the output error.
  double loss(const OutputDistance& distance) const;
  std::string loss_name() const;
  Point point(const std::string& label, double x, const OutputDistance& held_out);
  std::vector<Column> distance_columns(std::vector<Column> first) const;
  std::vector<Cell> distance_cells(const OutputDistance& held_out, const OutputDistance& selecting);
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
  // Of a changed model by one of the two. One with weights that are no numbers, which no file may have, is as far away
  // as can be and its figure is none, whatever the samples show of it.
  OutputDistance distance(const OutputMeasure& measure, const Graph& changed) const;
  std::string text_of(const OutputDistance& held_out);  // "output error 0.012 (0.010-0.014)", and the metric

  const Model model;
  const Graph graph;             // canonical
  const SessionOptions session;  // of what is measured but times: with all threads
  const StudyData data;
  Measurements known;
  const std::shared_ptr<const Packer> packer = compiled_packer();

 private:
  OutputMeasure measure(const CalibrationData& on, bool differences) const;
  NumberStyle figure_style() const;
  std::optional<OutputMeasure> selection_, judge_;
};

// Distances as they are remembered.
using DistanceValues = std::array<double, 11>;
DistanceValues values_of(const OutputDistance& distance);
OutputDistance distance_of(const DistanceValues& values);

double decibels(double error);

}  // namespace hone
