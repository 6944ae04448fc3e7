// The order in which a device does what it is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "device/compiler.h"
#include "device/launch.h"
#include "device/plan.h"
#include "device/replay.h"

namespace hone {

// What is asked of a queue is done in that order, each when the one before has ended. A call may return before that is
// done, and before it has begun. For one thread at a time.
//
// Lifetimes. Whoever asks keeps what he names until that is done: an event recorded behind it has happened, or
// synchronise() has returned or thrown. Until then nobody changes the source of write(), or looks at the target of
// read(); code, memory of the device and scratch areas stay. `args`, `call` and the span of scratch areas are the
// exception: launch() has read them when it returns. So whoever leaves by an exception synchronises before what he
// named goes. When the destructor returns, nothing is under way; what was not begun is dropped.
//
// Failures. A call that cannot be asked for throws at once, and what was asked before it stays asked. What fails later
// is thrown by the next synchronise(), once: then nothing is under way, nothing after the failure was done, memory
// that was to be written has any bytes, and the queue can be used again. The message has Launch::name. Whoever wrote
// over the only copy of something has lost it then.
//
// A queue whose device has lost its memory throws DeviceLost from every call that can throw; it is of no use any more.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;     // from the host
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;      // to the host
  virtual void copy(std::byte* to, const std::byte* from, size_t bytes) = 0;  // on the device
  // All work items of `call`, with the addresses of the device in `args` and its scratch areas.
  virtual void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) = 0;

  // The launches of `steps`, to be asked for many times. run() is launch() of each in order: with the arguments of
  // then for the steps in `changed` (ascending), which are all whose arguments differ from what they were at the run
  // before, or at prepare().
  virtual std::unique_ptr<Replay> prepare(std::span<const QueuedStep> steps);
  virtual void run(Replay& replay, std::span<const size_t> changed);

  virtual uint64_t record() = 0;          // an event: it has happened when all that was asked before is done
  virtual void wait(uint64_t event) = 0;  // the host, for an event of this queue. Throws nothing: synchronise() does
  // From one event to a later one. Both have happened, and were not forgotten.
  virtual double elapsed_ns(uint64_t from, uint64_t to) = 0;
  virtual void forget_events() {}  // nobody asks about those recorded so far

  // Until all is done. Throws what failed of it.
  virtual void synchronise() = 0;
};

}  // namespace hone
