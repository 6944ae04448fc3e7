// Products with scales of blocks: when the class applies.
#include "kernels/block_gemm/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"block_linear"}); }

constexpr KernelClass<BlockGemmPlan> block_gemm{
    .name = "block_gemm",
    .doc = "products of codes, of which each block of K has scales of its own",
    .takes = takes,
    .group = kEpilogueRules,
    .lower = lower_block_gemm};

}  // namespace

extern constinit const KernelDef block_gemm_kernel_def = kernel_def<block_gemm>();
const KernelDef& BlockGemmPlan::kernel() { return block_gemm_kernel_def; }

}  // namespace hone
