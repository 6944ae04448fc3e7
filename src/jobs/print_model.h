// hone print: a model's graph as text, as it was read or further on its way to code.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/load_model.h"

namespace hone {

struct PrintModelOptions {
  std::string stage = "loaded", compute, config;
  std::vector<std::string> pass, pass_option;
  static std::span<const OptionField<PrintModelOptions>> fields();
};

// Throws Error for a stage, a pass or an option that there is not, and where a pass leaves a graph that is not sound.
Graph graph_at_stage(const Model& model, const PrintModelOptions& options);

}  // namespace hone
