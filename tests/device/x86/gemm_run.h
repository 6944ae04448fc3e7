// A gemm plan with operands, its kernel's result and the same in double.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/philox.h"
#include "device/x86/amx/tile_rules.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/gemm/shape.h"
#include "ir/tensor.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/support/bound.h"

namespace hone::test {

inline Tensor random_tensor(DType dtype, std::vector<int64_t> shape, Philox& rng) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = rng.normal();
  return Tensor::from_floats(dtype, std::move(shape), values);
}

inline Tensor small_integers(DType dtype, std::vector<int64_t> shape, Philox& rng) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = static_cast<float>(static_cast<int>(rng.below(7)) - 3);
  return Tensor::from_floats(dtype, std::move(shape), values);
}

// Of sizes m, n, k: two activations, whose rows may be longer than they need be.
inline std::vector<float> product_of_two(CompiledPlan& compiled, const Tensor& a, const Tensor& w,
                                         const std::array<int64_t, 3>& sizes) {
  Guarded out(static_cast<size_t>(sizes[0] * sizes[1]) * 4);
  const GemmArgs args{.a = const_cast<std::byte*>(a.data().bytes().data()),
                      .w = const_cast<std::byte*>(w.data().bytes().data()),
                      .epilogue = {out.data()},
                      .m = sizes[0],
                      .batches = 1,
                      .a_row = a.dim(1),
                      .w_row = w.dim(1),
                      .inner_batches = 1,
                      .n = sizes[1],
                      .k = sizes[2]};
  compiled.run(args, 1);
  EXPECT_TRUE(out.intact());
  const auto values = out.as<float>();
  return {values.begin(), values.end()};
}

// The sum alone.
inline X86GemmPlan plain_plan(int64_t n, int64_t k, DType a, DType w, DType result = DType::f32) {
  X86GemmPlan plan;
  plan.n = n, plan.k = k, plan.a = a, plan.w = w;
  plan.results = {result};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  return plan;
}

inline X86GemmPlan packed_plan(const std::string& format, int64_t n, int64_t k, DType a, int64_t few) {
  X86GemmPlan plan = plain_plan(n, k, a, DType::f32);
  plan.w_format = format;
  plan.rows = few ? X86GemmPlan::Rows{.least = few, .most = few} : X86GemmPlan::Rows{.least = kFewRows + 1};
  return plan;
}

// Rows of `a` for such a plan: the first `few`; 0: all, and again until they are more than a few.
inline Tensor rows_for(const Tensor& a, int64_t few) {
  const int64_t own = a.dim(0), rows = few ? few : own > kFewRows ? own : kFewRows + 2;
  const std::vector<float> values = a.to_floats();
  std::vector<float> taken;
  for (int64_t i = 0; i < rows * a.dim(1); ++i) taken.push_back(values[static_cast<size_t>(i) % values.size()]);
  return Tensor::from_floats(a.dtype(), {rows, a.dim(1)}, taken);
}

struct Products {
  double sum = 0, abs_sum = 0, largest = 0;  // largest: the product of the largest magnitude
};

// C[m,n] = sum over k of a[m,k] * w[n,k], in double.
inline std::vector<Products> reference_products(const Tensor& a, const Tensor& w) {
  const std::vector<float> x = a.to_floats(), y = w.to_floats();
  const int64_t m = a.dim(0), k = a.dim(1), n = w.dim(0);
  std::vector<Products> out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Products& p = out[static_cast<size_t>(i * n + j)];
      for (int64_t l = 0; l < k; ++l) {
        const double product = double{x[static_cast<size_t>(i * k + l)]} * y[static_cast<size_t>(j * k + l)];
        p.sum += product;
        p.abs_sum += std::abs(product);
        if (std::abs(product) > std::abs(p.largest)) p.largest = product;
      }
    }
  return out;
}

// Each of k products is added once and each group sum scaled and added once more; weights are rounded once when a scale
// is multiplied in; bf16 dot products flush subnormals.
inline double products_bound(const Products& p, int64_t k) {
  return dot_bound(p.abs_sum, 2 * k + 8, kEpsF32, kEpsF32) + 2 * double(k) * kTinyF32;
}

// As lowering makes it.
inline X86GemmPlan for_target(X86GemmPlan plan, const X86Target& target) {
  plan.by_tiles = fits_tiles(plan, target);
  return plan;
}

// A kernel for prepacked weights, for the plan's number of rows.
class GemmRunner {
 public:
  GemmRunner(const X86GemmPlan& plan, const X86Target& target, const Tensor& weights)
      : plan_(for_target(plan, target)), kernel_(plan_, target), weights_(lay_out(plan_, target, weights, 1)) {}

  // f32 results of a plan without operands; fails the test when bytes around the result changed.
  std::vector<float> run(const Tensor& a, int64_t chunk = 0) {
    const int64_t m = a.dim(0);
    Guarded out(static_cast<size_t>(m * plan_.n) * 4), in(a.data().size(), static_cast<size_t>(size_bytes(plan_.a)));
    std::memcpy(in.data(), a.data().bytes().data(), a.data().size());
    const GemmArgs args{.a = in.data(),
                        .w = const_cast<std::byte*>(weights_.bytes().data()),
                        .epilogue = {out.data()},
                        .m = m,
                        .batches = 1,
                        .a_row = plan_.k,
                        .inner_batches = 1};
    kernel_.run(args, chunk);
    intact_ = out.intact() && in.intact();
    const auto values = out.as<float>();
    return {values.begin(), values.end()};
  }
  bool intact() const { return intact_; }

 private:
  X86GemmPlan plan_;
  CompiledPlan kernel_;
  Buffer weights_;
  bool intact_ = true;
};

// The first output that is further from the reference, which may have more of them, than its bound; "" when there is
// none.
inline std::string first_fault(const std::vector<float>& got, const std::vector<Products>& want, int64_t k) {
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    if (!(std::abs(got[i] - want[i].sum) <= products_bound(want[i], k)))
      return fmt::format("output {}: {} instead of {} (bound {})", i, got[i], want[i].sum, products_bound(want[i], k));
  return "";
}

}  // namespace hone::test
