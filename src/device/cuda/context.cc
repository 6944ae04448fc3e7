#include "device/cuda/context.h"

#include <cstdlib>

#include "base/memory_limit.h"
#include "base/text.h"
#include "device/cuda/module.h"
#include "device/cuda/stream.h"
#include "device/device_lost.h"

namespace hone {
namespace {

using namespace cuda;

// That the driver's pool keeps of what was given back, so that small buffers cost no call of the system.
constexpr uint64_t kKeptBytes = uint64_t{64} << 20;

bool asks_for_waits() {
  const char* text = std::getenv("HONE_CUDA_SYNC");
  return text && std::string_view(text) != "" && std::string_view(text) != "0";
}

}  // namespace

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, GpuFacts facts)
    : driver_(std::move(driver)), facts_(std::move(facts)), waits_(asks_for_waits()) {
  driver_->check(driver_->cuDeviceGet(&device_, facts_.ordinal), "to open a device");
  ready_ = generation() - 1;  // none
  make_ready();
}

CudaContext::~CudaContext() {
  if (!context_) return;
  driver_->cuCtxSetCurrent(context_);
  idle_.clear();
  if (ready_ == generation()) driver_->cuStreamDestroy_v2(memory_stream_);
  driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

std::string CudaContext::text() const { return fmt::format("cuda:{} ({})", facts_.ordinal, facts_.name); }

// The old context goes with all that was in it, before the driver is asked for another.
void CudaContext::make_ready() {
  const std::unique_lock alone(calls_);
  const std::lock_guard lock(mutex_);
  if (ready_ == generation()) return;
  if (!gone_.empty()) fail("{}", gone_);
  idle_.clear(), modules_.clear();
  if (context_) {
    driver_->cuDevicePrimaryCtxRelease_v2(device_);
    driver_->cuDevicePrimaryCtxReset_v2(device_);
    context_ = nullptr;
  }
  const auto check = [&](int result, std::string_view what) {
    if (result == kSuccess) return;
    const std::string text = driver_->text_of(result, fmt::format("{}: {}", this->text(), what));
    if (lost_by_.empty()) {
      if (context_) driver_->cuDevicePrimaryCtxRelease_v2(device_);
      context_ = nullptr;
      fail("{}", text);
    }
    gone_ = fmt::format("{}. It cannot be used again: {}. Start the program anew, or use --device cpu", lost_by_, text);
    fail("{}", gone_);
  };
  check(driver_->cuDevicePrimaryCtxRetain(&context_, device_), "a context");
  check(driver_->cuCtxSetCurrent(context_), "a context");
  check(driver_->cuStreamCreate(&memory_stream_, kStreamNonBlocking), "a stream");
  if (facts_.has_pools) {
    uint64_t kept = kKeptBytes;
    check(driver_->cuDeviceGetDefaultMemPool(&pool_, device_), "its memory pool");
    check(driver_->cuMemPoolSetAttribute(pool_, kPoolReleaseThreshold, &kept), "its memory pool");
  }
  ready_ = generation();
}

void CudaContext::lose(uint64_t generation, std::string why) noexcept {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return;  // another call has told of it
  lost_by_ = std::move(why);
  generation_.store(generation + 1, std::memory_order_release);
}

void CudaContext::throw_lost() const {
  const std::lock_guard lock(mutex_);
  throw DeviceLost(fmt::format("{}. All that lay in the memory of {} is lost with that", lost_by_, text()));
}

CudaCalls::CudaCalls(CudaContext& context) : context_(context), lock_(context.calls_), generation_(context.ready_) {
  while (context_.ready_ != context_.generation()) {
    lock_.unlock();
    context_.make_ready();
    lock_.lock();
  }
  generation_ = context_.ready_;
  enter();
}

CudaCalls::CudaCalls(CudaContext& context, uint64_t generation, const CudaUnderWay* under_way)
    : context_(context), lock_(context.calls_), generation_(generation), under_way_(under_way) {
  if (generation != context_.generation() || generation != context_.ready_) context_.throw_lost();
  enter();
}

void CudaUnderWay::add(std::string_view from, std::string_view to, size_t count) {
  if (launches == 0) first = from;
  last = to, launches += count;
}

std::string CudaUnderWay::text() const {
  if (launches == 1) return fmt::format("step \"{}\"", first);
  return fmt::format("one of the {} steps from \"{}\" to \"{}\", which HONE_CUDA_SYNC=1 names", launches, first, last);
}

// Each time: other libraries of the process make theirs the thread's.
void CudaCalls::enter() { check(context_.driver_->cuCtxSetCurrent(context_.context_), "its context"); }

void CudaCalls::check(int result, std::string_view what) const {
  if (result == kSuccess) return;
  const bool is_late = is_sticky(result) && under_way_ && under_way_->launches > 0;
  std::string text = context_.driver_->text_of(
      result, fmt::format("{}: {}", context_.text(), is_late ? under_way_->text() : std::string(what)));
  if (result == kOutOfMemory) throw MemoryError(text);
  if (!is_sticky(result)) fail("{}", text);
  context_.lose(generation_, std::move(text));
  context_.throw_lost();
}

// Whether someone still has memory of a generation before at one of these addresses.
bool CudaContext::is_of_the_past(uintptr_t address, size_t bytes, uint64_t now) const {
  auto block = blocks_.lower_bound(address + bytes);
  while (block != blocks_.begin()) {
    --block;
    if (block->first + block->second.bytes <= address) return false;
    if (block->second.generation != now) return true;
  }
  return false;
}

uintptr_t CudaContext::allocate(const CudaCalls& calls, size_t bytes) {
  DevicePointer address = 0;
  const auto ask = [&] {
    return pool_ ? calls->cuMemAllocAsync(&address, bytes, memory_stream_) : calls->cuMemAlloc_v2(&address, bytes);
  };
  int result = ask();
  if (result == kOutOfMemory && pool_) {  // what was given back may not be free yet
    calls.check(calls->cuStreamSynchronize(memory_stream_), "memory");
    result = ask();
  }
  if (result == kOutOfMemory) {
    size_t free = 0, total = 0;
    calls.check(calls->cuMemGetInfo_v2(&free, &total), "what is free");
    throw MemoryError(fmt::format("CUDA: {}: {} of its memory were asked for, and {} of {} are free", text(),
                                  human_bytes(static_cast<double>(bytes)), human_bytes(static_cast<double>(free)),
                                  human_bytes(static_cast<double>(total))));
  }
  calls.check(result, "memory");
  if (pool_) calls.check(calls->cuStreamSynchronize(memory_stream_), "memory");  // for all streams from here on
  return address;
}

void CudaContext::release(const CudaCalls& calls, uintptr_t address) noexcept {
  if (pool_) calls->cuMemFreeAsync(address, memory_stream_);
  else calls->cuMemFree_v2(address);
}

// Addresses come again in a later generation. Those that someone still has of one before are set aside, so that none
// stands for two things.
std::byte* CudaContext::take(size_t bytes) {
  const size_t taken = std::max<size_t>(bytes, 1);
  const CudaCalls calls(*this);
  struct Aside {
    ~Aside() {
      for (uintptr_t each : addresses) context.release(calls, each);
    }
    CudaContext& context;
    const CudaCalls& calls;
    std::vector<uintptr_t> addresses;
  } aside{*this, calls, {}};
  uintptr_t address = 0;
  for (bool is_new = false; !is_new;) {
    address = allocate(calls, taken);
    const std::lock_guard lock(mutex_);
    is_new = !is_of_the_past(address, taken, calls.generation());
    if (is_new) blocks_.insert_or_assign(address, Block{taken, calls.generation()});
    else aside.addresses.push_back(address);
  }
  return reinterpret_cast<std::byte*>(address);  // a number that the device understands
}

void CudaContext::give_back(std::byte* address, uint64_t generation) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  try {
    {
      const std::lock_guard lock(mutex_);
      blocks_.erase(at);
    }
    const CudaCalls calls(*this, generation);
    release(calls, at);
  } catch (const Error&) {  // it is lost
  }
}

