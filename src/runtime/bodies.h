// The bodies of if, loop and scan as stages of their own, made ready when they first run.
#pragma once

#include <map>
#include <memory>

#include "ops/evaluate.h"
#include "runtime/stage.h"
#include "runtime/turn_times.h"

namespace hone {

class Bodies {
 public:
  // Of the nodes of `graph`, which outlives this. `number`: of the stages.
  Bodies(const Graph& graph, StagesShared& shared, int number);
  ~Bodies();

  // In a workspace that nothing else uses meanwhile. A body whose inputs don't fit its symbols is evaluated. `times`:
  // null, or gets those of each run.
  BodyRunner runner(Workspace& workspace, TurnTimes* times) const;

 private:
  struct Body;
  const bool no_fallback_;
  std::map<const Graph*, std::unique_ptr<Body>> bodies_;
};

}  // namespace hone
