// What a session has made for its device, and again where that has lost its memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/session.h"
#include "runtime/stage.h"

namespace hone {

// Code, weights and plans, for one generation of the device's memory.
struct MadeStages {
  MadeStages(const Graph& graph, LowerOptions how, const TokenLimits& limits, RunPool& pool,
             const SessionOptions& options, std::function<Graph(Graph)> prepared);

  uint64_t generation() const { return shared.kernels.generation; }
  // For runs in which these lie apart; null when there are `most` others.
  Stage* with_layouts(const Graph& graph, const Layouts& layouts, size_t most);

  StagesShared shared;
  Stage first;

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Stage>> laid_;  // by the text of what lies apart
};

// For any number of threads at once.
class SessionStages {
 public:
  // Refers to all of these; the options have a device.
  SessionStages(const Graph& graph, const TokenLimits& limits, RunPool& pool, const SessionOptions& options,
                std::function<Graph(Graph)> prepared);

  // For a run that begins now and keeps them to its end: made anew when the device has lost its memory since. A device
  // in the host's memory loses none, so its stages are those of the session to the end.
  std::shared_ptr<MadeStages> now();
  std::shared_ptr<MadeStages> last() const;  // as they are

 private:
  std::shared_ptr<MadeStages> make() const;

  const Graph& graph_;
  const TokenLimits& limits_;
  RunPool& pool_;
  const SessionOptions& options_;
  const LowerOptions lowering_;
  const std::function<Graph(Graph)> prepared_;
  mutable std::mutex mutex_;  // of the device's that may lose memory
  std::shared_ptr<MadeStages> made_;
};

}  // namespace hone