uint64_t CudaContext::generation_of(const std::byte* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(at);
  CHECK(block != blocks_.begin(), "an address of no buffer of {}", text());
  --block;
  CHECK(at - block->first <= block->second.bytes, "an address of no buffer of {}", text());
  return block->second.generation;
}

int64_t CudaContext::free_bytes() {
  const CudaCalls calls(*this);
  if (pool_) calls.check(calls->cuStreamSynchronize(memory_stream_), "what is free");  // what is given back is
  size_t free = 0, total = 0;
  calls.check(calls->cuMemGetInfo_v2(&free, &total), "what is free");
  if (!pool_) return static_cast<int64_t>(free);
  uint64_t reserved = 0, used = 0;
  calls.check(calls->cuMemPoolGetAttribute(pool_, kPoolReservedBytes, &reserved), "its memory pool");
  calls.check(calls->cuMemPoolGetAttribute(pool_, kPoolUsedBytes, &used), "its memory pool");
  return static_cast<int64_t>(free + (reserved - std::min(used, reserved)));
}

std::unique_ptr<CudaStream> CudaContext::take_stream() {
  {
    const CudaCalls calls(*this);
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<CudaStream> stream = std::move(idle_.back());
      idle_.pop_back();
      if (stream->generation() == calls.generation()) return stream;
    }
  }
  return std::make_unique<CudaStream>(*this);
}

void CudaContext::put(std::unique_ptr<CudaStream> stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (stream->generation() == generation()) idle_.push_back(std::move(stream));
}

std::shared_ptr<CudaModule> CudaContext::module(std::string_view image, const std::string& name) {
  const std::string key = sha256_128(image).hex();
  std::shared_ptr<CudaModule> known;  // goes when the mutex is free
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = modules_.find(key); found != modules_.end()) known = found->second.lock();
  }
  if (known && known->generation() == generation()) return known;
  auto loaded = std::make_shared<CudaModule>(*this, image, name);
  const std::lock_guard lock(mutex_);
  std::erase_if(modules_, [](const auto& each) { return each.second.expired(); });
  modules_[key] = loaded;
  return loaded;
}

}  // namespace hone
