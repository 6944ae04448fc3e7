// What a graph reads beside what callers give, and what of it changes in a run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct HeldValues {
  explicit HeldValues(const Graph& graph);

  std::map<std::string, std::optional<Tensor>> states;  // and what they begin as
  struct Update {
    std::string name;
    InputRole role;
  };
  std::vector<Update> updates;        // the results behind the outputs
  std::vector<std::string> changing;  // parameters among them
};

}  // namespace hone
