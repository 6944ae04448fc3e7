// A stream of a GPU with what its queue needs beside it: pinned memory that copies go through, and events. All of it is
// made once and taken again by later queues, since making it takes the driver milliseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cuda/context.h"

namespace hone {

// For one thread at a time.
class CudaStream {
 public:
  explicit CudaStream(CudaContext& context);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  uint64_t generation() const { return generation_; }
  cuda::Handle handle() const { return stream_; }

  // Asked for in the stream; from here on the bytes may change.
  void write(const CudaCalls& calls, cuda::DevicePointer to, std::span<const std::byte> from);
  // The bytes are there when deliver() has been called behind the copy.
  void read(const CudaCalls& calls, cuda::DevicePointer from, std::span<std::byte> to);
  void deliver(const CudaCalls& calls);  // what has been read by now
  void drop_reads();                     // that nobody wants any more

  uint64_t record(const CudaCalls& calls);
  cuda::Handle event(uint64_t recorded) const { return events_[static_cast<size_t>(recorded)]; }
  void forget_events() { recorded_ = 0; }

 private:
  static constexpr size_t kSlots = 16, kSlotBytes = size_t{256} << 10;
  // Pinned memory in pieces, which are taken by turns.
  struct Staging {
    struct Slot {
      cuda::Handle event = nullptr;  // behind the last copy
      bool is_used = false;
      std::span<std::byte> target = {};  // of what was read
    };
    std::byte* memory = nullptr;
    std::array<Slot, kSlots> slots;
    size_t next = 0;
    bool is_refused = false;  // the system has no pinned memory left: copies do without
  };

  bool has_staging(const CudaCalls& calls, Staging& staging);
  std::byte* take(const CudaCalls& calls, Staging& staging);  // the next slot's, once its last copy is done
  void close(const CudaCalls& calls, Staging& staging, std::span<std::byte> target);
  void deliver(Staging::Slot& slot, const std::byte* memory);
  cuda::Handle make_event(const CudaCalls& calls, unsigned flags);

  CudaContext& context_;
  uint64_t generation_ = 0;
  cuda::Handle stream_ = nullptr;
  Staging writes_, reads_;
  std::vector<cuda::Handle> events_;
  uint64_t recorded_ = 0;
};

}  // namespace hone
