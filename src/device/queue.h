// The order in which a device does what it is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/compiler.h"
#include "device/launch.h"
#include "device/plan.h"

namespace hone {

// What is asked of a queue is done in that order, each when the one before has ended, at the latest when synchronise()
// returns; the call itself may return before. Memory that is named stays as long as that takes, host memory unchanged.
// For one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;     // from the host
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;      // to the host
  virtual void copy(std::byte* to, const std::byte* from, size_t bytes) = 0;  // on the device
  // All work items of `call`, with the addresses of the device in `args` and its scratch areas.
  virtual void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) = 0;
  virtual uint64_t record() = 0;          // an event: it has happened when all that was asked before is done
  virtual void wait(uint64_t event) = 0;  // the host, for an event of this queue
  // Until all is done. Throws what failed of it, once; after that the queue can be used again.
  virtual void synchronise() = 0;
};

}  // namespace hone
