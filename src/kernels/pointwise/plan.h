// Element by element.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// results[j][o, i] = program(operands...)[j] over `rank` extents (outer to inner), each operand with its own strides.
//   pointers  operands, then results
//   dims      extents[0..rank), then rank strides (in elements; 0 = broadcast) for each operand, then those that all
//             results share where they are not dense, the last of which is 1
//   items     rank 1: elements; otherwise the product of all extents but the last
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
  static const KernelDef& kernel();
};

Support lower_pointwise(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
