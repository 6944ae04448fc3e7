// Element by element, a row of them at a time: operands are copied out and widened to the scalars that the program
// computes in, it is interpreted (expr/interpreter.h), and its results are narrowed and copied back.
#include <algorithm>
#include <cstring>

#include "device/steps/device.h"
#include "expr/interpreter.h"
#include "ir/compute_column.h"
#include "kernels/pointwise/plan.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

Support supports(const PointwisePlan& plan, const StepsDevice&) {
  std::vector<DType> dtypes = plan.results;
  for (const PointwisePlan::Operand& operand : plan.operands) dtypes.push_back(operand.dtype);
  const auto has = [&](DType dtype) { return std::ranges::count(dtypes, dtype) > 0; };
  if (has(DType::string)) return steps_tally().refused(kStrings);
  if (has(DType::f64) || std::ranges::count(plan.program.code, Scalar::f64, &Instruction::type) > 0)
    return steps_tally().refused(kDoubles);
  return {};
}

// Of all but the last extent. Items are independent, and so the device is free to make them rows or elements.
int64_t rows_of(const PointwisePlan& plan, const PointwiseKernelArgs& args) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < plan.rank; ++axis) rows *= args.sizes[static_cast<size_t>(axis)];
  return rows;
}

int64_t row_length(const PointwisePlan& plan, const PointwiseKernelArgs& args) {
  return args.sizes[static_cast<size_t>(plan.rank - 1)];
}

Launch launch(const PointwisePlan& plan, const StepsDevice&, PointwiseKernelArgs& args) {
  return {.items = row_length(plan, args) == 0 ? 0 : rows_of(plan, args)};
}

std::string describe(const PointwisePlan& plan, const StepsDevice&) {
  return fmt::format("{} instructions over {} loop{}", plan.program.code.size(), plan.rank, plan.rank == 1 ? "" : "s");
}

class Rows {
 public:
  Rows(const PointwisePlan& plan, const PointwiseKernelArgs& args, const ForeignMemory& memory)
      : plan_(plan), args_(args), memory_(memory), interpreter_(plan.program), length_(row_length(plan, args)) {}

  void run(int64_t row) {
    std::vector<ComputeColumn> operands;  // of one row
    std::vector<ConstColumn> columns;
    for (int i = 0; i < operand_count(); ++i) {
      const bool repeats = !reads_argument(plan_.program, i) || stride(i, plan_.rank - 1) == 0;
      operands.push_back(ComputeColumn(operand(i, row, repeats ? 1 : length_)));
      columns.push_back({operands.back().data(), repeats ? 0 : 1});
    }
    std::vector<Tensor> results;
    std::vector<MutableColumn> written;
    for (size_t j = 0; j < plan_.results.size(); ++j) {
      results.emplace_back(dtype_of(plan_.program.result_type(static_cast<int>(j))), std::vector<int64_t>{length_});
      written.push_back({results.back().mutable_data()});
    }
    interpreter_.run(columns, row * length_, length_, written);
    for (size_t j = 0; j < results.size(); ++j) store(j, row, store_column(plan_.results[j], results[j]));
  }

 private:
  int operand_count() const { return static_cast<int>(plan_.operands.size()); }
  int64_t stride(int of, int axis) const { return args_.sizes[static_cast<size_t>(plan_.stride_at(of, axis))]; }

  int64_t first(int of, int64_t row) const {  // element of the row
    int64_t element = 0;
    for (int axis = plan_.rank - 2; axis >= 0; --axis) {
      const int64_t extent = args_.sizes[static_cast<size_t>(axis)];
      element += row % extent * stride(of, axis);
      row /= extent;
    }
    return element;
  }

  Tensor operand(int i, int64_t row, int64_t count) const {
    const DType dtype = plan_.operands[static_cast<size_t>(i)].dtype;
    Tensor elements(dtype, {count});
    if (!reads_argument(plan_.program, i)) return elements;
    const int64_t bytes = size_bytes(dtype), step = stride(i, plan_.rank - 1), span = (count - 1) * step;
    const auto* base = static_cast<const std::byte*>(args_.values[static_cast<size_t>(i)]);
    const std::byte* lowest = memory_.at(base + (first(i, row) + std::min<int64_t>(span, 0)) * bytes,
                                         static_cast<size_t>((std::abs(span) + 1) * bytes));
    const std::byte* from = lowest - std::min<int64_t>(span, 0) * bytes;
    std::byte* to = elements.mutable_data();
    for (int64_t e = 0; e < count; ++e)
      std::memcpy(to + e * bytes, from + e * step * bytes, static_cast<size_t>(bytes));
    return elements;
  }

  void store(size_t j, int64_t row, const Tensor& elements) const {
    auto* base = static_cast<std::byte*>(args_.values[plan_.operands.size() + j]);
    if (!base) return;  // nobody reads it
    const std::span<const std::byte> bytes = elements.data().bytes();
    const int64_t element = plan_.dense ? row * length_ : first(operand_count(), row);
    std::memcpy(memory_.at(base + element * size_bytes(elements.dtype()), bytes.size()), bytes.data(), bytes.size());
  }

  const PointwisePlan& plan_;
  const PointwiseKernelArgs& args_;
  const ForeignMemory& memory_;
  Interpreter interpreter_;
  const int64_t length_;
};

void run(const KernelPlan& any, const KernelArgs& all, const ForeignMemory& memory) {
  const auto& plan = any.get<PointwisePlan>();
  const auto args = from_args<PointwiseKernelArgs>(all);
  Rows rows(plan, args, memory);
  for (int64_t row = 0; row < rows_of(plan, args); ++row) rows.run(row);
}

constexpr ImplementationOf<PointwisePlan, StepsDevice, PointwiseKernelArgs> kPointwise{
    .supports = supports, .launch = launch, .describe = describe};

}  // namespace

constinit const StepsKernel kStepsPointwise{implementation<kPointwise>(), run};

}  // namespace hone
