// One GPU as this process has it: its primary context, which queues, buffers and modules share, and what became of it.
//
// A kernel that faults makes the context useless, with all memory in it; so does a device that falls off its bus. Then
// the generation is over: whoever works in it gets DeviceLost, and whoever comes next gets a context made anew, as long
// as the driver gives one.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "device/cuda/driver.h"

namespace hone {

class CudaCalls;
class CudaStream;
class CudaModule;

class CudaContext {
 public:
  // Throws Error where the driver gives no context.
  CudaContext(std::shared_ptr<const cuda::Driver> driver, cuda::GpuFacts facts);
  ~CudaContext();  // nothing of it is in use

  const cuda::Driver& driver() const { return *driver_; }
  const cuda::GpuFacts& facts() const { return facts_; }
  std::string text() const;  // "cuda:0 (NVIDIA A100)"
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Whether each step is waited for, so that one that fails is known: with HONE_CUDA_SYNC=1, and once one has failed.
  bool waits_for_steps() const { return waits_ || generation() > 0; }

  // Memory of the device, of the generation of now. Throws MemoryError.
  std::byte* take(size_t bytes);
  void give_back(std::byte* address, uint64_t generation) noexcept;
  // Of the memory that an address lies in, which someone has. Bug where it lies in none.
  uint64_t generation_of(const std::byte* address) const;
  int64_t free_bytes();

  // One that nobody has now. Comes back by put().
  std::unique_ptr<CudaStream> take_stream();
  void put(std::unique_ptr<CudaStream> stream) noexcept;
  // The image's, loaded where nobody has it yet. Throws Error where the driver refuses it.
  std::shared_ptr<CudaModule> module(std::string_view image, const std::string& name);

 private:
  friend class CudaCalls;
  struct Block {
    size_t bytes;
    uint64_t generation;
  };

  void make_ready();
  void lose(uint64_t generation, std::string why) noexcept;
  [[noreturn]] void throw_lost() const;
  bool is_of_the_past(uintptr_t address, size_t bytes, uint64_t now) const;
  uintptr_t allocate(const CudaCalls& calls, size_t bytes);
  void release(const CudaCalls& calls, uintptr_t address) noexcept;

  const std::shared_ptr<const cuda::Driver> driver_;
  const cuda::GpuFacts facts_;
  const bool waits_;
  int device_ = 0;
  std::shared_mutex calls_;  // shared by those who call the driver, held alone by who makes the context anew
  // Changed by who holds `calls_` alone.
  cuda::Handle context_ = nullptr, memory_stream_ = nullptr, pool_ = nullptr;
  uint64_t ready_ = 0;  // the generation that these are of
  std::atomic<uint64_t> generation_{0};
  mutable std::mutex mutex_;           // of what follows
  std::string lost_by_, gone_;         // the last loss; why there is no context any more
  std::map<uintptr_t, Block> blocks_;  // by address
  std::vector<std::unique_ptr<CudaStream>> idle_;
  std::map<std::string, std::weak_ptr<CudaModule>> modules_;  // by the image's hash
};

// Launches that were asked for and that nobody has waited for. Their names stay until they are done.
struct CudaUnderWay {
  std::string_view first, last;
  size_t launches = 0;
  void add(std::string_view from, std::string_view to, size_t count);
  std::string text() const;  // which step, or which of them
};

// Calls of the driver by one thread. While it lives, the context is the thread's, and stays.
class CudaCalls {
 public:
  explicit CudaCalls(CudaContext& context);  // of now. Throws Error where there is none any more
  // DeviceLost where that is over. A fault that is heard of is that of what is `under_way`, where there is something.
  CudaCalls(CudaContext& context, uint64_t generation, const CudaUnderWay* under_way = nullptr);
  uint64_t generation() const { return generation_; }
  const cuda::Driver* operator->() const { return context_.driver_.get(); }
  // Unless the result is success: throws Error, MemoryError where memory is short, and DeviceLost where the context is
  // of no use any more; from now on everybody hears that this was by `what`.
  void check(int result, std::string_view what) const;

 private:
  void enter();

  CudaContext& context_;
  std::shared_lock<std::shared_mutex> lock_;
  uint64_t generation_;
  const CudaUnderWay* const under_way_ = nullptr;
};

}  // namespace hone
