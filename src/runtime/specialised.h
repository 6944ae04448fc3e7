// A stage made ready for one set of sizes, and what comes after it. Nothing in it changes while it runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/evaluate.h"
#include "runtime/cut_graph.h"
#include "runtime/executable.h"

namespace hone {

class Bodies;
class Stage;
struct SharedKernels;
struct StagesShared;

// Where a run leaves its times, and whether its results are looked at.
struct RunNotes {
  const OutputViews* views = nullptr;  // checked
  const InputViews* apart = nullptr;   // where inputs lie whose elements lie apart
  NamedTensors* lent = nullptr;        // the inputs, see Executable::run()
  RunProfile* profile = nullptr;
  bool check = false;
  const UpdateWritten* written = nullptr;
};

// What is done between two nodes that are interpreted. Refers to all that it is given.
AfterNode after_each(const Graph& graph, const NamedTensors& inputs, const Workspace& workspace, const RunNotes& notes);

// What comes after a stage.
class Tail {
 public:
  // `next`: the number of the stage that the rest becomes; 0: it is evaluated node by node, and bodies are.
  Tail(CutGraph::Tail parts, StagesShared& shared, SharedKernels& kernels, int next);
  ~Tail();

  // `known`: inputs of the stage and its outputs; `sizes`: those found so far.
  std::vector<Tensor> run(NamedTensors known, const Bindings& sizes, Workspace& workspace, const RunNotes& notes) const;

 private:
  const CutGraph::Tail parts_;
  std::unique_ptr<Bodies> bodies_;  // of the turn; none: evaluated
  std::unique_ptr<Stage> rest_;     // likewise
  bool is_branch_ = false;          // the turn is one `if`
};

struct Specialised {
  Executable executable;
  Bindings sizes;                    // given and found
  std::shared_ptr<const Tail> tail;  // none: the outputs are the graph's

  Specialised(Executable executable, Bindings sizes, std::shared_ptr<const Tail> tail);

  // In a workspace that has what the executable needs.
  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, const RunNotes& notes) const;

 private:
  const std::shared_ptr<const std::vector<StepProfile>>& steps() const;  // of the executable, when first asked

  mutable std::once_flag described_;
  mutable std::shared_ptr<const std::vector<StepProfile>> steps_;
};

}  // namespace hone
