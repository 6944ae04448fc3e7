// hone allocate: which format each weight gets, so that a model meets a budget and loses as little as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocate/sensitivity.h"
#include "jobs/budget.h"
#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/evaluation_flags.h"
#include "jobs/format_study.h"
#include "jobs/plan_speed.h"
#include "jobs/quantize_flags.h"
#include "jobs/run_options.h"
#include "jobs/task.h"
#include "runtime/session.h"

namespace hone {

struct AllocateFormatsOptions {
  std::vector<std::string> formats;
  QuantizeOptions quantize{{}, {.method = "gptq"}};  // method, skip, rules: what these decide is not chosen
  std::optional<Budget> budget;                      // one of these two
  std::optional<double> lambda;                      // QualityScale::loss() and lambda * average bits is minimised
  Calibration data, calibration;  // what outputs are compared on, what methods learn from (StudyOptions)
  EvaluationOptions judged;       // by what
  bool measure_all = false;       // every tensor in every format, instead of an estimate for most
  bool front = false;             // the best choices for other budgets too
  int trials = 8;                 // of the refinement
  uint64_t seed = 1;
  std::string target = "safetensors";  // the kind of file that a budget of bytes or time is of; or "onnx"
  ShapeOptions shapes;                 // that times are measured at, on made-up inputs
  double seconds = 10;                 // longest measured part of times
  SessionOptions session;              // compute: of what is chosen; the original's time is taken as it is stored
  std::string memory;                  // file of measurements that are remembered; empty: none
};

// The same as a program or another language gives it.
struct AllocateFlags : EvaluationFlags, ShapeFlags, QuantizeFlags, RunFlags {
  AllocateFlags() {
    QuantizeFlags::compute = "bf16";
    static_cast<QuantizeOptions&>(*this) = AllocateFormatsOptions().quantize;
  }
  std::vector<std::string> formats;
  std::string budget, memory, target = "safetensors";
  std::optional<double> lambda;
  int64_t trials = 8;
  bool measure_all = false, front = false;
  uint64_t seed = 1;
  double seconds = 10;

  AllocateFormatsOptions typed() const;
  // Those of `first` are asked for before the place of the plan.
  static std::span<const OptionField<AllocateFlags>> first_fields();
  static std::span<const OptionField<AllocateFlags>> other_fields();
  static std::span<const OptionField<AllocateFlags>> fields();
};

// One choice of formats for all weights, measured.
struct MeasuredChoice {
  std::string name;  // "all in mxint4"; of the front its place
  double average_bits = 0;
  int64_t bytes = 0;  // of everything that is stored
  OutputDistance selecting, held_out;
  double predicted = 0;  // of the front: the error that estimates give
};

// One weight of the plan, alone in its format.
struct AllocatedTensor {
  std::string name, format;
  int64_t bytes = 0;
  double layer_error = 0, output_error = 0;
  bool is_measured = false;  // else its output error is an estimate
};

// A choice that was weighed against others, on what selects.
struct WeighedChoice {
  std::string origin;  // "solved", "uniform mxint4", "refined"
  double average_bits = 0, predicted = 0, score = 0;
};

// One weight alone in one format.
struct MeasuredTensor {
  std::string name, format;
  double layer_error = 0, estimate = 0, output_error = 0;
};

struct AllocatedFormats {
  StudyFacts study;
  QuantizeOptions plan;     // with what was given
  Calibration calibration;  // what its method learns from
  PlanNotes notes;
  int64_t file_bytes = 0;  // of the file that the plan makes
  std::optional<Budget> budget;
  std::optional<double> lambda;
  Compute compute = Compute::f32;  // of all but the original
  int64_t threads = 1;
  MeasuredChoice chosen;
  std::vector<MeasuredChoice> uniform;                   // by format
  std::optional<MeasuredChoice> original_as_the_others;  // where they compute in less than f32
  MeasuredChoice original;                               // in f32, without a difference to itself
  std::vector<AllocatedTensor> tensors;
  std::vector<WeighedChoice> trials;  // in the order of measuring
  WeighedChoice original_weighed;
  size_t best = 0;                             // of `trials`: the plan
  bool is_uniform = false;                     // no mixture scored less than one format for all
  std::optional<WeighedChoice> least_uniform;  // of the uniform ones within the budget that of the least score
  OutputDistance least_uniform_held_out;
  std::vector<MeasuredChoice> front;
  std::optional<MeasuredChoice> original_of_front;
  std::vector<MeasuredTensor> sensitivities;  // where every one was measured
  std::optional<EstimateQuality> estimates;   // likewise
  std::optional<PlanSpeed> speed;             // where the budget is one of time
  double predicted_ms = 0;                    // likewise: of the plan, from the times of steps
  double seconds = 0;                         // of the search
  std::optional<double> choice_seconds;       // of measuring one choice: the median
  int64_t measured = 0, recalled = 0;
};

// Throws Error when no choice meets the budget: a budget of a drop is met where choices are compared, a budget of bytes
// is one of the whole file that `quantize` makes of the plan, one of time is met when the whole interval of what that
// file takes is within it.
AllocatedFormats allocate_formats(const Model& model, const AllocateFormatsOptions& options,
                                  const TaskContext& context = {});
AllocatedFormats allocate_formats(const Model& model, const AllocateFlags& options, const TaskContext& context = {});

// The plan as a TOML file for --config of quantize and squeeze, which says `made_by`. Throws Error unless the name ends
// in .toml, which the second does alone.
void write_plan(const std::string& path, const AllocatedFormats& allocated, const std::string& made_by);
void check_plan_name(const std::string& path);

}  // namespace hone
