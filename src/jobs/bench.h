// hone bench: models against each other in one run, by the protocol of docs/DESIGN.md section 5: phases never merged,
// interleaved rounds, medians with intervals, correctness beside speed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/candidate.h"
#include "jobs/comparison.h"
#include "jobs/evaluate.h"
#include "jobs/lab_protocol.h"
#include "jobs/probe_rounds.h"
#include "measure/cpu_contention.h"

namespace hone {

struct TimeModelsOptions {
  CandidateOptions open;
  double seconds = 20;           // longest measured part
  EvaluationOptions evaluation;  // what their answers are worth, where data are given
  bool probe = true;             // measure what only a fresh process shows, where the caller lends such processes
  bool lab = false;
};

struct BenchOptions : ShapeFlags, RunFlags, GivenFlags, EvaluationFlags, SecondsFlags, SeedFlags, CheckFiniteFlags {
  bool no_probe = false;
  std::string protocol = "fair";  // lab: the coursework's beside ours (lab_protocol.h)

  TimeModelsOptions timing() const;
  static std::span<const OptionField<BenchOptions>> fields();
  static std::span<const OptionField<BenchOptions>> own_fields();  // of these, all but those of CheckFiniteFlags
};

struct TimedModel {
  std::string name;
  FileFacts file;
  int64_t batch = 1, weight_bytes = 0, arena_bytes = 0;
  Compute compute = Compute::f32;
  Timing timing;
  ProbeRounds probes;                    // none: not measured
  std::optional<LabRuns> lab;            // where that is asked for
  std::optional<Comparison> comparison;  // with the first model; of itself none
};

struct BenchResult {
  std::vector<TimedModel> models;
  std::optional<QualityComparison> quality;  // where there are data
  RunConditions conditions;
  Interference interference;          // of others, during the timing
  std::optional<CpuContention> pair;  // of several threads
  std::vector<std::string> notes;     // what the sessions say of their machine code
  Environment environment;
};

// The first model is what the others are compared with. No speed is claimed for one whose first output is not that of
// the first, by a cosine of kLeastCosine (comparison.h), and what pays is said only where it is faster. Throws Error
// when the models don't take the same inputs or give the same outputs.
BenchResult bench(std::span<const Model> models, const BenchOptions& options, const TaskContext& context = {});
BenchResult time_models(std::span<const Model> models, const TimeModelsOptions& options,
                        const TaskContext& context = {});

// The nanoseconds of every round as CSV: a line per round, a column per model.
std::string samples_csv(const BenchResult& result);

}  // namespace hone
