// hone allocate: which format each weight gets, so that a model meets a budget and loses as little as possible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct Budget {
  enum class Kind : uint8_t { average_bits, bytes, latency, drop } kind = Kind::average_bits;
  double value = 0;          // bits; bytes; milliseconds; of a drop, MaxDrop::value
  bool is_relative = false;  // latency: `value` is a share of the original's time; drop: MaxDrop::percent
};
// "avg-bits=4.5", "bytes=12MB" (B, kB, MB, GB, KiB, MiB, GiB), "latency=0.7x" (of the original's), "latency=12ms" or
// "drop=0.5%" (max_drop.h: as few bits as lose no more of the metric).
// Throws Error.
Budget parse_budget(const std::string& text);
std::string to_string(const Budget& budget);

struct AllocateFormatsOptions {
  std::string model, output;  // output: the plan, a TOML file for --config of quantize and squeeze
  std::vector<std::string> inputs;
  std::vector<std::string> formats;
  QuantizeOptions quantize{{}, {.method = "gptq"}};  // method, skip, rules: what these decide is not chosen
  std::optional<Budget> budget;                      // one of these two
  std::optional<double> lambda;                      // FormatStudy::loss() and lambda * average bits is minimised
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
  std::string command;
  Progress progress = {};
};

// Findings; tables "results" (the plan, uniform formats, the original; on samples that took no part in choosing),
// "plan", "trials", "front" with a plot, and how well estimates predict what was measured. Writes the plan.
// Throws Error, with nothing written, when no choice meets the budget: a budget of a drop is met where choices are
// compared, a budget of bytes is one of the whole file that
// `quantize` makes of the plan, one of time is met when the whole interval of what that file takes is within it.
Record allocate_formats(const AllocateFormatsOptions& options);

}  // namespace hone
