// From addresses of lanes to bytes of the host: each access checked, recorded and counted.
#pragma once

#include "tests/support/ptx/warp.h"

namespace hone::ptx {

enum class Touch : uint8_t {
  read,
  write,
  update,
  copy
};  // update: by an atomic; copy: the target of an asynchronous one

struct Reached {
  std::array<uint64_t, kLanes> address{};
  std::array<std::byte*, kLanes> host{};
};

// Addresses of [operand + offset]; those of lanes outside of `mask` mean nothing.
void addresses(Warp& warp, const Code& code, Operand operand, Lanes mask, std::array<uint64_t, kLanes>& out);

// `bytes` a lane, aligned to as many or as is said, in `space` or, if that is generic, where each address lies.
void reach(Warp& warp, const Code& code, Lanes mask, Space space, uint32_t bytes, Touch touch, Reached& reached,
           uint32_t alignment = 0);

// Where a lane's bytes of shared memory lie, for those that are copied later.
uint64_t shared_offset(Warp& warp, const Code& code, int lane, Space space, uint64_t address, uint32_t bytes);

}  // namespace hone::ptx
