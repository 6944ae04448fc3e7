#include "runtime/workspace.h"

#include "base/memory_limit.h"
#include "base/text.h"
#include "runtime/run_pool.h"

namespace hone {
namespace {

int64_t size_of(const Buffer& buffer) { return static_cast<int64_t>(buffer.size()); }

void require(const Device& device, int64_t bytes, const std::string& what) {
  const std::optional<int64_t> free = device.free_bytes();
  if (!free) return require_memory(bytes, what);
  if (bytes > *free)
    throw MemoryError(fmt::format(
        "{} needs {} more on device {}, and {} are free there. Try: fewer runs at a time, or "
        "smaller inputs",
        what, human_bytes(static_cast<double>(bytes)), text_of(device), human_bytes(static_cast<double>(*free))));
}

// `pool`: null where the memory is the host's.
void grow(BufferPool* pool, Buffer& buffer, int64_t bytes) {
  if (size_of(buffer) >= bytes) return;
  buffer = Buffer();  // the old one goes first
  buffer = pool ? pool->fresh(static_cast<size_t>(bytes)) : Buffer(static_cast<size_t>(bytes));
}

}  // namespace

// A queue of a later generation would take addresses of this one.
void Workspace::renew(const std::shared_ptr<Device>& device, uint64_t generation) {
  bound = {};
  arena_buffer_ = {}, scratch_buffers_.clear(), scratch_.clear();
  pool_ = nullptr, queue_ = nullptr, device_ = nullptr;
  std::unique_ptr<Queue> queue = device->make_queue();
  if (device->generation() != generation)
    throw DeviceLost(
        fmt::format("device {} lost its memory while a run was made ready; the next run works", device->name()));
  if (!device->is_host()) pool_ = std::make_shared<BufferPool>(device);
  queue_ = std::move(queue), device_ = device, generation_ = generation;
}

void Workspace::reserve(const std::shared_ptr<Device>& device, uint64_t generation, int64_t arena_bytes,
                        int64_t scratch_bytes, int threads) {
  if (device_ != device || generation_ != generation) renew(device, generation);
  const size_t count = static_cast<size_t>(threads);
  bool enough = size_of(arena_buffer_) >= arena_bytes && scratch_.size() >= count;
  for (size_t t = 0; enough && t < count; ++t) enough = size_of(scratch_buffers_[t]) >= scratch_bytes;
  if (enough) return;
  bound = {};
  scratch_.clear();
  scratch_buffers_.resize(std::max(count, scratch_buffers_.size()));
  int64_t more = std::max<int64_t>(arena_bytes - size_of(arena_buffer_), 0);
  for (size_t t = 0; t < count; ++t) more += std::max<int64_t>(scratch_bytes - size_of(scratch_buffers_[t]), 0);
  if (const std::optional<int64_t> free = device->free_bytes(); free && more > *free) drop_free();
  require(*device, more,
          fmt::format("a run ({} for what it computes, {} of scratch memory for each of {} threads; runs at the same "
                      "time have one each)",
                      human_bytes(arena_bytes), human_bytes(scratch_bytes), threads));
  grow(pool_.get(), arena_buffer_, arena_bytes);
  arena_ = arena_buffer_.address();
  for (size_t t = 0; t < count; ++t) grow(pool_.get(), scratch_buffers_[t], scratch_bytes);
  for (Buffer& scratch : scratch_buffers_) scratch_.push_back(scratch.address());
}

Workspace& Workspace::host_part() {
  if (!host_part_) host_part_ = std::make_unique<Workspace>();
  return *host_part_;
}

bool Workspace::drop_free() const { return pool_ && pool_->drop_free(); }

int64_t Workspace::bytes() const {
  int64_t bytes = size_of(arena_buffer_) + (host_part_ ? host_part_->bytes() : 0);
  for (const Buffer& scratch : scratch_buffers_) bytes += size_of(scratch);
  return bytes;
}

Buffer Workspace::allocate(size_t bytes) const {
  const auto take = [&] { return pool_ ? pool_->take(bytes) : device_->allocate(bytes); };
  try {
    return take();
  } catch (const MemoryError&) {
    if (!runs_ || !runs_->drop_idle()) throw;
  }
  return take();
}

bool Workspace::begin(RunPool* runs) {
  State idle = State::idle;
  const bool begins =
      state_.compare_exchange_strong(idle, State::running, std::memory_order_acquire, std::memory_order_relaxed);
  if (begins) runs_ = runs;
  return begins;
}

void Workspace::end() {
  runs_ = nullptr;
  state_.store(State::idle, std::memory_order_release);
}

void Workspace::cancel() noexcept {
  State running = State::running;
  state_.compare_exchange_strong(running, State::cancelled, std::memory_order_relaxed);
}

}  // namespace hone
