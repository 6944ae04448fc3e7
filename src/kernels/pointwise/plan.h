// Element by element.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// results[j][o, i] = program(operands...)[j] over `rank` extents (outer to inner), each operand with its own strides.
// Items are elements of rank 1, otherwise the product of all extents but the last.
// `inner` states what the last stride of an operand is, so that loads can be vectors.
struct PointwisePlan {
  enum class Inner : uint8_t { contiguous, broadcast, strided };
  struct Operand {
    DType dtype;
    Inner inner;
    static constexpr auto fields() {
      return std::tuple(field("dtype", &Operand::dtype), field("inner", &Operand::inner));
    }
  };
  int rank = 1;  // 1..6
  bool dense = true;
  std::vector<Operand> operands;
  std::vector<DType> results;
  Program program;
  static constexpr auto fields() {
    return std::tuple(field("rank", &PointwisePlan::rank), field("dense", &PointwisePlan::dense),
                      field("operands", &PointwisePlan::operands), field("results", &PointwisePlan::results),
                      field("program", &PointwisePlan::program));
  }
  // Where PointwiseKernelArgs::sizes has the stride along `axis` of operand i, or, behind all operands, of the results.
  int stride_at(int i, int axis) const { return rank + i * rank + axis; }
  static const KernelDef& kernel();
};

struct PointwiseKernelArgs {
  std::array<void*, 16> values{};  // operands, then results
  // `rank` extents, then as many strides (in elements; 0 = broadcast) for each operand, then those that all results
  // share where they are not dense, the last of which is 1.
  std::array<int64_t, 48> sizes{};
  static constexpr auto places() { return std::tuple(&PointwiseKernelArgs::values, &PointwiseKernelArgs::sizes); }
};

Support lower_pointwise(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
