// The launches of a run, kept by a queue so that they can be asked for again at once.
#pragma once

#include <cstddef>
#include <span>

#include "device/compiler.h"
#include "device/launch.h"
#include "device/plan.h"

namespace hone {

// What Queue::launch() takes. What it points to stays where it is for as long as the replay is there.
struct QueuedStep {
  Code code = nullptr;
  const KernelArgs* args = nullptr;
  const Launch* call = nullptr;
  std::span<std::byte* const> scratch;
};

// A queue makes of them what it likes, and drops that here. It must not outlive the queue.
class Replay {
 public:
  virtual ~Replay() = default;
};

}  // namespace hone
