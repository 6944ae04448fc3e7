// Matrix products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/epilogue.h"
#include "codegen/kernel.h"

namespace hone {

// C[M,N] = epilogue(A[M,K] · W), batched. W is a constant laid out by prepack() (prepack.h), or an activation packed on
// the fly.
//   pointers  [0] A, [1] W, then epilogue operands, then results
//   dims      [0] M, [1] batches, batch strides in elements of [2] A, [3] W (0: shared), [4] the result,
//             [5] A row stride, [6] W row stride (activations only), [7] inner batches: batch = outer * inner + h,
//             [8] [9] [10] strides of the inner batch for A, W, result; then from [11] for each `full` operand its row
//             stride (0 = that of the result). `full` operands have the batch strides of the result; `row` ones hold
//             [batches, M]
//   items     batches * ceil(M / rows_per_block) * panel_items; see gemm_items()
//   program   arg 0 = the f32 sum over K; arg 1+i = epilogue operand i. Results are [M,N], with rows `n` apart unless
//             result_row_stride says otherwise
struct GemmPlan : Epilogue {
  // Rows of an activation W are outputs (n,k) or inputs (k,n).
  enum class Weights : uint8_t { prepacked, activation_nk, activation_kn };
  int64_t n = 0, k = 0;
  DType a = DType::f32;  // f32 or bf16; products are exact in bf16 pairs, sums are f32
  Weights weights = Weights::prepacked;
  DType w = DType::f32;           // f32 or bf16 when not packed
  std::string w_format;           // canonical format string of packed weights, "" otherwise
  int64_t m_hint = 0;             // rows expected: chooses tile, loop order and where weights are decoded; not a limit
  int64_t m_remainder = -1;       // M % gemm_tile_rows() (shape.h) when known: fewer tails to generate; -1: any
  int64_t a_row_stride = 0;       // elements, when constant: faster addresses; 0: dims[5]
  int64_t result_row_stride = 0;  // elements; 0: n
  static constexpr auto fields() {
    return std::tuple_cat(
        Epilogue::fields(),
        std::tuple(field("n", &GemmPlan::n), field("k", &GemmPlan::k), field("a", &GemmPlan::a),
                   field("weights", &GemmPlan::weights), field("w", &GemmPlan::w),
                   field("w_format", &GemmPlan::w_format), field("m_hint", &GemmPlan::m_hint),
                   field("m_remainder", &GemmPlan::m_remainder), field("a_row_stride", &GemmPlan::a_row_stride),
                   field("result_row_stride", &GemmPlan::result_row_stride)));
  }
  static const KernelDef& kernel();
};

}  // namespace hone
