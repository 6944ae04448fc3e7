// Shared memory of a block and what is known of each byte: which warp wrote it when, who has read it since, whether an
// asynchronous copy to it is under way. Two accesses of different warps, one of them a write, must have a barrier
// between them that both warps took part in; atomics among themselves need none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/ptx/module.h"

namespace hone::ptx {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(int64_t fixed_bytes, int64_t dynamic_bytes, int warps);

  // The offset of `count` bytes at an address of shared memory, or none where they do not lie in it.
  std::optional<uint64_t> offset(uint64_t address, uint32_t count) const {
    const bool is_fixed = address < kDynamicShared;
    const uint64_t from = address - (is_fixed ? kSpaceBase : kDynamicShared);
    const uint64_t room = is_fixed ? fixed_bytes_ : bytes_.size() - fixed_bytes_;
    if (address < kSpaceBase || room < count || from > room - count) return {};
    return is_fixed ? from : fixed_bytes_ + from;
  }
  std::byte* data(uint64_t offset) { return bytes_.data() + offset; }

  enum class Use : uint8_t { read, write, update, begin_copy };  // update: by an atomic
  // One instruction of a warp. What is wrong with its access to `count` bytes from `offset` on, or null; it is
  // recorded.
  class Access {
   public:
    Access(SharedMemory& memory, Use use, int warp) : memory_(memory), use_(use), warp_(warp) {}
    const char* touch(uint64_t offset, uint32_t count);

   private:
    friend class SharedMemory;
    SharedMemory& memory_;
    const Use use_;
    const int warp_;
    // Most bytes of an access have one history: what it was, and what it became.
    bool has_seen_ = false;
    uint64_t before_[2] = {}, after_[2] = {};
  };
  void end_copy(uint64_t offset, uint32_t count, int warp);

  // A barrier that these warps reach: what each did before is seen by all of them.
  void synchronise(uint32_t warps);

 private:
  // The time of an access is a count of barriers. seen_[a][b]: up to which time warp a sees what b did; itself: always.
  // 0: nothing wrote the byte.
  using Stamp = uint32_t;                                  // time << 8 | warp
  static constexpr Stamp kAtomic = 0x80, kSeveral = 0x40;  // atomics; of several warps, the last of them at this time
  static constexpr Stamp kPending = ~Stamp{0};             // a copy is under way
  struct Cell {
    Stamp written = 0;
    uint32_t readers = 0;    // warps that read since the last write, a bit each
    uint32_t read_time = 0;  // of the last read
  };

  Stamp stamp(int warp) const { return now_ << 8 | static_cast<Stamp>(warp); }
  bool sees(int warp, Stamp write) const;
  // Of warps that read last at `time`, those whose reads are not known to be over when `warp` comes. A read that comes
  // after theirs stands for them.
  uint32_t unseen(uint32_t readers, uint32_t time, int warp) const;
  const char* why_not_written(const Cell& cell, int warp) const;
  const char* why_still_read(const Cell& cell, int warp) const;
  const char* why_not_read(const Cell& cell, int warp) const;
  const char* use(Cell& cell, Use use, int warp) const;
  void split(size_t word);

  uint64_t fixed_bytes_ = 0;
  std::vector<std::byte> bytes_;  // what the kernel declares, then what the launch adds
  std::vector<Cell> words_;       // by words of four bytes, whose bytes share one history unless they were split
  std::vector<bool> is_split_;
  std::vector<Cell> of_bytes_;  // of words that are split; empty until there is one
  std::vector<uint32_t> seen_;
  uint32_t now_ = 1;
};

}  // namespace hone::ptx
