#include <cstring>
#include <new>

#include "base/memory_limit.h"
#include "ir/tensor.h"

namespace hone {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

std::shared_ptr<void> allocate(size_t bytes) {
  auto charge = std::make_shared<MemoryCharge>(static_cast<int64_t>(bytes), "a tensor");
  return {::operator new(bytes, kAlignment),
          [charge = std::move(charge)](void* memory) { ::operator delete(memory, kAlignment); }};
}

}  // namespace

Buffer::Buffer(size_t bytes) : writable_(true) {
  if (bytes == 0) return;
  std::shared_ptr<void> memory = allocate(bytes);
  std::memset(memory.get(), 0, bytes);
  view_ = {static_cast<const std::byte*>(memory.get()), bytes};
  owner_ = std::move(memory);
}

Buffer::Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> view, bool mapped)
    : owner_(std::move(owner)), view_(view), mapped_(mapped) {}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  Buffer copy;
  copy.writable_ = true;
  if (bytes.empty()) return copy;
  std::shared_ptr<void> memory = allocate(bytes.size());
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  copy.view_ = {static_cast<const std::byte*>(memory.get()), bytes.size()};
  copy.owner_ = std::move(memory);
  return copy;
}

std::span<std::byte> Buffer::mutable_bytes() {
  if (!writable_ || owner_.use_count() > 1) *this = copy_of(view_);
  return {const_cast<std::byte*>(view_.data()), view_.size()};  // our own allocation, seen by nobody else
}

}  // namespace hone
