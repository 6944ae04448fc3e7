#include "device/queue.h"

#include <vector>

namespace hone {
namespace {

struct Loop : Replay {
  explicit Loop(std::span<const QueuedStep> each) : steps(each.begin(), each.end()) {}
  const std::vector<QueuedStep> steps;
};

}  // namespace

std::unique_ptr<Replay> Queue::prepare(std::span<const QueuedStep> steps) { return std::make_unique<Loop>(steps); }

void Queue::run(Replay& replay, std::span<const size_t>) {
  for (const QueuedStep& step : static_cast<const Loop&>(replay).steps)
    launch(step.code, *step.args, *step.call, step.scratch);
}

}  // namespace hone
