// The end of what was asked of a queue.
#pragma once

#include "device/queue.h"

namespace hone {

// Nothing that was asked of the queue is under way when this ends: stands behind what that names, for whatever way
// leads out. What failed is thrown by whoever synchronises where no exception is on its way.
class Drained {
 public:
  explicit Drained(Queue& queue) : queue_(queue) {}
  ~Drained() {
    try {
      queue_.synchronise();
    } catch (...) {  // what made the run end is told already
    }
  }
  Drained(const Drained&) = delete;
  Drained& operator=(const Drained&) = delete;

 private:
  Queue& queue_;
};

}  // namespace hone
