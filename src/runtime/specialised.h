// A session's graph made ready for one set of shapes: the part with constant shapes, compiled, and where shapes depend
// on data, the rest. Nothing in it changes while it runs.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ops/evaluate.h"
#include "runtime/executable.h"

namespace hone {

// Where a run leaves its times, and whether its results are looked at.
struct RunNotes {
  RunProfile* profile = nullptr;
  bool check = false;
};

// What is done between two nodes that are interpreted. Refers to all that it is given.
AfterNode after_each(const Graph& graph, const NamedTensors& inputs, const Workspace& workspace, const RunNotes& notes);

struct Specialised {
  Executable executable;
  std::vector<std::string> handed;  // labels of the executable's outputs
  std::optional<Graph> open;
  Bindings bindings;

  Specialised(Executable made, std::optional<Graph> rest, std::vector<std::string> labels, Bindings values);

  // In a workspace that has what the executable needs.
  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, const RunNotes& notes) const;

 private:
  std::vector<Tensor> run_open(const NamedTensors& inputs, std::vector<Tensor> results, const Workspace& workspace,
                               const RunNotes& notes) const;
  const std::shared_ptr<const std::vector<StepProfile>>& steps() const;  // of both parts, when first asked

  mutable std::once_flag described_;
  mutable std::shared_ptr<const std::vector<StepProfile>> steps_;
};

}  // namespace hone
