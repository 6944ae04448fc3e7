// Runs kernels on the CPU, warp by warp, and finds what hardware does not say (docs/decisions/ptx-interpreter.md).
#pragma once

#include <span>

#include "tests/support/ptx/counts.h"
#include "tests/support/ptx/module.h"

namespace hone::ptx {

// What a kernel may reach of global memory.
class Memory {
 public:
  enum class Access : uint8_t { read, write };
  struct Buffer {
    uint64_t begin;
    uint64_t bytes;
    std::byte* host;
    bool writable;
  };
  // Throws Error where buffers overlap.
  void add(uint64_t address, std::span<std::byte> bytes, Access access = Access::write);
  template <class T>
  uint64_t add(std::span<T> elements, Access access = Access::write) {  // at its own address
    const auto address = reinterpret_cast<uint64_t>(elements.data());
    add(address, std::as_writable_bytes(elements), access);
    return address;
  }
  const Buffer* find(uint64_t address) const;  // that holds this byte

 private:
  std::vector<Buffer> buffers_;  // by address
};

// How tensor cores add products. `once`: exact products summed in f64 in ascending k, to which c is added first,
// rounded to the nearest f32 once an instruction. `truncated`: as published measurements of hardware have it: groups of
// 8 products and the sum so far are aligned to the largest of them and cut off two bits below f32's last, then added,
// then cut to f32.
enum class Sums : uint8_t { once, truncated };

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{kLanes, 1, 1};
  int64_t shared_bytes = 0;  // dynamic
  Sums sums = Sums::once;
  bool backwards = false;                        // blocks and warps in descending order: results must not depend on it
  int64_t most_instructions = int64_t{1} << 28;  // of all warps; beyond it the kernel is taken to run for ever
};

// Throws Fault of what the kernel does wrong, Error of a launch that no device takes.
Counts run(const Module& module, const Kernel& kernel, const Launch& launch, std::span<const std::byte> params,
           const Memory& memory);

}  // namespace hone::ptx
