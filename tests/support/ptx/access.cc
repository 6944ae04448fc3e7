#include "tests/support/ptx/access.h"

#include <algorithm>

namespace hone::ptx {
namespace {

// Sectors of 32 bytes; an access that is aligned lies in one.
void count_sectors(LineCounts& counts, const std::array<uint64_t, kLanes>& address, Lanes mask, uint32_t bytes) {
  std::array<uint64_t, kLanes> sectors;
  size_t n = 0;
  bool ascends = true;
  for_lanes(mask, [&](int lane) {
    const uint64_t sector = address[static_cast<size_t>(lane)] / 32;
    if (n != 0 && sectors[n - 1] == sector) return;
    ascends &= n == 0 || sectors[n - 1] < sector;
    sectors[n++] = sector;
  });
  if (!ascends) {
    std::sort(sectors.begin(), sectors.begin() + n);
    n = static_cast<size_t>(std::unique(sectors.begin(), sectors.begin() + n) - sectors.begin());
  }
  counts.sectors += static_cast<int64_t>(n);
  counts.bytes += int64_t{std::popcount(mask)} * bytes;
}

// Words of one phase: each bank serves one of them a cycle, to all lanes that ask for it.
int64_t bank_cycles(std::span<const uint64_t> words) {
  std::array<uint64_t, 32> seen;
  uint32_t banks = 0;
  bool conflicts = false;
  for (const uint64_t word : words) {
    const size_t bank = word % 32;
    conflicts |= (banks >> bank & 1) && seen[bank] != word;
    banks |= 1u << bank;
    seen[bank] = word;
  }
  if (!conflicts) return 1;
  std::vector<uint64_t> distinct(words.begin(), words.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::array<int64_t, 32> of_bank{};
  for (const uint64_t word : distinct) ++of_bank[word % 32];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

// 16-byte accesses go eight lanes at a time, 8-byte ones sixteen.
void count_banks(LineCounts& counts, const std::array<uint64_t, kLanes>& address, Lanes mask, uint32_t bytes) {
  const int lanes = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  std::array<uint64_t, kLanes> words;
  for (int from = 0; from < kLanes; from += lanes) {
    const Lanes phase = mask & (lanes == 32 ? kAllLanes : ((Lanes{1} << lanes) - 1) << from);
    if (phase == 0) continue;
    size_t n = 0;
    for_lanes(phase, [&](int lane) {
      const uint64_t a = address[static_cast<size_t>(lane)];
      for (uint64_t word = a / 4; word * 4 < a + bytes; ++word) words[n++] = word;
    });
    counts.bank_cycles += bank_cycles({words.data(), n});
    ++counts.bank_least;
  }
}

void reach_global(Warp& warp, const Code& code, Lanes mask, uint32_t bytes, Touch touch, Reached& reached) {
  const Memory::Buffer* buffer = warp.recent;
  for_lanes(mask, [&](int lane) {
    const uint64_t a = reached.address[static_cast<size_t>(lane)];
    if (buffer == nullptr || a - buffer->begin >= buffer->bytes || bytes > buffer->bytes - (a - buffer->begin)) {
      buffer = warp.block.memory.find(a);
      if (buffer == nullptr) warp.fault(code, lane, fmt::format("{:#x} lies in no buffer", a), Fault::Kind::address);
      if (bytes > buffer->bytes - (a - buffer->begin))
        warp.fault(code, lane, fmt::format("{:#x} lies at the end of a buffer of {} bytes", a, buffer->bytes),
                   Fault::Kind::address);
    }
    if (touch != Touch::read && !buffer->writable) warp.fault(code, lane, "it writes to a buffer that is only read");
    reached.host[static_cast<size_t>(lane)] = buffer->host + (a - buffer->begin);
  });
  warp.recent = buffer;
  count_sectors(warp.counts(code), reached.address, mask, bytes);
}

SharedMemory::Use use_of(Touch touch) {
  switch (touch) {
    case Touch::read:
      return SharedMemory::Use::read;
    case Touch::write:
      return SharedMemory::Use::write;
    case Touch::update:
      return SharedMemory::Use::update;
    case Touch::copy:
      break;
  }
  return SharedMemory::Use::begin_copy;
}

void reach_shared(Warp& warp, const Code& code, Lanes mask, uint32_t bytes, Touch touch, Reached& reached) {
  SharedMemory::Access access(warp.block.shared, use_of(touch), warp.index);
  for_lanes(mask, [&](int lane) {
    const uint64_t offset =
        shared_offset(warp, code, lane, Space::shared, reached.address[static_cast<size_t>(lane)], bytes);
    if (const char* why = access.touch(offset, bytes)) warp.fault(code, lane, why);
    reached.host[static_cast<size_t>(lane)] = warp.block.shared.data(offset);
  });
  count_banks(warp.counts(code), reached.address, mask, bytes);
}

// What each lane has of its own, or all have and only read.
void reach_array(Warp& warp, const Code& code, Lanes mask, Space space, uint32_t bytes, Touch touch, Reached& reached) {
  std::span<std::byte> array;
  if (space == Space::param) array = {const_cast<std::byte*>(warp.block.params.data()), warp.block.params.size()};
  if (space == Space::constant)
    array = {const_cast<std::byte*>(warp.block.module.constants.data()), warp.block.module.constants.size()};
  const bool is_local = space == Space::local;
  for_lanes(mask, [&](int lane) {
    if (is_local)
      array = std::span(warp.local)
                  .subspan(static_cast<size_t>(lane * warp.kernel.local_bytes),
                           static_cast<size_t>(warp.kernel.local_bytes));
    const uint64_t from = reached.address[static_cast<size_t>(lane)] - kSpaceBase;
    if (from >= array.size() || bytes > array.size() - from)
      warp.fault(code, lane, is_local ? "beyond local memory" : "beyond the parameters or constants");
    if (touch != Touch::read && !is_local) warp.fault(code, lane, "it writes to parameters or constants");
    reached.host[static_cast<size_t>(lane)] = array.data() + from;
  });
}

Lanes in_window(const Reached& reached, Lanes mask, Space space) {
  Lanes inside = 0;
  for_lanes(mask, [&](int lane) {
    inside |= Lanes{reached.address[static_cast<size_t>(lane)] >> 56 == generic_window(space) >> 56} << lane;
  });
  return inside;
}

void reach_generic(Warp& warp, const Code& code, Lanes mask, uint32_t bytes, Touch touch, Reached& reached) {
  for (const Space space : {Space::shared, Space::local, Space::param, Space::constant}) {
    const Lanes inside = in_window(reached, mask, space);
    if (inside == 0) continue;
    for_lanes(inside, [&](int lane) { reached.address[static_cast<size_t>(lane)] -= generic_window(space); });
    reach(warp, code, inside, space, bytes, touch, reached);
    mask &= ~inside;
  }
  if (mask != 0) reach_global(warp, code, mask, bytes, touch, reached);
}

}  // namespace

void addresses(Warp& warp, const Code& code, Operand operand, Lanes mask, std::array<uint64_t, kLanes>& out) {
  for_lanes(mask, [&](int lane) {
    out[static_cast<size_t>(lane)] = warp.value(operand, lane) + static_cast<uint64_t>(code.offset);
  });
}

void reach(Warp& warp, const Code& code, Lanes mask, Space space, uint32_t bytes, Touch touch, Reached& reached,
           uint32_t alignment) {
  if (alignment == 0) alignment = bytes;
  for_lanes(mask, [&](int lane) {
    const uint64_t a = reached.address[static_cast<size_t>(lane)];
    if (a % alignment != 0)
      warp.fault(code, lane, fmt::format("{:#x} is not aligned to {} bytes", a, alignment), Fault::Kind::alignment);
  });
  switch (space) {
    case Space::global: {
      const Lanes variables = in_window(reached, mask, Space::constant);  // .global variables of the module
      if (variables != 0) reach_generic(warp, code, variables, bytes, touch, reached);
      if (variables == mask) return;
      mask &= ~variables;
      return reach_global(warp, code, mask, bytes, touch, reached);
    }
    case Space::shared:
      return reach_shared(warp, code, mask, bytes, touch, reached);
    case Space::generic:
      return reach_generic(warp, code, mask, bytes, touch, reached);
    case Space::local:
    case Space::param:
    case Space::constant:
      return reach_array(warp, code, mask, space, bytes, touch, reached);
  }
}

uint64_t shared_offset(Warp& warp, const Code& code, int lane, Space space, uint64_t address, uint32_t bytes) {
  if (space == Space::generic) address -= generic_window(Space::shared);
  const auto offset = warp.block.shared.offset(address, bytes);
  if (!offset) warp.fault(code, lane, fmt::format("{:#x} lies beyond shared memory", address));
  return *offset;
}

}  // namespace hone::ptx
