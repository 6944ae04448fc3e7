// Matrix products on CUDA: plans with a tile, launches, reports.
#include <utility>

#include "device/cuda/cuda_kernel.h"
#include "device/cuda/device.h"
#include "device/cuda/gemm/emit.h"
#include "device/cuda/gemm/shape.h"
#include "kernels/lowering.h"
#include "kernels/packed_rows.h"

namespace hone {
namespace {

Launch launch(const CudaGemmPlan& plan, const CudaTarget& target, GemmArgs& args) {
  const CudaGemmShape s = cuda_gemm_shape(plan, target);
  const int64_t n = plan.n ? plan.n : args.n;
  return {.items = args.batches * ceil_div(args.m, int64_t{s.tile.rows()}) * ceil_div(n, int64_t{s.tile.columns()}),
          .shared_bytes = s.shared_bytes()};
}

int threads(const CudaGemmPlan& plan, const CudaTarget&) { return plan.tile.threads(); }

TileOrder order_of(const CudaGemmPlan& plan, const CudaTarget& target) {
  return cuda_products(plan, target) == CudaProducts::bf16 ? TileOrder::fragments : TileOrder::runs;
}
std::string prepack_key(const CudaGemmPlan& plan, const CudaTarget& target) {
  return weight_tiles_key(weight_tiles(plan, order_of(plan, target)), plan);
}
int64_t prepacked_bytes(const CudaGemmPlan& plan, const CudaTarget& target) {
  return weight_tiles(plan, order_of(plan, target)).bytes();
}
void prepack(const CudaGemmPlan& plan, const CudaTarget& target, const Tensor& weights, int threads, std::byte* out) {
  lay_out_tiles(weight_tiles(plan, order_of(plan, target)), weights, 0, threads, out);
  drop_source(weights);
}

// One kernel a tile, chosen by the rows of a run.
Support adapt(const CudaDevice& device, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  CudaGemmPlan plan{step.plan->get<GemmPlan>()};
  plan.m = 0;
  step.plan.reset();
  prepared.place = [=, &device, fill = std::move(prepared.place), plans = PlanVariants<std::string>()](
                       const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    const auto args = placed.args<GemmArgs>();
    const int64_t n = plan.n ? plan.n : args.n, batches = std::max<int64_t>(args.batches, 1);
    if (args.m > INT32_MAX / 2 || args.n > INT32_MAX / 2 || args.k > INT32_MAX / 2)
      return Support{"a product with more than a thousand million rows, columns or k: sizes are counted in 32 bits"};
    CudaGemmPlan chosen = plan;
    chosen.tile = cuda_gemm_tile(plan, device.target(), args.m, n * std::min<int64_t>(batches, INT32_MAX));
    const int64_t blocks = ceil_div(args.m, int64_t{chosen.tile.rows()}) * ceil_div(n, int64_t{chosen.tile.columns()});
    if (blocks > INT32_MAX / batches) return Support{fmt::format("{} batches of {} blocks", batches, blocks)};
    std::string key;
    write_field(key, chosen.tile);
    return plans.choose(key, device, placed, [&] { return KernelPlan(chosen); });
  };
  return {};
}

constexpr CudaKernelClass<CudaGemmPlan, GemmArgs> kGemm{.adapt = adapt,
                                                        .supports = cuda_gemm_support,
                                                        .launch = launch,
                                                        .describe = describe_gemm,
                                                        .emit = emit_cuda_gemm,
                                                        .threads = threads,
                                                        .prepack_key = prepack_key,
                                                        .prepacked_bytes = prepacked_bytes,
                                                        .prepack = prepack};

}  // namespace

extern constinit const CudaKernelDef gemm_on_cuda_def = cuda_kernel<kGemm>();

}  // namespace hone
