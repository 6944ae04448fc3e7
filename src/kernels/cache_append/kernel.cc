// Rows appended to paged sequences: when the class applies, and what it trusts of page tables.
#include <algorithm>

#include "kernels/cache_append/plan.h"
#include "ops/page_rows.h"

namespace hone {
namespace {

constexpr int kTable = place_of<&CacheAppendArgs::table>, kLengths = place_of<&CacheAppendArgs::lengths>;

std::vector<int64_t> integers(const void* from, DType dtype, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  if (dtype == DType::i64) std::copy_n(static_cast<const int64_t*>(from), count, values.begin());
  else std::copy_n(static_cast<const int32_t*>(from), count, values.begin());
  return values;
}

std::string fault(const CacheAppendPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (plan.task == CacheAppendPlan::Task::copy) return "";
  const auto a = from_args<CacheAppendArgs>(args);
  const std::vector<int64_t> table = integers(a.table, plan.table, a.sequences * a.sequence_pages),
                             lengths = integers(a.lengths, plan.lengths, a.sequences);
  const std::string fault = PageRows{table, lengths, a.new_rows, a.page_rows, a.pages}.fault();
  return fault.empty() ? "" : fmt::format("%{}: {}", operand(kTable).name, fault);
}

bool takes(const OpDef& op) { return is_one_of(op, {"cache_append"}); }

constexpr KernelClass<CacheAppendPlan> cache_append{.name = "cache_append",
                                                    .doc = "rows appended to paged sequences",
                                                    .takes = takes,
                                                    .lower = lower_cache_append,
                                                    .trusts = {kTable, kLengths},
                                                    .fault = fault};

}  // namespace

extern constinit const KernelDef cache_append_kernel_def = kernel_def<cache_append>();
const KernelDef& CacheAppendPlan::kernel() { return cache_append_kernel_def; }

}  // namespace hone
