#include <cstring>
#include <new>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/system_memory.h"
#include "ir/tensor.h"

namespace hone {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

std::shared_ptr<void> allocate(size_t bytes) {
  auto charge = std::make_shared<MemoryCharge>(static_cast<int64_t>(bytes), "a tensor");
  return {::operator new(bytes, kAlignment),
          [charge = std::move(charge)](void* memory) { ::operator delete(memory, kAlignment); }};
}

constexpr size_t kOfTheSystem = size_t{1} << 20;  // from so many bytes on zeros come from the system

std::shared_ptr<void> zeros_of_the_system(size_t bytes) {
  struct Charged {
    MemoryCharge charge;
    std::shared_ptr<std::byte> memory;
  };
  auto charged =
      std::make_shared<Charged>(Charged{MemoryCharge(static_cast<int64_t>(bytes), "a tensor"), system_memory(bytes)});
  if (!charged->memory) throw std::bad_alloc();
  return {charged, charged->memory.get()};
}

}  // namespace

Buffer Buffer::uninitialised(size_t bytes) {
  Buffer buffer;
  buffer.writable_ = true;
  if (bytes == 0) return buffer;
  std::shared_ptr<void> memory = allocate(bytes);
  buffer.view_ = {static_cast<const std::byte*>(memory.get()), bytes};
  buffer.owner_ = std::move(memory);
  return buffer;
}

Buffer::Buffer(size_t bytes) {
  if (bytes < kOfTheSystem) {
    *this = uninitialised(bytes);
    if (bytes > 0) std::memset(const_cast<std::byte*>(view_.data()), 0, bytes);
    return;
  }
  std::shared_ptr<void> memory = zeros_of_the_system(bytes);
  view_ = {static_cast<const std::byte*>(memory.get()), bytes};
  owner_ = std::move(memory);
  writable_ = true;
}

Buffer::Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> view, bool mapped)
    : owner_(std::move(owner)), view_(view), mapped_(mapped) {}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  Buffer copy = bytes.size() < kHugePage ? uninitialised(bytes.size()) : Buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(const_cast<std::byte*>(copy.view_.data()), bytes.data(), bytes.size());
  return copy;
}

Buffer Buffer::of_device(Device& device, std::shared_ptr<const void> owner, std::span<const std::byte> view) {
  Buffer buffer(std::move(owner), view);
  buffer.device_ = &device;
  buffer.writable_ = true;
  return buffer;
}

Buffer Buffer::on_host() const {
  if (!device_) return *this;
  Buffer copy = uninitialised(view_.size());
  if (!view_.empty()) device_->read(view_.data(), copy.mutable_bytes());
  return copy;
}

void Buffer::no_host_memory() const {
  CHECK(false, "{} bytes of {} read as the host's", view_.size(), device_->name());
}

std::span<std::byte> Buffer::mutable_bytes() {
  if (device_) no_host_memory();
  if (!is_unique()) *this = copy_of(view_);
  return {const_cast<std::byte*>(view_.data()), view_.size()};  // our own allocation, seen by nobody else
}

}  // namespace hone
