// hone run: a model once, on given inputs, on texts, images, sounds, or made-up data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/profile.h"
#include "jobs/run_options.h"
#include "jobs/task.h"

namespace hone {

struct RunModelOptions : ShapeFlags, RunFlags, GivenFlags, TextFlags, CheckFiniteFlags {
  std::vector<std::string> images, sounds;  // files, made into what the model reads, as its folder says
  uint64_t seed = 1;                        // of made-up inputs
  bool profile = false;                     // also measure where the time of a run goes

  static std::span<const OptionField<RunModelOptions>> fields();
  static std::span<const OptionField<RunModelOptions>> input_fields();  // of these, all that comes before --profile
  static std::span<const OptionField<RunModelOptions>> look_fields();   // and the rest
};

struct RunModelResult {
  std::vector<std::string> names;        // of the outputs
  std::vector<Tensor> outputs;           // one for each
  std::optional<ProfileResult> profile;  // where it is asked for
};

// What the graph gives by name, in order: its outputs but updates of state.
std::vector<std::string> output_names(const Graph& graph);

// Throws Error where inputs are missing or do not fit, and for a profile of a model that is interpreted as a whole.
RunModelResult run_model(const Model& model, const RunModelOptions& options, const TaskContext& context = {});

}  // namespace hone
