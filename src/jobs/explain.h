// hone explain: what would be run for a model, and why so. Nothing is compiled or run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "jobs/run_options.h"

namespace hone {

struct ExplainOptions {
  ShapeOptions shapes;
  std::shared_ptr<Device> device;                              // null: the CPU with all that it has
  std::optional<Compute> compute;                              // none: as stored in the model
  bool fuse = true, no_winograd = false, no_fallback = false;  // see LowerOptions
  PipelineOptions pipeline;
};

// The same as flags.
struct ExplainFlags : ShapeFlags, RunFlags {
  ExplainOptions explanation() const;
  static std::span<const OptionField<ExplainFlags>> fields();
};

// An elementwise user of a step's result that has a kernel of its own.
struct NotFused {
  std::string op, value, why;  // value: the name of its result
};

struct ExplainedStep {
  std::string name, ops;
  std::string kernel;           // "interpreted" where there is no code
  std::string why_interpreted;  // then
  double flops = 0, bytes = 0;  // predicted: each operand and result once
  std::optional<size_t> code;   // of ExplainResult::codes
  bool on_host = false;         // though another device runs the model
  int64_t copied_bytes = 0;     // there and back, then
  std::string why_on_host;
  std::vector<std::string> refused;  // other ways to compute it, each with the reason against it
  std::vector<NotFused> left_out;
  std::optional<std::string> moved;  // the result's type, where elements only change places
};

struct ExplainedCode {
  std::string kernel, how;
  bool on_host = false;
  int64_t steps = 0;  // that share it
};

struct ExplainResult {
  int64_t nodes = 0;                 // of the model as it was given
  std::string device, variant;       // "cpu", and its instruction set
  std::vector<ExplainedStep> steps;  // in the order of execution
  std::vector<ExplainedCode> codes;
  int64_t with_bodies = 0;  // nodes that are planned and compiled when their bodies first run
  int64_t one_by_one = 0;   // nodes that are evaluated so, because their shapes depend on data
  int64_t later = 0;        // nodes that are planned and compiled when a run has found their sizes
  int64_t arena_bytes = 0, largest_live_bytes = 0, prepacked_bytes = 0;
  int64_t in_place = 0;  // results that are written over an operand
};

ExplainResult explain(const Model& model, const ExplainOptions& options = {});

}  // namespace hone
