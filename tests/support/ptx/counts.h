// What needs no clock to tell a kernel's quality, instruction by instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace hone::ptx {

struct Kernel;

struct LineCounts {
  int64_t executed = 0;  // by warps
  int64_t sectors = 0,
          bytes = 0;  // of global memory: 32-byte sectors touched by each warp's access, and bytes asked for
  int64_t bank_cycles = 0, bank_least = 0;  // of shared memory: cycles, and cycles without conflicts
};

struct Counts {
  std::vector<LineCounts> code;  // as Kernel::code

  // Of the instructions whose spelling begins with `spelling`, whole words: "mma", "ld.global".
  LineCounts of(const Kernel& kernel, std::string_view spelling) const;
  LineCounts all() const;
  void add(const Counts& other);
};

}  // namespace hone::ptx
