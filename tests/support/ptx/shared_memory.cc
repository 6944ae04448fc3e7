#include "tests/support/ptx/shared_memory.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "tests/support/ptx/module.h"

namespace hone::ptx {

SharedMemory::SharedMemory(int64_t fixed_bytes, int64_t dynamic_bytes, int warps)
    : fixed_bytes_(static_cast<uint64_t>(fixed_bytes)),
      bytes_(static_cast<size_t>(fixed_bytes + dynamic_bytes)),
      written_(bytes_.size()),
      readers_(bytes_.size()),
      read_time_(bytes_.size()),
      seen_(static_cast<size_t>(warps) * 32) {}

std::optional<uint64_t> SharedMemory::offset(uint64_t address, uint32_t count) const {
  const bool is_fixed = address < kDynamicShared;
  const uint64_t from = address - (is_fixed ? kSpaceBase : kDynamicShared);
  const uint64_t room = is_fixed ? fixed_bytes_ : bytes_.size() - fixed_bytes_;
  if (address < kSpaceBase || room < count || from > room - count) return {};
  return is_fixed ? from : fixed_bytes_ + from;
}

bool SharedMemory::sees(int warp, Stamp write) const {
  const uint32_t* seen = seen_.data() + static_cast<size_t>(warp) * 32;
  const uint32_t writer = write & 0x1f, time = write >> 8, own = static_cast<uint32_t>(warp);
  if (!(write & kSeveral)) return writer == own || time <= seen[writer];
  for (uint32_t other = 0; other < seen_.size() / 32; ++other)
    if (other != own && time > seen[other]) return false;
  return true;
}

const char* SharedMemory::read(uint64_t offset, uint32_t count, int warp) {
  Stamp fine = 0;  // most bytes of an access have the same history
  const uint32_t bit = 1u << warp;
  for (size_t i = offset; i < offset + count; ++i) {
    const Stamp last = written_[i];
    if (last == 0 || last != fine) {
      if (last == 0) return "it reads shared memory that nothing wrote";
      if (last == kPending) return "it reads shared memory before the copy to it was waited for";
      if (!sees(warp, last)) return "it reads shared memory that another warp wrote without a barrier between";
      fine = last;
    }
    if (read_time_[i] != now_) {
      if (readers_[i] != 0) readers_[i] = unseen(readers_[i], read_time_[i], warp);
      read_time_[i] = now_;
    }
    readers_[i] |= bit;
  }
  return nullptr;
}

uint32_t SharedMemory::unseen(uint32_t readers, uint32_t time, int warp) const {
  for (uint32_t left = readers; left; left &= left - 1) {
    const int reader = std::countr_zero(left);
    if (reader == warp || time <= seen_[static_cast<size_t>(warp * 32 + reader)]) readers &= ~(1u << reader);
  }
  return readers;
}

const char* SharedMemory::why_not_written(size_t byte, int warp) const {
  const Stamp last = written_[byte];
  if (last == kPending) return "a copy to this shared memory is under way";
  if (last != 0 && !sees(warp, last)) return "another warp wrote this shared memory without a barrier between";
  return why_still_read(byte, warp);
}

const char* SharedMemory::why_still_read(size_t byte, int warp) const {
  const bool is_read = readers_[byte] != 0 && unseen(readers_[byte], read_time_[byte], warp) != 0;
  return is_read ? "another warp may still read this shared memory" : nullptr;
}

const char* SharedMemory::store(uint64_t offset, uint32_t count, int warp, Stamp as) {
  for (size_t i = offset; i < offset + count; ++i) {
    const bool is_mine = written_[i] == stamp(warp) && (readers_[i] & ~(1u << warp)) == 0;
    if (!is_mine)
      if (const char* why = why_not_written(i, warp)) return why;
    written_[i] = as;
    readers_[i] = 0;
  }
  return nullptr;
}
const char* SharedMemory::write(uint64_t offset, uint32_t count, int warp) {
  return store(offset, count, warp, stamp(warp));
}
const char* SharedMemory::begin_copy(uint64_t offset, uint32_t count, int warp) {
  return store(offset, count, warp, kPending);
}
void SharedMemory::end_copy(uint64_t offset, uint32_t count, int warp) {
  std::fill_n(written_.begin() + static_cast<int64_t>(offset), count, stamp(warp));
}

const char* SharedMemory::update(uint64_t offset, uint32_t count, int warp) {
  for (size_t i = offset; i < offset + count; ++i) {
    if (written_[i] == 0) return "an atomic on shared memory that nothing wrote";
    const Stamp last = written_[i];
    const bool after_atomic = last != kPending && (last & kAtomic);
    if (const char* why = after_atomic ? why_still_read(i, warp) : why_not_written(i, warp)) return why;
    written_[i] = stamp(warp) | kAtomic | (sees(warp, last) ? 0 : kSeveral);
    readers_[i] = 0;
  }
  return nullptr;
}

void SharedMemory::synchronise(uint32_t warps) {
  for (uint32_t a = warps; a; a &= a - 1)
    for (uint32_t b = 0; b < 32; ++b) {
      // What any of them had seen of b, and all that those among them did until now.
      uint32_t& seen = seen_[static_cast<size_t>(std::countr_zero(a)) * 32 + b];
      if (warps >> b & 1) seen = now_;
      else
        for (uint32_t other = warps; other; other &= other - 1)
          seen = std::max(seen, seen_[static_cast<size_t>(std::countr_zero(other)) * 32 + b]);
    }
  CHECK(++now_ < 1u << 24, "more barriers than a stamp counts");
}

}  // namespace hone::ptx
