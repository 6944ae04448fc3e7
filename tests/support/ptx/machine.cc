// Whole launches: blocks one after the other, the warps of a block by turns.
#include "tests/support/ptx/machine.h"

#include <algorithm>

#include "tests/support/ptx/warp.h"

namespace hone::ptx {
namespace {

constexpr int64_t kMostShared = 227 << 10;  // a block's, on any device that the interpreter stands for
// Of a warp at a time, unless it waits before: then another's, for which it may be waiting in a loop.
constexpr int64_t kTurn = 1 << 20;

// fn(i) for 0 … count - 1, or the other way round.
template <class Fn>
void in_order(bool backwards, uint32_t count, Fn fn) {
  for (uint32_t i = 0; i < count; ++i) fn(backwards ? count - 1 - i : i);
}

void check(const Kernel& kernel, const Launch& launch, std::span<const std::byte> params) {
  int64_t threads = 1;
  for (const uint32_t n : launch.block) threads = std::min<int64_t>(threads * n, 1 << 20);
  if (threads < 1 || threads > kernel.max_threads)
    fail("{}: {} threads a block; accepted: 1 to {}", kernel.name, threads, kernel.max_threads);
  for (const uint32_t n : launch.grid)
    if (n < 1 || n > INT32_MAX) fail("{}: a grid of {} blocks in one direction", kernel.name, n);
  if (std::ssize(params) != kernel.param_bytes)
    fail("{}: {} bytes of parameters; it takes {}", kernel.name, params.size(), kernel.param_bytes);
  const int64_t shared = launch.shared_bytes;
  if (shared < 0 || shared > kMostShared - kernel.shared_bytes)
    fail("{}: {} + {} bytes of shared memory; at most {}", kernel.name, kernel.shared_bytes, shared, kMostShared);
}

}  // namespace

void Memory::add(uint64_t address, std::span<std::byte> bytes, Access access) {
  const Buffer added{address, bytes.size(), bytes.data(), access == Access::write};
  const auto after = std::upper_bound(buffers_.begin(), buffers_.end(), address,
                                      [](uint64_t a, const Buffer& b) { return a < b.begin; });
  const bool meets_next = after != buffers_.end() && after->begin - address < added.bytes;
  const bool meets_last = after != buffers_.begin() && address - std::prev(after)->begin < std::prev(after)->bytes;
  if (meets_next || meets_last) fail("the buffer at {:#x} overlaps another", address);
  buffers_.insert(after, added);
}

const Memory::Buffer* Memory::find(uint64_t address) const {
  const auto after = std::upper_bound(buffers_.begin(), buffers_.end(), address,
                                      [](uint64_t a, const Buffer& b) { return a < b.begin; });
  if (after == buffers_.begin()) return nullptr;
  const Buffer& found = *std::prev(after);
  return address - found.begin < found.bytes ? &found : nullptr;
}

Block::Block(const Module& m, const Kernel& k, const Launch& l, std::span<const std::byte> p, const Memory& g,
             Counts& c)
    : module(m), kernel(k), launch(l), params(p), memory(g), counts(c) {
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const uint32_t count = (threads + kLanes - 1) / kLanes;
  warps.reserve(count);
  for (uint32_t i = 0; i < count; ++i) warps.emplace_back(*this, static_cast<int>(i));
}

void Block::run(const std::array<uint32_t, 3>& at, int64_t& instructions_left) {
  index = at;
  shared = SharedMemory(kernel.shared_bytes, launch.shared_bytes, static_cast<int>(warps.size()));
  barriers.fill({});
  for (Warp& warp : warps) warp.begin();
  for (bool any = true; any;) {
    any = false;
    in_order(launch.backwards, static_cast<uint32_t>(warps.size()), [&](uint32_t i) {
      Warp& warp = warps[i];
      if (warp.ended() || warp.waits_at >= 0) return;
      any = true;
      instructions_left -= warp.run(std::min(kTurn, instructions_left));
      if (instructions_left <= 0 && !warp.ended())
        warp.fault(kernel.code[warp.fragments[0].at], 0, "the kernel runs longer than the launch allows",
                   Fault::Kind::time);
      if (warp.ended()) release_full();
    });
  }
  for (const Warp& warp : warps)
    if (!warp.ended()) warp.fault(kernel.code[warp.fragments[0].at - 1], 0, "other warps never come to this barrier");
}

void Block::arrive(Warp& warp, const Code& code, Lanes lanes) {
  const Operand* operands = warp.operands(code);
  const int lane = std::countr_zero(lanes);
  const uint64_t id = warp.value(operands[0], lane), threads = code.read_count > 1 ? warp.value(operands[1], lane) : 0;
  if (id >= barriers.size()) warp.fault(code, lane, "a block has barriers 0 to 15");
  if (threads % kLanes != 0) warp.fault(code, lane, "a barrier takes whole warps");
  Barrier& barrier = barriers[id];
  if (barrier.warps != 0 && barrier.expected != threads)
    warp.fault(code, lane, "warps at one barrier expect different numbers of threads");
  barrier.expected = threads;
  barrier.warps |= 1u << warp.index;
  warp.waits_at = static_cast<int>(id);
  release_full();
}

// Barriers that have all their warps: as many as they name, or all that have not ended.
void Block::release_full() {
  const auto alive =
      static_cast<uint64_t>(std::count_if(warps.begin(), warps.end(), [](const Warp& warp) { return !warp.ended(); }));
  for (Barrier& barrier : barriers) {
    const uint64_t needed = barrier.expected != 0 ? barrier.expected / kLanes : alive;
    if (barrier.warps == 0 || static_cast<uint64_t>(std::popcount(barrier.warps)) < needed) continue;
    shared.synchronise(barrier.warps);
    for_lanes(barrier.warps, [&](int warp) { warps[static_cast<size_t>(warp)].waits_at = -1; });
    barrier = {};
  }
}

Counts run(const Module& module, const Kernel& kernel, const Launch& launch, std::span<const std::byte> params,
           const Memory& memory) {
  check(kernel, launch, params);
  Counts counts;
  counts.code.resize(kernel.code.size());
  Block block(module, kernel, launch, params, memory, counts);
  int64_t left = launch.most_instructions;
  in_order(launch.backwards, launch.grid[2], [&](uint32_t z) {
    in_order(launch.backwards, launch.grid[1], [&](uint32_t y) {
      in_order(launch.backwards, launch.grid[0], [&](uint32_t x) { block.run({x, y, z}, left); });
    });
  });
  return counts;
}

}  // namespace hone::ptx
