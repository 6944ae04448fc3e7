// What follows from the plan of rows that are added up.
#include <algorithm>

#include "base/multiples.h"
#include "ir/pointwise.h"
#include "kernels/add_rows/plan.h"
#include "device/x86/element_cost.h"
#include "kernels/elements.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

constexpr int kIds = 1;  // position in pointers

Support supports(const AddRowsPlan& plan, const Target&) {
  const GemmPlan& product = plan.product;
  if (2 + product.operands.size() + product.results.size() > KernelArgs{}.pointers.size())
    return {fmt::format("{} operands and {} results do not fit the arguments of a kernel", product.operands.size(),
                        product.results.size())};
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("row numbers of {}", to_string(plan.ids))};
  if (compute_scalar(plan.d) != Scalar::f32) return {fmt::format("rows of {}", to_string(plan.d))};
  if (product.n < 1) return {fmt::format("rows of {} elements", product.n)};
  for (const Epilogue::Operand& operand : product.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  CHECK(product.program.results.size() == product.results.size());
  return {};
}

// Each item looks at all numbers, some eight a nanosecond: blocks are larger where there are many.
Launch launch(const AddRowsPlan& plan, const Target& target, KernelArgs& args) {
  KernelDims& d = args.dims;
  const int64_t pitch = sums_pitch(plan, target), block_bytes = int64_t{1} << (d[2] > 8192 ? 18 : 16);
  d[3] = std::clamp<int64_t>(block_bytes / pitch, 1, d[0]);
  const auto streams = static_cast<int>(plan.product.operands.size() + plan.product.results.size());
  const double ns = static_cast<double>(d[2]) / 8 +
                    static_cast<double>(d[3] * plan.product.n) * element_ns(plan.product.program, 1 + streams, target);
  return {.items = d[1] * ceil_div(d[0], d[3]),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / ns)),
          .scratch_bytes = d[3] * pitch};
}

std::string describe(const AddRowsPlan& plan, const Target&) {
  return fmt::format("rows of {} {} added up", plan.product.n, to_string(plan.d));
}

std::string fault(const AddRowsPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  const int64_t rows = args.dims[0], count = args.dims[2];
  const auto find = [&](const auto* ids) -> std::string {
    for (int64_t i = 0; i < count; ++i)
      if (ids[i] < -rows || ids[i] >= rows)
        return fmt::format("%{}: element {} is {}; the result has {} rows", operand(kIds).name, i, ids[i], rows);
    return "";
  };
  const void* ids = args.pointers[kIds];
  return plan.ids == DType::i64 ? find(static_cast<const int64_t*>(ids)) : find(static_cast<const int32_t*>(ids));
}

bool takes(const OpDef& op) { return is_one_of(op, {"gather_gradient"}); }

constexpr KernelClass<AddRowsPlan> add_rows{.name = "add_rows",
                                            .doc = "rows added up at their numbers, as gradients of embeddings are",
                                            .takes = takes,
                                            .group = kEpilogueRules,
                                            .lower = lower_add_rows,
                                            .supports = supports,
                                            .launch = launch,
                                            .describe = describe,
                                            .trusts = {kIds, -1},
                                            .fault = fault};

}  // namespace

extern constinit const KernelDef add_rows_kernel_def = kernel_def<add_rows>();
const KernelDef& AddRowsPlan::kernel() { return add_rows_kernel_def; }

int64_t sums_pitch(const AddRowsPlan& plan, const Target& target) {
  return round_up(plan.product.n, target.lanes()) * 4;
}

}  // namespace hone
