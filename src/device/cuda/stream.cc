#include "device/cuda/stream.h"

#include <algorithm>
#include <cstring>

namespace hone {

using namespace cuda;

CudaStream::CudaStream(CudaContext& context) : context_(context) {
  const CudaCalls calls(context);
  generation_ = calls.generation();
  calls.check(calls->cuStreamCreate(&stream_, kStreamNonBlocking), "a stream");
}

// Called where nobody changes the context: by who has it, or when it goes.
CudaStream::~CudaStream() {
  if (generation_ != context_.generation()) return;  // it went with its context
  const Driver& driver = context_.driver();
  for (Handle event : events_) driver.cuEventDestroy_v2(event);
  for (Staging* staging : {&writes_, &reads_}) {
    for (const Staging::Slot& slot : staging->slots)
      if (slot.event) driver.cuEventDestroy_v2(slot.event);
    if (staging->memory) driver.cuMemFreeHost(staging->memory);
  }
  driver.cuStreamDestroy_v2(stream_);
}

bool CudaStream::has_staging(const CudaCalls& calls, Staging& staging) {
  if (staging.memory || staging.is_refused) return staging.memory != nullptr;
  void* memory = nullptr;
  if (calls->cuMemHostAlloc(&memory, kSlots * kSlotBytes, kHostPortable) != kSuccess) staging.is_refused = true;
  staging.memory = static_cast<std::byte*>(memory);
  return memory != nullptr;
}

Handle CudaStream::make_event(const CudaCalls& calls, unsigned flags) {
  Handle event = nullptr;
  calls.check(calls->cuEventCreate(&event, flags), "an event");
  return event;
}

std::byte* CudaStream::take(const CudaCalls& calls, Staging& staging) {
  Staging::Slot& slot = staging.slots[staging.next];
  std::byte* const memory = staging.memory + staging.next * kSlotBytes;
  if (!slot.event) slot.event = make_event(calls, kEventWithoutTime);
  if (slot.is_used) calls.check(calls->cuEventSynchronize(slot.event), "a copy");
  deliver(slot, memory);
  return memory;
}

void CudaStream::close(const CudaCalls& calls, Staging& staging, std::span<std::byte> target) {
  Staging::Slot& slot = staging.slots[staging.next];
  calls.check(calls->cuEventRecord(slot.event, stream_), "a copy");
  slot.is_used = true, slot.target = target;
  staging.next = (staging.next + 1) % kSlots;
}

void CudaStream::deliver(Staging::Slot& slot, const std::byte* memory) {
  if (!slot.target.empty()) std::memcpy(slot.target.data(), memory, slot.target.size());
  slot.is_used = false, slot.target = {};
}

void CudaStream::write(const CudaCalls& calls, DevicePointer to, std::span<const std::byte> from) {
  if (!has_staging(calls, writes_))
    return calls.check(calls->cuMemcpyHtoDAsync_v2(to, from.data(), from.size(), stream_), "a copy to it");
  for (size_t at = 0; at < from.size(); at += kSlotBytes) {
    const auto piece = from.subspan(at, std::min(kSlotBytes, from.size() - at));
    std::byte* const memory = take(calls, writes_);
    std::memcpy(memory, piece.data(), piece.size());
    calls.check(calls->cuMemcpyHtoDAsync_v2(to + at, memory, piece.size(), stream_), "a copy to it");
    close(calls, writes_, {});
  }
}

void CudaStream::read(const CudaCalls& calls, DevicePointer from, std::span<std::byte> to) {
  if (!has_staging(calls, reads_))
    return calls.check(calls->cuMemcpyDtoHAsync_v2(to.data(), from, to.size(), stream_), "a copy from it");
  for (size_t at = 0; at < to.size(); at += kSlotBytes) {
    const auto piece = to.subspan(at, std::min(kSlotBytes, to.size() - at));
    std::byte* const memory = take(calls, reads_);
    calls.check(calls->cuMemcpyDtoHAsync_v2(memory, from + at, piece.size(), stream_), "a copy from it");
    close(calls, reads_, piece);
  }
}

void CudaStream::deliver(const CudaCalls& calls) {
  for (size_t i = 0; i < kSlots; ++i) {
    Staging::Slot& slot = reads_.slots[i];
    if (!slot.is_used) continue;
    const int done = calls->cuEventQuery(slot.event);
    if (done == kNotReady) continue;
    calls.check(done, "a copy");
    deliver(slot, reads_.memory + i * kSlotBytes);
  }
}

void CudaStream::drop_reads() {
  for (Staging::Slot& slot : reads_.slots) slot.target = {};
}

uint64_t CudaStream::record(const CudaCalls& calls) {
  if (recorded_ == events_.size()) events_.push_back(make_event(calls, kEventWithTime));
  calls.check(calls->cuEventRecord(event(recorded_), stream_), "an event");
  return recorded_++;
}

}  // namespace hone
