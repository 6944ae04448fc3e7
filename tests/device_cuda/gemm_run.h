// Products on CUDA in tests: a plan as adapt() makes it, its weights laid out, and the result on the interpreter beside
// the same in double.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/philox.h"
#include "device/cuda/gemm/shape.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/support/bound.h"

namespace hone::test {

// The sum alone.
inline CudaGemmPlan product_plan(int64_t n, int64_t k, DType a, DType w, DType result = DType::f32) {
  CudaGemmPlan plan;
  plan.n = n, plan.k = k, plan.a = a, plan.w = w;
  plan.results = {result};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  return plan;
}
inline CudaGemmPlan packed_product(const std::string& format, int64_t n, int64_t k, DType a) {
  CudaGemmPlan plan = product_plan(n, k, a, DType::f32);
  plan.w_format = format;
  return plan;
}

inline Tensor normal_matrix(DType dtype, std::vector<int64_t> shape, Philox& rng) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = rng.normal();
  return Tensor::from_floats(dtype, std::move(shape), values);
}

inline DeviceVector<std::byte> on_device(const Buffer& buffer) {
  const auto bytes = buffer.bytes();
  return {bytes.begin(), bytes.end()};
}

struct CudaProduct {
  std::vector<float> values;
  ptx::Counts counts;
};

// A kernel for constant weights, for so many rows.
class CudaProductRunner {
 public:
  CudaProductRunner(CudaGemmPlan plan, const CudaTarget& target, const Tensor& weights, int64_t m)
      : plan_(with_tile(std::move(plan), target, m)),
        kernel_(plan_, target),
        weights_(on_device(lay_out(CudaDevice(target), plan_, weights, 1))) {}

  CudaProduct run(const Tensor& a, bool backwards = false) {
    const int64_t m = a.dim(0);
    DeviceVector<std::byte> in = on_device(a.data());
    DeviceVector<float> out(static_cast<size_t>(m * plan_.n), -7.0f);
    const GemmArgs args{.a = in.data(),
                        .w = weights_.data(),
                        .epilogue = {out.data()},
                        .m = m,
                        .batches = 1,
                        .a_row = plan_.k,
                        .inner_batches = 1};
    ptx::Counts counts = kernel_.run(args, {reads(in), reads(weights_), writes(out)}, backwards);
    return {{out.begin(), out.end()}, std::move(counts)};
  }
  const CudaPlan& kernel() const { return kernel_; }
  const CudaGemmPlan& plan() const { return plan_; }

  static CudaGemmPlan with_tile(CudaGemmPlan plan, const CudaTarget& target, int64_t m) {
    plan.tile = cuda_gemm_tile(plan, target, m, plan.n);
    return plan;
  }

 private:
  CudaGemmPlan plan_;
  CudaPlan kernel_;
  DeviceVector<std::byte> weights_;
};

struct ExactSum {
  double sum = 0, magnitudes = 0;
};
inline std::vector<ExactSum> exact_products(const Tensor& a, const Tensor& w) {
  const std::vector<float> x = a.to_floats(), y = w.to_floats();
  const int64_t m = a.dim(0), k = a.dim(1), n = w.dim(0);
  std::vector<ExactSum> out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l) {
        const double product = double{x[static_cast<size_t>(i * k + l)]} * y[static_cast<size_t>(j * k + l)];
        out[static_cast<size_t>(i * n + j)].sum += product;
        out[static_cast<size_t>(i * n + j)].magnitudes += std::abs(product);
      }
  return out;
}

// The first output that is further from the exact one than a sum of its products may be; "" when there is none.
inline std::string first_fault(const std::vector<float>& got, const std::vector<ExactSum>& want, int64_t k) {
  for (size_t i = 0; i < want.size(); ++i) {
    const double bound = product_sum_bound(want[i].magnitudes, k);
    if (!(std::abs(got[i] - want[i].sum) <= bound))
      return fmt::format("output {}: {} instead of {} (bound {})", i, got[i], want[i].sum, bound);
  }
  return "";
}

}  // namespace hone::test
