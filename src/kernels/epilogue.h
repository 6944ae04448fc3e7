// What kernels over matrices of results do with them before they are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// What a kernel does with the numbers it has summed up before it stores them, as a matrix [m, n] of results. `full`
// operands lie like the results.
struct Epilogue {
  enum class Access : uint8_t { full, column, row, scalar };  // [m,n], [n], [m], []
  struct Operand {
    DType dtype;
    Access access;
    static constexpr auto fields() {
      return std::tuple(field("dtype", &Operand::dtype), field("access", &Operand::access));
    }
  };
  std::vector<Operand> operands;
  std::vector<DType> results;
  Program program;  // first what the kernel has made, as its plan says, then the operands
  static constexpr auto fields() {
    return std::tuple(field("operands", &Epilogue::operands), field("results", &Epilogue::results),
                      field("program", &Epilogue::program));
  }
};

}  // namespace hone
