// Tensors that a model stores under names and that its source does not train, such as a table of sines. What is
// written has the names in its metadata, so they stay what they are there, too.
#pragma once

#include <string>

#include "base/text.h"
#include "ir/graph.h"

namespace hone {

constexpr const char* kFixedTensors = "fixed_tensors";  // of the graph's metadata: names, with blanks between

inline void fix_tensor(Graph& graph, const std::string& name) {
  std::string& names = graph.metadata[kFixedTensors];
  names += (names.empty() ? "" : " ") + name;
}

inline bool is_fixed_tensor(const Graph& graph, const std::string& name) {
  const auto found = graph.metadata.find(kFixedTensors);
  if (found == graph.metadata.end()) return false;
  for (const std::string& each : split(found->second, ' '))
    if (each == name) return true;
  return false;
}

}  // namespace hone
