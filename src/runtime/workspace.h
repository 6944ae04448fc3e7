// What one run needs for itself: the arena, a scratch area for each of its threads, and the arguments of its kernels.
// One run at a time has it, begun and ended by RunPool.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/stop.h"
#include "device/device.h"
#include "ir/tensor.h"
#include "kernels/kernel.h"
#include "runtime/buffer_pool.h"
#include "runtime/recording.h"

namespace hone {

class RunPool;

class Workspace {
 public:
  // Grows to hold this in memory of the device, never shrinks; what it had of another device or generation goes. Throws
  // Error when that is more than the process may take, and DeviceLost when that generation is over.
  void reserve(const std::shared_ptr<Device>& device, uint64_t generation, int64_t arena_bytes, int64_t scratch_bytes,
               int threads);
  int64_t bytes() const;   // that it has, with the host's part
  bool drop_free() const;  // memory that inputs and outputs of earlier runs had and nobody has; false: there was none
  // What the steps take that the host computes for a device: made when it is first asked for.
  Workspace& host_part();
  const Workspace& host_part() const { return *host_part_; }  // where it was reserved
  std::byte* arena() const { return arena_; }
  std::span<std::byte* const> scratch(int threads) const {
    return std::span(scratch_).first(static_cast<size_t>(threads));
  }
  Queue& queue() const { return *queue_; }
  // Of the device, for an input or an output: uninitialised. Memory that is not the host's is that of earlier runs,
  // where they have left some. Where it is short, that of workspaces that no run has now goes first.
  Buffer allocate(size_t bytes) const;

  bool begin(RunPool* runs = nullptr);  // a run, of these; false: one is under way
  void end();
  void cancel() noexcept;  // by any thread: the run under way throws at the boundary of its next step

  // Throws Stopped where the run, or all work of the process, is to end.
  void check_step() const {
    check_stop();
    if (state_.load(std::memory_order_relaxed) == State::cancelled) [[unlikely]]
      throw Stopped(Stop::cancelled);
  }

 private:
  void renew(const std::shared_ptr<Device>& device, uint64_t generation);

  enum class State : uint8_t { idle, running, cancelled };

  std::atomic<State> state_{State::idle};
  RunPool* runs_ = nullptr;         // that the run under way is of
  std::shared_ptr<Device> device_;  // whose memory this is
  uint64_t generation_ = 0;         // of that memory: in a later one the queue throws
  std::unique_ptr<Queue> queue_;
  std::shared_ptr<BufferPool> pool_;  // null: the device's memory is the host's
  Buffer arena_buffer_;
  std::vector<Buffer> scratch_buffers_;
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> scratch_;
  std::unique_ptr<Workspace> host_part_;

 public:
  // Kernels' arguments by step, with addresses in this arena, and the bytes of the inputs and outputs. They stay for
  // the next run of the same executable, unless the arena moves. Last: what it has goes before the queue.
  struct Bound {
    std::shared_ptr<const void> executable;  // ArgumentPointers::identity_; null: nothing is bound
    std::vector<KernelArgs> args;
    std::vector<const std::byte*> inputs;  // kPlanes of each
    std::vector<std::byte*> outputs;       // likewise: where they are computed; null: elsewhere
    std::vector<Buffer> laid_out;          // weights that runs lay out
    std::unique_ptr<Recording> recording;  // of a run like the last one that came to its end; null: there is none
  } bound;
};

}  // namespace hone
