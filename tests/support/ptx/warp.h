// A warp while it runs: its registers, which lanes are where, and the block around it.
#pragma once

#include <bit>
#include <unordered_map>

#include "tests/support/ptx/machine.h"
#include "tests/support/ptx/shared_memory.h"

namespace hone::ptx {

// Lanes that are at the same instruction. The lowest goes first, so that lanes meet again where their ways join.
struct Fragment {
  uint32_t at = 0;
  Lanes lanes = 0;
  bool waits = false;  // for lanes that its instruction needs
};

struct AsyncCopy {
  uint64_t to = 0;  // offset into shared memory
  int lane = 0;
  uint32_t bytes = 0;
  uint32_t group = 0;  // of its lane's
  std::array<std::byte, 16> data{};
};

struct Barrier {
  uint64_t expected = 0;  // threads; 0: all of the block
  uint32_t warps = 0;     // that wait there, a bit each
};

struct Warp;

struct Block {
  Block(const Module& module, const Kernel& kernel, const Launch& launch, std::span<const std::byte> params,
        const Memory& memory, Counts& counts);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Module& module;
  const Kernel& kernel;
  const Launch& launch;
  std::span<const std::byte> params;
  const Memory& memory;
  Counts& counts;
  std::array<uint32_t, 3> index{};
  SharedMemory shared;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;

  void run(const std::array<uint32_t, 3>& at, int64_t& instructions_left);
  void arrive(Warp& warp, const Code& code, Lanes lanes);

 private:
  void release_full();
};

struct Warp {
  Warp(Block& block, int index);

  Block& block;
  const Kernel& kernel;
  int index;
  Lanes alive = 0;
  int waits_at = -1;  // the barrier
  std::vector<uint32_t> words;
  std::vector<uint64_t> wide;
  std::vector<Lanes> predicates;
  std::vector<Lanes> set;  // by register: lanes whose value something set
  // Of registers that are set in part: the bits that are, by lane. It says nothing of lanes that are set.
  std::unordered_map<uint32_t, std::array<uint64_t, kLanes>> known_bits;
  std::vector<std::byte> local;
  std::vector<Fragment> fragments;  // by `at`
  size_t current = 0;
  std::vector<AsyncCopy> copies;
  std::array<uint32_t, kLanes> committed{};  // groups of copies of each lane
  const Memory::Buffer* recent = nullptr;

  const Operand* operands(const Code& code) const { return kernel.operands.data() + code.operands; }
  LineCounts& counts(const Code& code) const {
    return block.counts.code[static_cast<size_t>(&code - kernel.code.data())];
  }
  void begin();  // of a block
  bool ended() const { return fragments.empty(); }
  // Until it ends, waits at a barrier, or has executed `most` instructions; how many it has.
  int64_t run(int64_t most);

  [[noreturn]] void fault(const Code& code, int lane, std::string_view what,
                          Fault::Kind kind = Fault::Kind::other) const;
  Lanes predicate(Operand operand, bool negated) const {
    return negated ? ~predicates[operand.at] : predicates[operand.at];
  }
  void write_predicate(Operand operand, Lanes value, Lanes mask) {
    predicates[operand.at] = (predicates[operand.at] & ~mask) | (value & mask);
  }
  uint64_t value(Operand operand, int lane) const {
    if (operand.file == RegisterFile::wide) return wide[operand.at + static_cast<uint32_t>(lane)];
    if (operand.file == RegisterFile::words) return words[operand.at + static_cast<uint32_t>(lane)];
    return predicates[operand.at] >> lane & 1;
  }
  void set_value(Operand operand, int lane, uint64_t v) {
    if (operand.file == RegisterFile::wide) wide[operand.at + static_cast<uint32_t>(lane)] = v;
    else if (operand.file == RegisterFile::words)
      words[operand.at + static_cast<uint32_t>(lane)] = static_cast<uint32_t>(v);
    else predicates[operand.at] = (predicates[operand.at] & ~(1u << lane)) | static_cast<Lanes>(v & 1) << lane;
  }

 private:
  uint32_t special_value(Special special, int lane) const;
  void check_read(const Code& code, uint32_t id, Lanes mask) const;
  void execute(const Code& code, Lanes mask);
  void follow_bits(const Code& code, Lanes mask);
  Lanes needed(const Code& code, Lanes mask) const;
  void turn(const Code& code, Lanes mask);
  void settle();
  uint32_t limit() const;
};

// Each lane of `mask`, ascending.
template <class Fn>
void for_lanes(Lanes mask, Fn fn) {
  for (; mask; mask &= mask - 1) fn(std::countr_zero(mask));
}

}  // namespace hone::ptx
