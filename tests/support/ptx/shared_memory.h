// Shared memory of a block and what is known of each byte: which warp wrote it when, who has read it since, whether an
// asynchronous copy to it is under way. Two accesses of different warps, one of them a write, must have a barrier
// between them that both warps took part in; atomics among themselves need none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hone::ptx {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(int64_t fixed_bytes, int64_t dynamic_bytes, int warps);

  // The offset of `count` bytes at an address of shared memory, or none where they do not lie in it.
  std::optional<uint64_t> offset(uint64_t address, uint32_t count) const;
  std::byte* data(uint64_t offset) { return bytes_.data() + offset; }

  // What is wrong with an access of `warp` to `count` bytes from `offset` on, or null. It is recorded.
  const char* read(uint64_t offset, uint32_t count, int warp);
  const char* write(uint64_t offset, uint32_t count, int warp);
  const char* update(uint64_t offset, uint32_t count, int warp);  // by an atomic
  const char* begin_copy(uint64_t offset, uint32_t count, int warp);
  void end_copy(uint64_t offset, uint32_t count, int warp);

  // A barrier that these warps reach: what each did before is seen by all of them.
  void synchronise(uint32_t warps);

 private:
  // The time of an access is a count of barriers. seen_[a][b]: up to which time warp a sees what b did; itself: always.
  // 0: nothing wrote the byte.
  using Stamp = uint32_t;                                  // time << 8 | warp
  static constexpr Stamp kAtomic = 0x80, kSeveral = 0x40;  // atomics; of several warps, the last of them at this time
  static constexpr Stamp kPending = ~Stamp{0};             // a copy is under way

  Stamp stamp(int warp) const { return now_ << 8 | static_cast<Stamp>(warp); }
  bool sees(int warp, Stamp write) const;
  // Of warps that read last at `time`, those whose reads are not known to be over when `warp` comes. A read that comes
  // after theirs stands for them.
  uint32_t unseen(uint32_t readers, uint32_t time, int warp) const;
  const char* why_not_written(size_t byte, int warp) const;
  const char* why_still_read(size_t byte, int warp) const;
  const char* store(uint64_t offset, uint32_t count, int warp, Stamp as);

  uint64_t fixed_bytes_ = 0;
  std::vector<std::byte> bytes_;  // what the kernel declares, then what the launch adds
  std::vector<Stamp> written_;
  std::vector<uint32_t> readers_;    // warps that read since the last write, a bit each
  std::vector<uint32_t> read_time_;  // of the last read
  std::vector<uint32_t> seen_;
  uint32_t now_ = 1;
};

}  // namespace hone::ptx
