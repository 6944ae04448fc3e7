// Rows appended to paged sequences: when the class applies, and what it trusts of page tables.
#include <algorithm>

#include "kernels/cache_append/plan.h"
#include "ops/page_rows.h"

namespace hone {
namespace {

std::vector<int64_t> integers(const void* from, DType dtype, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  if (dtype == DType::i64) std::copy_n(static_cast<const int64_t*>(from), count, values.begin());
  else std::copy_n(static_cast<const int32_t*>(from), count, values.begin());
  return values;
}

std::string fault(const CacheAppendPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (plan.task == CacheAppendPlan::Task::copy) return "";
  const auto& d = args.dims;
  const std::vector<int64_t> table = integers(args.pointers[6], plan.table, d[0] * d[3]),
                             lengths = integers(args.pointers[7], plan.lengths, d[0]);
  const std::string fault = PageRows{table, lengths, d[1], d[2], d[4]}.fault();
  return fault.empty() ? "" : fmt::format("%{}: {}", operand(6).name, fault);
}

bool takes(const OpDef& op) { return is_one_of(op, {"cache_append"}); }

constexpr KernelClass<CacheAppendPlan> cache_append{.name = "cache_append",
                                                    .doc = "rows appended to paged sequences",
                                                    .takes = takes,
                                                    .lower = lower_cache_append,
                                                    .trusts = {6, 7},
                                                    .fault = fault};

}  // namespace

extern constinit const KernelDef cache_append_kernel_def = kernel_def<cache_append>();
const KernelDef& CacheAppendPlan::kernel() { return cache_append_kernel_def; }

}  // namespace hone
