// A model in one number format after the other: quantized, and on demand trained in each as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/format_study.h"
#include "jobs/task.h"
#include "jobs/train_model.h"

namespace hone {

struct FormatSweepOptions {
  std::vector<std::string> formats;  // canonical, in the order in which they are measured
  bool activations = false;          // inputs of products too, not only weights
  QuantizeOptions quantize;          // all but the format
  Calibration data, calibration;     // what outputs are compared on, what methods learn from (StudyOptions)
  EvaluationOptions judged;          // by what
  // How the model is trained in each format as well, beside being quantized after training: all but the
  // rules. None: it is not.
  std::optional<TrainModelOptions> training = {};
  SessionOptions session;
  std::string measurements;  // file in which they are remembered; empty: none
};

// The model in one format, measured.
struct SweptFormat {
  std::string format;
  bool trained = false;  // in that format; else quantized
  OutputDistance selecting, held_out;
  double average_bits = 0;
  int64_t bytes = 0;
  bool is_finite() const;
};

// By what selects. Where two are equal, the smaller model is.
bool is_better(const QualityScale& scale, const SweptFormat& a, const SweptFormat& b);

struct FormatSweep {
  StudyFacts study;
  bool activations = false, trains = false;
  std::vector<SweptFormat> formats;  // in the order of measuring; with training each one quantized, then trained
  SweptFormat original;              // as it is, in the arithmetic of the others
  std::optional<SweptFormat> original_trained;  // as long, without rounding
  size_t best = 0;                              // of `formats`
  int64_t measured = 0, recalled = 0;

  size_t format_count() const { return formats.size() / (trains ? 2 : 1); }
};

// With `measurements` of the same model, data and options it goes on where they end.
FormatSweep sweep_formats(const Model& model, const FormatSweepOptions& options, const TaskContext& context = {});

}  // namespace hone
