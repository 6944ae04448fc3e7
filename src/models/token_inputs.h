// What models of tokens take: ids i64[B,S], and beside them a mask, token types and, of classifiers, labels i64[B].
#pragma once

#include <string>
#include <vector>

#include "models/registry.h"

namespace hone {

class TokenInputs {
 public:
  // The requested inputs, or the ids and the mask. Throws Error for unknown or repeated ones, and without input_ids.
  TokenInputs(const ModelRequest& request, bool has_labels);

  bool has(const std::string& name) const;
  void declare(Graph& graph) const;  // in the requested order, so that positional callers get what they asked for

 private:
  std::vector<std::string> wanted_;
};

ValueId input_of(const Graph& graph, const std::string& label);  // kNone when there is none

}  // namespace hone
