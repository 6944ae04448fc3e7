#include "tests/support/ptx/shared_memory.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace hone::ptx {

SharedMemory::SharedMemory(int64_t fixed_bytes, int64_t dynamic_bytes, int warps)
    : fixed_bytes_(static_cast<uint64_t>(fixed_bytes)),
      bytes_(static_cast<size_t>(fixed_bytes + dynamic_bytes)),
      words_(bytes_.size() / 4 + 1),
      is_split_(words_.size()),
      seen_(static_cast<size_t>(warps) * 32) {}

bool SharedMemory::sees(int warp, Stamp write) const {
  const uint32_t* seen = seen_.data() + static_cast<size_t>(warp) * 32;
  const uint32_t writer = write & 0x1f, time = write >> 8, own = static_cast<uint32_t>(warp);
  if (!(write & kSeveral)) return writer == own || time <= seen[writer];
  for (uint32_t other = 0; other < seen_.size() / 32; ++other)
    if (other != own && time > seen[other]) return false;
  return true;
}

uint32_t SharedMemory::unseen(uint32_t readers, uint32_t time, int warp) const {
  for (uint32_t left = readers; left; left &= left - 1) {
    const int reader = std::countr_zero(left);
    if (reader == warp || time <= seen_[static_cast<size_t>(warp * 32 + reader)]) readers &= ~(1u << reader);
  }
  return readers;
}

const char* SharedMemory::why_not_read(const Cell& cell, int warp) const {
  if (cell.written == 0) return "it reads shared memory that nothing wrote";
  if (cell.written == kPending) return "it reads shared memory before the copy to it was waited for";
  if (!sees(warp, cell.written)) return "it reads shared memory that another warp wrote without a barrier between";
  return nullptr;
}
const char* SharedMemory::why_still_read(const Cell& cell, int warp) const {
  const bool is_read = cell.readers != 0 && unseen(cell.readers, cell.read_time, warp) != 0;
  return is_read ? "another warp may still read this shared memory" : nullptr;
}
const char* SharedMemory::why_not_written(const Cell& cell, int warp) const {
  if (cell.written == kPending) return "a copy to this shared memory is under way";
  if (cell.written != 0 && !sees(warp, cell.written))
    return "another warp wrote this shared memory without a barrier between";
  return why_still_read(cell, warp);
}

const char* SharedMemory::use(Cell& cell, Use use, int warp) const {
  if (use == Use::read) {
    if (const char* why = why_not_read(cell, warp)) return why;
    if (cell.read_time != now_) cell.readers = unseen(cell.readers, cell.read_time, warp);
    cell.readers |= 1u << warp;
    cell.read_time = now_;
    return nullptr;
  }
  if (use == Use::update) {
    if (cell.written == 0) return "an atomic on shared memory that nothing wrote";
    const bool after_atomic = cell.written != kPending && (cell.written & kAtomic);
    if (const char* why = after_atomic ? why_still_read(cell, warp) : why_not_written(cell, warp)) return why;
    cell = {.written = stamp(warp) | kAtomic | (sees(warp, cell.written) ? 0 : kSeveral)};
    return nullptr;
  }
  if (const char* why = why_not_written(cell, warp)) return why;
  cell = {.written = use == Use::begin_copy ? kPending : stamp(warp)};
  return nullptr;
}

void SharedMemory::split(size_t word) {
  if (is_split_[word]) return;
  if (of_bytes_.empty()) of_bytes_.resize(4 * words_.size());
  std::fill_n(of_bytes_.begin() + static_cast<int64_t>(4 * word), 4, words_[word]);
  is_split_[word] = true;
}

const char* SharedMemory::Access::touch(uint64_t offset, uint32_t count) {
  const auto touch_cell = [&](Cell& cell) -> const char* {
    const uint64_t history[2] = {uint64_t{cell.written} << 32 | cell.readers, cell.read_time};
    if (has_seen_ && history[0] == before_[0] && history[1] == before_[1]) {
      cell = {static_cast<Stamp>(after_[0] >> 32), static_cast<uint32_t>(after_[0]), static_cast<uint32_t>(after_[1])};
      return nullptr;
    }
    if (const char* why = memory_.use(cell, use_, warp_)) return why;
    has_seen_ = true;
    std::copy_n(history, 2, before_);
    after_[0] = uint64_t{cell.written} << 32 | cell.readers, after_[1] = cell.read_time;
    return nullptr;
  };
  const bool whole = offset % 4 == 0 && count % 4 == 0;
  for (uint64_t word = offset / 4; word * 4 < offset + count; ++word) {
    if (!whole) memory_.split(word);
    if (!memory_.is_split_[word]) {
      if (const char* why = touch_cell(memory_.words_[word])) return why;
      continue;
    }
    for (uint64_t byte = std::max(offset, 4 * word); byte < std::min(offset + count, 4 * word + 4); ++byte)
      if (const char* why = touch_cell(memory_.of_bytes_[byte])) return why;
    if (whole && use_ != Use::read) {  // four bytes of one history again
      memory_.words_[word] = memory_.of_bytes_[4 * word];
      memory_.is_split_[word] = false;
    }
  }
  return nullptr;
}

void SharedMemory::end_copy(uint64_t offset, uint32_t count, int warp) {  // of whole words
  for (uint64_t word = offset / 4; word * 4 < offset + count; ++word) {
    words_[word] = {.written = stamp(warp)};
    is_split_[word] = false;
  }
}

void SharedMemory::synchronise(uint32_t warps) {
  for (uint32_t a = warps; a; a &= a - 1)
    for (uint32_t b = 0; b < 32; ++b) {
      // What any of them had seen of b, and all that those among them did until now.
      uint32_t& seen = seen_[static_cast<size_t>(std::countr_zero(a)) * 32 + b];
      if (warps >> b & 1) {
        seen = now_;
        continue;
      }
      for (uint32_t other = warps; other; other &= other - 1)
        seen = std::max(seen, seen_[static_cast<size_t>(std::countr_zero(other)) * 32 + b]);
    }
  CHECK(++now_ < 1u << 24, "more barriers than a stamp counts");
}

}  // namespace hone::ptx
