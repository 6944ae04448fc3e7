// Matrix products.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/epilogue.h"
#include "kernels/kernel.h"

namespace hone {

// C[M,N] = epilogue(A[M,K] · W), batched. W is laid out for it (Prepacking), or an activation.
//   items     parts of the batches, rows and columns, as the device has them
//   program   arg 0 = the sum over K, f32, or i32 where codes are multiplied; arg 1+i = epilogue operand i. Results are
//             [M,N], with rows `n` apart unless result_row_stride says otherwise
struct GemmPlan : Epilogue {
  // Rows of an activation W are outputs (n,k) or inputs (k,n).
  enum class Weights : uint8_t { prepacked, activation_nk, activation_kn };
  int64_t m = 0;         // 0: as arguments say, and a device may make code for any
  int64_t n = 0, k = 0;  // of activations, 0: as arguments say
  // f32 or bf16: products are exact in bf16 pairs, sums are f32. i8 or u8: codes, beside weights of i8, sums are i32.
  DType a = DType::f32;
  bool a_by_columns = false;  // A is given transposed, [K,M]; W is an activation then
  Weights weights = Weights::prepacked;
  DType w = DType::f32;      // f32, bf16 or, beside codes, i8 when not packed
  std::string w_format;      // canonical format string of packed weights, "" otherwise
  int64_t middle_loops = 0;  // of batches, between the outer and the inner one
  bool multiplies_codes() const { return w == DType::i8; }
  int64_t a_row_stride = 0;  // elements, when constant: faster addresses; 0: as arguments say
  static constexpr int64_t kAnyStride = -1;
  int64_t result_row_stride = 0;  // elements; 0: n; kAnyStride: as arguments say
  static constexpr auto fields() {
    return std::tuple_cat(
        Epilogue::fields(),
        std::tuple(field("m", &GemmPlan::m), field("n", &GemmPlan::n), field("k", &GemmPlan::k),
                   field("a", &GemmPlan::a), field("a_by_columns", &GemmPlan::a_by_columns),
                   field("weights", &GemmPlan::weights), field("w", &GemmPlan::w),
                   field("w_format", &GemmPlan::w_format), field("middle_loops", &GemmPlan::middle_loops),
                   field("a_row_stride", &GemmPlan::a_row_stride),
                   field("result_row_stride", &GemmPlan::result_row_stride)));
  }
  static const KernelDef& kernel();
};

// Strides are in elements. Batch = outer * inner_batches + h, and `outer` counts through loops in the middle, too.
// `full` operands have the batch strides of the result; `row` ones hold [batches, M].
struct GemmArgs {
  void *a = nullptr, *w = nullptr;
  std::array<void*, 14> epilogue{};  // its operands, then results
  int64_t m = 0, batches = 0;
  std::array<int64_t, 3> batch_strides{};  // of A, W (0: shared) and the result, as all three below
  int64_t a_row = 0, w_row = 0;            // row strides: of A (by columns: from k to k), of W (activations only)
  int64_t inner_batches = 0;
  std::array<int64_t, 3> inner_strides{};
  int64_t n = 0, k = 0;  // activations only
  // For each `full` operand its row stride (0: that of the result), and behind these that of the result where it is
  // kAnyStride.
  std::array<int64_t, 18> full_strides{};
  // For each loop of batches between the outer and the inner one, the outer first, how many and the strides.
  std::array<int64_t, 16> middle_loops{};
  static constexpr auto places() {
    using A = GemmArgs;
    return std::tuple(&A::a, &A::w, &A::epilogue, &A::m, &A::batches, &A::batch_strides, &A::a_row, &A::w_row,
                      &A::inner_batches, &A::inner_strides, &A::n, &A::k, SizesFrom{14}, &A::full_strides,
                      &A::middle_loops);
  }
};
inline constexpr size_t kMostBatchLoops = 2 + std::tuple_size_v<decltype(GemmArgs::middle_loops)> / 4;

Support lower_gemm(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
