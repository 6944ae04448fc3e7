// Rows of a table, copied one by one.
#include <cstring>

#include "device/steps/device.h"
#include "kernels/gather/plan.h"

namespace hone {
namespace {

Support supports(const GatherPlan& plan, const StepsDevice&) {
  if (!plan.table_format.empty()) return steps_tally().refused(kPackedTables);
  if (plan.table == DType::string) return steps_tally().refused(kStrings);
  if (plan.table != plan.result) return steps_tally().refused(kOtherElements);
  return {};
}

Launch launch(const GatherPlan&, const StepsDevice&, GatherArgs& args) { return {.items = args.results}; }

std::string describe(const GatherPlan& plan, const StepsDevice&) {
  return fmt::format("rows of {} {}", plan.columns, to_string(plan.table));
}

int64_t row_number(const GatherPlan& plan, const GatherArgs& args, int64_t result, const ForeignMemory& memory) {
  if (plan.every_row) return result;
  const auto bytes = static_cast<size_t>(size_bytes(plan.ids));
  const auto* ids = static_cast<const std::byte*>(args.ids) + result % args.ids_per_table * size_bytes(plan.ids);
  int64_t id = 0;
  if (plan.ids == DType::i64) {
    std::memcpy(&id, memory.at(ids, bytes), bytes);
  } else {
    int32_t narrow = 0;
    std::memcpy(&narrow, memory.at(ids, bytes), bytes);
    id = narrow;
  }
  return result / args.ids_per_table * args.rows + (id < 0 ? id + args.rows : id);
}

void run(const KernelPlan& any, const KernelArgs& all, const ForeignMemory& memory) {
  const auto& plan = any.get<GatherPlan>();
  const auto args = from_args<GatherArgs>(all);
  const int64_t bytes = plan.columns * size_bytes(plan.table);
  const auto row_of = [&](void* matrix, int64_t row) {
    return memory.at(static_cast<const std::byte*>(matrix) + row * bytes, static_cast<size_t>(bytes));
  };
  for (int64_t i = 0; i < args.results; ++i)
    std::memcpy(row_of(args.out, i), row_of(args.table, row_number(plan, args, i, memory)), static_cast<size_t>(bytes));
}

constexpr ImplementationOf<GatherPlan, StepsDevice, GatherArgs> kGather{
    .supports = supports, .launch = launch, .describe = describe};

}  // namespace

constinit const StepsKernel kStepsGather{implementation<kGather>(), run};

}  // namespace hone
