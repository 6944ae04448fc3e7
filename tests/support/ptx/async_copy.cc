// cp.async: from global to shared memory. What is copied is there when the lane has waited for its group; until then
// nobody may read or write the place.
#include <cstring>

#include "tests/support/ptx/access.h"
#include "tests/support/ptx/decoder.h"

namespace hone::ptx {
namespace {

// Operands: source, target, bytes to read. choice: bytes; whether the bytes to read are given.
void copy(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const uint32_t bytes = code.choice[0];
  Reached to, from;
  addresses(warp, code, operands[1], mask, to.address);
  const auto offset = static_cast<uint64_t>(code.target);  // of the source; code.offset is the target's
  std::array<uint32_t, kLanes> given;
  given.fill(bytes);
  Lanes reads = 0;
  for_lanes(mask, [&](int lane) {
    const auto i = static_cast<size_t>(lane);
    if (code.choice[1]) given[i] = static_cast<uint32_t>(warp.value(operands[2], lane));
    if (given[i] > bytes) warp.fault(code, lane, fmt::format("it reads {} bytes for {}", given[i], bytes));
    from.address[i] = warp.value(operands[0], lane) + offset;
    if (given[i] != 0) reads |= 1u << lane;
  });
  while (reads != 0) {  // lanes that read as many bytes
    const uint32_t size = given[static_cast<size_t>(std::countr_zero(reads))];
    Lanes same = 0;
    for_lanes(reads, [&](int lane) { same |= Lanes{given[static_cast<size_t>(lane)] == size} << lane; });
    reach(warp, code, same, Space::global, size, Touch::read, from, bytes);
    reads &= ~same;
  }
  std::array<uint64_t, kLanes> raw = to.address;
  reach(warp, code, mask, Space::shared, bytes, Touch::copy, to);
  for_lanes(mask, [&](int lane) {
    const auto i = static_cast<size_t>(lane);
    AsyncCopy copy{.to = shared_offset(warp, code, lane, Space::shared, raw[i], bytes),
                   .lane = lane,
                   .bytes = bytes,
                   .group = warp.committed[i]};
    if (given[i] != 0) std::memcpy(copy.data.data(), from.host[i], given[i]);
    warp.copies.push_back(copy);
  });
}

void finish_copies(Warp& warp, Lanes mask, const std::array<uint32_t, kLanes>& first_pending) {
  SharedMemory& shared = warp.block.shared;
  std::erase_if(warp.copies, [&](const AsyncCopy& copy) {
    if (!(mask >> copy.lane & 1) || copy.group >= first_pending[static_cast<size_t>(copy.lane)]) return false;
    std::memcpy(shared.data(copy.to), copy.data.data(), copy.bytes);
    shared.end_copy(copy.to, copy.bytes, warp.index);
    return true;
  });
}

void commit(Warp& warp, const Code&, Lanes mask) {
  for_lanes(mask, [&](int lane) { ++warp.committed[static_cast<size_t>(lane)]; });
}
void wait_group(Warp& warp, const Code& code, Lanes mask) {
  std::array<uint32_t, kLanes> first_pending = warp.committed;
  for (uint32_t& group : first_pending) group -= std::min(group, code.target);
  finish_copies(warp, mask, first_pending);
}
void wait_all(Warp& warp, const Code& code, Lanes mask) {
  commit(warp, code, mask);
  finish_copies(warp, mask, warp.committed);
}

void decode_copy(Decoder& d) {
  const bool any_size = d.take("ca");
  if (!any_size && !d.take("cg")) d.refuse("known as .ca, .cg, .commit_group, .wait_group and .wait_all");
  if (!d.take_any({"shared", "shared::cta"}) || !d.take("global")) d.refuse("known from global to shared memory");
  d.take_any({"L2::64B", "L2::128B", "L2::256B"});
  if (d.count() != 3) d.expect(4);
  const uint64_t bytes = d.immediate(2);
  if (bytes != 16 && (!any_size || (bytes != 4 && bytes != 8))) d.refuse("{} bytes at once", bytes);
  d.address(1);
  const int64_t offset = d.code.offset;
  if (offset < 0) d.refuse("a negative offset of the source");
  d.code.choice = {static_cast<uint8_t>(bytes), d.count() == 4};
  d.code.target = static_cast<uint32_t>(offset);
  d.address(0);
  if (d.count() == 4) d.read(3, 32);
  d.finish(copy);
}

void decode_cp(Decoder& d) {
  if (!d.take("async")) d.refuse("known as cp.async");
  if (d.take("commit_group")) {
    d.expect(0);
    return d.finish(commit);
  }
  if (d.take("wait_all")) {
    d.expect(0);
    return d.finish(wait_all);
  }
  if (!d.take("wait_group")) return decode_copy(d);
  d.expect(1);
  d.code.target = static_cast<uint32_t>(std::min<uint64_t>(d.immediate(0), UINT32_MAX));
  d.finish(wait_group);
}

constexpr Opcode kOpcodes[] = {{"cp", decode_cp}};

}  // namespace

std::span<const Opcode> async_copy_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
