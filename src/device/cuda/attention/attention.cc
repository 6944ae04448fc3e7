// Attention on CUDA: launches, reports, blocks of few rows and ranges of long keys (shape.h).
#include "device/cuda/attention/emit.h"
#include "device/cuda/attention/shape.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/device.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

using A = CudaAttentionArgs;
using Task = CudaAttentionPlan::Task;

int threads(const CudaAttentionPlan& plan, const CudaTarget& target) {
  return plan.task == Task::join ? kCudaThreads : CudaAttentionShape(plan, target).threads;
}

Launch launch(const CudaAttentionPlan& plan, const CudaTarget& target, CudaAttentionArgs& args) {
  const CudaAttentionShape shape(plan, target);
  const CudaAttentionBlocks blocks(plan, shape, args);
  args.per_head = blocks.per_head, args.blocks = blocks.blocks, args.ranges = blocks.ranges;
  if (plan.task == Task::join) return {.items = blocks.ranges > 1 ? blocks.count : 0};
  return {.items = blocks.count * blocks.ranges, .shared_bytes = shape.shared_bytes};
}

std::string describe(const CudaAttentionPlan& plan, const CudaTarget& target) {
  if (plan.task == Task::join) return "ranges of keys joined in their order";
  const CudaAttentionShape shape(plan, target);
  std::string operands(to_string(plan.dtype));
  if (plan.is_packed()) {
    const auto name = [](const std::string& format) { return format.empty() ? "f32" : format; };
    operands = fmt::format("f32, {} and {}", name(plan.k_format), name(plan.v_format));
  }
  if (plan.page_rows > 0) operands += fmt::format(" in pages of {} rows,", plan.page_rows);
  const std::string ranges = plan.splits ? fmt::format(", of few queries in ranges of {}", kRangeKeys) : "";
  return fmt::format("{} heads of {}{}{}, {} operands by {}; a block has {} rows and {} threads, keys {} at a time{}",
                     plan.heads, plan.head_dim,
                     plan.value_dim != plan.head_dim ? fmt::format(" and {}", plan.value_dim) : "",
                     plan.limited ? ", keys by position" : "", operands, shape.by_mma ? "mma" : "fma", shape.rows,
                     shape.threads, shape.tile_keys, ranges);
}

void emit(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol, int) {
  if (plan.task == Task::join) emit_attention_join(e, plan, symbol);
  else emit_attention(e, plan, symbol);
}

KernelSpeed speed(const CudaAttentionPlan& plan, const CudaTarget& target) {
  if (CudaAttentionShape(plan, target).by_mma) return {0.5, 0.03};
  return {0.6, 0.1};
}

int64_t rows_of(const CudaAttentionPlan& plan, const CudaTarget& target) {
  return CudaAttentionShape(plan, target).rows;
}

// Whether some lengths make ranges of keys.
bool may_split(const CudaAttentionPlan& plan, const CudaTarget& target, const Dim& queries, const Dim& keys) {
  const int64_t rows = rows_of(plan, target), sharing = plan.heads / plan.kv_heads;
  if (queries.is_constant() && queries.constant() * sharing > rows) return false;
  if (keys.is_constant() && keys.constant() <= kRangeKeys) return false;
  return !(queries == keys) || rows > kRangeKeys;
}

// The second step of few queries, whose sizes and strides are those of the first.
void add_join(Prepared& prepared) {
  const StepDraft& step = prepared.step();
  StepDraft join = step;
  for (PointerBinding& pointer : join.pointers) pointer = {};
  for (const int read :
       {place_of<&AttentionArgs::out>, place_of<&AttentionArgs::sinks>, place_of<&AttentionArgs::shared>})
    join.pointers[static_cast<size_t>(read)] = step.pointers[static_cast<size_t>(read)];
  join.is_rest = true;
  prepared.steps.push_back(std::move(join));
}

CudaAttentionPlan joining(CudaAttentionPlan plan) {
  plan.task = Task::join;
  plan.k_format.clear(), plan.v_format.clear(), plan.page_rows = 0;
  return plan;
}

Support adapt(const CudaDevice& device, const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Node& node = lowering.graph.node(step.group.anchor);
  const Dim queries = lowering.shape(node.operands[0])[1], keys = lowering.shape(node.operands[1])[1];
  CudaAttentionPlan plan{step.plan->get<AttentionPlan>()};
  plan.few = true;
  plan.few =
      queries.is_constant() && queries.constant() * (plan.heads / plan.kv_heads) <= rows_of(plan, device.target());
  plan.splits = may_split(plan, device.target(), queries, keys);
  step.plan = plan;
  if (!plan.splits) return {};
  step.pointers[place_of<&AttentionArgs::shared>].plane = Plane::shared;
  add_join(prepared);
  prepared.steps[1].plan = joining(plan);
  prepared.place = [plan, target = device.target(), fill = std::move(prepared.place)](const RunSizes& sizes,
                                                                                      StepCall& placed) {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    placed.shared_bytes = attention_shared_bytes(plan, target, placed.args<A>());
    return Support{};
  };
  return {};
}

int thread_lanes(const CudaAttentionPlan&, const CudaTarget&) { return 1; }

constexpr CudaKernelClass<CudaAttentionPlan, CudaAttentionArgs> kAttention{.adapt = adapt,
                                                                           .supports = cuda_attention_support,
                                                                           .launch = launch,
                                                                           .describe = describe,
                                                                           .emit = emit,
                                                                           .lanes = thread_lanes,
                                                                           .threads = threads,
                                                                           .speed = speed};

}  // namespace

extern constinit const CudaKernelDef attention_on_cuda_def = cuda_kernel<kAttention>();

}  // namespace hone
