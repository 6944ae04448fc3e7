// hone squeeze, the main job: quantize a model, write it, open what was written, and measure it against the original.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/agreement.h"
#include "jobs/bench.h"
#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/evaluation_flags.h"
#include "jobs/max_drop.h"
#include "jobs/quantize_flags.h"
#include "jobs/run_options.h"
#include "jobs/save_model.h"
#include "jobs/task.h"
#include "runtime/session.h"

namespace hone {

struct SqueezeModelOptions {
  QuantizeOptions quantize;
  Calibration calibration;
  Compute compute = Compute::bf16;  // of the result; the original runs as it is stored
  NamedTensors given;               // what outputs are compared on and time is measured with; empty: texts or made up
  std::vector<std::string> texts;   // for models with a tokenizer; empty: sample_texts()
  ShapeOptions shapes;              // of made-up inputs
  EvaluationOptions evaluation;     // what answers are worth, where data are given
  std::optional<MaxDrop> max_drop;  // of the first metric: what loses more is not written
  SessionOptions session;
  double seconds = 20;  // longest measured part
  uint64_t seed = 1;
};

// The same as a program or another language gives it.
struct SqueezeOptions : QuantizeFlags,
                        GivenFlags,
                        TextFlags,
                        EvaluationFlags,
                        ShapeFlags,
                        RunFlags,
                        SecondsFlags,
                        SeedFlags {
  SqueezeOptions() { QuantizeFlags::compute = "bf16"; }
  std::string max_drop;

  SqueezeModelOptions typed() const;
  static std::span<const OptionField<SqueezeOptions>> fields();
};

struct SqueezeResult {
  QuantizedModel quantized;
  SavedModel saved;
  Agreement agreement;              // of the outputs of the original and of the written file
  std::string examples;             // what they were compared on: "12 built-in texts"
  BenchResult timed;                // the original, and the written file
  std::optional<std::string> kept;  // that no more is lost than was allowed, where that was asked: a sentence
};

// Writes `output`. Memory and compile times are measured where the context lends processes. Throws Error before
// anything is written when an option or input does not fit.
SqueezeResult squeeze(const Model& model, const std::string& output, const SqueezeModelOptions& options,
                      const TaskContext& context = {});
SqueezeResult squeeze(const Model& model, const std::string& output, const SqueezeOptions& options,
                      const TaskContext& context = {});

}  // namespace hone
