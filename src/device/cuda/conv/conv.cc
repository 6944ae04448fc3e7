// Convolutions on CUDA: plans for any plane with a tile, launches, reports.
#include <utility>

#include "device/cuda/conv/emit.h"
#include "device/cuda/conv/prepack.h"
#include "device/cuda/conv/window_operand.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/device.h"
#include "device/cuda/gemm/shape.h"
#include "kernels/lowering.h"
#include "kernels/packed_rows.h"

namespace hone {
namespace {

Support supports(const CudaConvPlan& plan, const CudaTarget& target) {
  if (!plan.any_plane) return {"a plan for one plane; CUDA's are for any"};
  if (plan.has_x_zero) return {"codes with a zero point; CUDA multiplies f32 and bf16"};
  if (Support r = cuda_gemm_support(plan.tiled_product(), target); !r.supported()) return r;
  if (plan.groups > 1 && weight_tiles(plan.product, TileOrder::runs).crossing)
    return {fmt::format("{} weights in groups of channels: their scales go on from one group to the next",
                        plan.product.w_format)};
  return {};
}

int64_t blocks(int64_t extent, int size) { return ceil_div(extent, int64_t{size}); }

Launch launch(const CudaConvPlan& plan, const CudaTarget& target, ConvArgs& args) {
  const CudaGemmShape s = cuda_gemm_shape(plan.tiled_product(), target);
  return {.items = plan.groups * blocks(std::max<int64_t>(args.rows, 0), s.tile.rows()) *
                   blocks(plan.product.n, s.tile.columns()),
          .shared_bytes = s.shared_bytes()};
}

std::string describe(const CudaConvPlan& plan, const CudaTarget& target) {
  const PlaneWindow& w = plan.window;
  return fmt::format("{}x{}/{},{}{} as a product of {}: {}", w.kernel_height, w.kernel_width, w.stride_y, w.stride_x,
                     plan.groups > 1 ? fmt::format(" in {} groups", plan.groups) : "",
                     sees_one_place(plan) ? "the places of x" : "what windows see of x",
                     describe_gemm(plan.tiled_product(), target));
}

int threads(const CudaConvPlan& plan, const CudaTarget&) { return plan.tile.threads(); }

WeightTiles tiles_of(const CudaConvPlan& plan, const CudaTarget& target) {
  return cuda_gemm_shape(plan.tiled_product(), target).weights;
}
std::string prepack_key(const CudaConvPlan& plan, const CudaTarget& target) {
  return fmt::format("{} in {} groups of {} planes, {} taps{}", weight_tiles_key(tiles_of(plan, target), plan.product),
                     plan.groups, plan.planes, plan.window.taps(), plan.turned ? ", turned" : "");
}
int64_t prepacked_bytes(const CudaConvPlan& plan, const CudaTarget& target) {
  return plan.groups * tiles_of(plan, target).bytes();
}
void prepack(const CudaConvPlan& plan, const CudaTarget& target, const Tensor& weights, int threads, std::byte* out) {
  lay_out_conv(plan, tiles_of(plan, target), weights, threads, out);
  drop_source(weights);
}

// One kernel a window and a tile, for planes of any size. Where rows are gathered, each thread remembers where those
// that it copies are: no more than 64 of them a block.
Support adapt(const CudaDevice& device, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const ConvPlan plan = step.plan->get<ConvPlan>();
  step.plan.reset();
  prepared.place = [=, &device, fill = std::move(prepared.place), plans = PlanVariants<std::string>()](
                       const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    auto args = placed.args<ConvArgs>();
    if (args.rows > INT32_MAX / 2) return Support{"more than a thousand million places: they are counted in 32 bits"};
    CudaConvPlan chosen{plan};
    if (!plan.any_plane) for_any_plane(chosen, args.window), placed.set(args);
    chosen.tile = cuda_gemm_tile(chosen.product, device.target(), args.rows, chosen.product.n * chosen.groups);
    if (!sees_one_place(chosen)) chosen.tile.row_tiles = std::min(chosen.tile.row_tiles, 4);
    const int64_t tiles = blocks(args.rows, chosen.tile.rows()) * blocks(chosen.product.n, chosen.tile.columns());
    if (tiles > INT32_MAX / chosen.groups) return Support{fmt::format("{} groups of {} blocks", chosen.groups, tiles)};
    std::string key = fmt::format("{} ", chosen.leaves_plane);
    write_field(key, chosen.tile);
    return plans.choose(key, device, placed, [&] { return KernelPlan(chosen); });
  };
  return {};
}

constexpr CudaKernelClass<CudaConvPlan, ConvArgs> kConv{.adapt = adapt,
                                                        .supports = supports,
                                                        .launch = launch,
                                                        .describe = describe,
                                                        .emit = emit_cuda_conv,
                                                        .threads = threads,
                                                        .prepack_key = prepack_key,
                                                        .prepacked_bytes = prepacked_bytes,
                                                        .prepack = prepack};

}  // namespace

extern constinit const CudaKernelDef conv_on_cuda_def = cuda_kernel<kConv>();

}  // namespace hone
