// What a plan of hone allocate says beside the formats: keys of the same TOML file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/options.h"

namespace hone {

struct PlanNotes {
  std::string compute;  // what it was measured with: the default of --compute; empty: none
  std::string target;   // the kind of file that it is for: "safetensors" or "onnx"; empty: not said
  int64_t bytes = 0;    // that this file has at most; 0: not said
};
std::span<const OptionField<PlanNotes>> plan_fields();

void check_target(const std::string& target);  // throws Error unless it is one of the two

// Said of a file of `bytes` that was written by a plan and is larger than the plan states.
std::optional<std::string> over_plan(const PlanNotes& notes, const std::string& path, int64_t bytes);

}  // namespace hone
