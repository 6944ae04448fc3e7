// A product with scales of blocks: its plan with operands, its kernel's result, and its definition.
#pragma once

#include <string>

#include "device/x86/amx/tile_rules.h"
#include "device/x86/block_gemm/shape.h"
#include "kernels/block_gemm/plan.h"
#include "ops/calls/block_linear.h"
#include "ops/evaluate.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/support/op_case.h"

namespace hone::test {

// Codes of i8 over their whole range, or values packed in groups.
inline Tensor activations(Philox& rng, const Sizes64& shape, const std::string& format) {
  return format == "i8" ? random_integers(rng, shape, DType::i8, -128, 127) : random_packed(rng, shape, format);
}

inline X86BlockGemmPlan plan_of(const Tensor& x, const Tensor& w) {
  X86BlockGemmPlan plan;
  plan.n = w.dim(0), plan.k = w.dim(1);
  plan.w_format = to_string(*w.format());
  if (x.is_packed()) plan.x_format = to_string(*x.format());
  plan.results = {DType::f32};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  return plan;
}

// Many rows go through tiles where the target has some.
inline X86BlockGemmPlan plan_of(const Tensor& x, const Tensor& w, const X86Target& target) {
  X86BlockGemmPlan plan = plan_of(x, w);
  plan.by_tiles = fits_tiles(plan, target);
  return plan;
}

inline Tensor computed(const X86BlockGemmPlan& plan, const X86Target& target, const Tensor& x, const Tensor& w,
                       int64_t chunk) {
  CompiledPlan kernel(plan, target);
  const Buffer panels = lay_out(plan, target, w, 2);
  const int64_t m = x.elements() / plan.k;
  Guarded codes(x.data().size(), 1), scales(x.scales().size(), 1), out(static_cast<size_t>(m * plan.n) * 4);
  std::memcpy(codes.data(), x.data().bytes().data(), x.data().size());
  if (x.is_packed()) std::memcpy(scales.data(), x.scales().bytes().data(), x.scales().size());
  const BlockGemmArgs args{.a = codes.data(),
                           .w = const_cast<std::byte*>(panels.bytes().data()),
                           .epilogue = {out.data(), scales.data()},
                           .m = m};
  kernel.run(args, chunk);
  EXPECT_TRUE(codes.intact() && scales.intact() && out.intact());
  const auto values = out.as<float>();
  return Tensor::of<float>({m, plan.n}, {values.begin(), values.end()});
}

inline Tensor defined(const Tensor& x, const Tensor& w) {
  const Tensor* const operands[] = {&x, &w};
  return evaluate_node(block_linear_def, operands, {})[0];
}

}  // namespace hone::test
