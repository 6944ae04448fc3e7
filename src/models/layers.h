// Parts that builders of all families share, emitted into a graph. Weights are asked for as they are used, under the
// names that their files give them: NAME.weight and NAME.bias.
#pragma once

#include <string>
#include <vector>

#include "models/registry.h"

namespace hone {

class LayerBuilder {
 public:
  LayerBuilder(Graph& graph, const ModelRequest& request) : graph_(graph), request_(request) {}

  Graph& graph() { return graph_; }
  const ModelRequest& request() const { return request_; }
  bool has_weight(const std::string& name) const { return request_.has_weight && request_.has_weight(name); }
  ValueId weight(const std::string& name, const std::vector<int64_t>& shape);
  ValueId as_f32(ValueId x);  // x itself when it is

  // The one input of a model that takes f32[...] and nothing else; Error when the request names another.
  ValueId only_input(const std::string& name, const Shape& shape);

  // x[...,inputs] → f32[...,outputs]
  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, const std::string& result = "");
  ValueId unbiased_linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs,
                          const std::string& result = "");

  // The activation that configurations call `name`; Error for unknown names.
  ValueId activation(ValueId x, const std::string& name);

 private:
  Graph& graph_;
  const ModelRequest& request_;
};

}  // namespace hone
