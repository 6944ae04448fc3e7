// hone sweep: a model in many number formats, or pruned in many ways, one after the other.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "jobs/evaluation_flags.h"
#include "jobs/format_sweep.h"
#include "jobs/prune_sweep.h"
#include "jobs/quantize_flags.h"
#include "jobs/run_options.h"

namespace hone {

// Of one of the two.
using TypedSweepOptions = std::variant<FormatSweepOptions, PruneSweepOptions>;
using SweepResult = std::variant<FormatSweep, PruneSweep>;

struct SweepOptions : EvaluationFlags, QuantizeFlags, RunFlags {
  SweepOptions() { QuantizeFlags::compute = "f32"; }
  std::vector<std::string> formats, methods;  // formats or sparsity
  std::string sparsity, train_config, measurements;
  std::string structure = PruneOptions().structure, scope = PruneOptions().scope;
  bool with_activations = false, train = false;

  TypedSweepOptions typed() const;                                   // throws Error where options contradict each other
  static std::span<const OptionField<SweepOptions>> asked_fields();  // formats, sparsity, methods, structure, scope
  static std::span<const OptionField<SweepOptions>> other_fields();  // all but those
  static std::span<const OptionField<SweepOptions>> fields();
};

SweepResult sweep(const Model& model, const TypedSweepOptions& options, const TaskContext& context = {});
SweepResult sweep(const Model& model, const SweepOptions& options, const TaskContext& context = {});

}  // namespace hone
