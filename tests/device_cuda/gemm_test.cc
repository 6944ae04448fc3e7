// Matrix products on CUDA: every unit, tile, layout and format on the interpreter, within the bound of a sum.
#include <gtest/gtest.h>

#include <limits>

#include "formats/bits.h"
#include "tests/device_cuda/gemm_run.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using namespace test;

TEST(CudaGemm, PlainWeightsAtSizesThatAreMultiplesOfNothing) {
  Philox rng(1);
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80), CudaTarget(90)})
    for (const auto& [a_type, w_type] :
         {std::pair(DType::f32, DType::f32), {DType::bf16, DType::bf16}, {DType::f32, DType::bf16}}) {
      if (target.capability() != 80 && a_type != w_type) continue;
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 35, 77}, {5, 64, 520}, {37, 50, 136}}) {
        const Tensor w = normal_matrix(w_type, {n, k}, rng), a = normal_matrix(a_type, {m, k}, rng);
        CudaProductRunner runner(product_plan(n, k, a_type, w_type), target, w, m);
        const CudaProduct product = runner.run(a);
        EXPECT_EQ(first_fault(product.values, exact_products(a, w), k), "")
            << to_string(target) << " " << to_string(a_type) << " " << m << " " << n << " " << k;
        EXPECT_EQ(runner.run(a, true).values, product.values) << "blocks in another order";
      }
    }
}

}  // namespace
}  // namespace hone
