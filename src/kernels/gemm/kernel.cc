// Matrix products: when the class applies.
#include "kernels/gemm/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"linear", "matmul"}); }

constexpr KernelClass<GemmPlan> gemm{
    .name = "gemm",
    .doc = "matrix products, with constant weights packed or plain, or with activations",
    .takes = takes,
    .group = kEpilogueRules,
    .lower = lower_gemm};

}  // namespace

extern constinit const KernelDef gemm_kernel_def = kernel_def<gemm>();
const KernelDef& GemmPlan::kernel() { return gemm_kernel_def; }

}  // namespace hone
