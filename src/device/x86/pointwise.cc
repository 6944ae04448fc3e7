// Pointwise kernels: operands read with their own strides, one program, results that are dense or parts of larger ones.
//
// Along the last axis full vectors come first, then one masked vector. The outer axes are an odometer on the stack: the
// offset of every operand moves by a stride with each row, and only a carry costs more.
#include <algorithm>

#include "device/llvm/expr_emit.h"
#include "device/x86/element_cost.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/elements.h"
#include "kernels/pointwise/plan.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

using llvm::Value;

class PointwiseEmitter {
 public:
  PointwiseEmitter(X86Emitter& e, const PointwisePlan& plan) : e_(e), plan_(plan), outer_(plan.rank - 1) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    const auto operands = static_cast<int>(plan_.operands.size());
    for (int i = 0; i < operands; ++i) bases_.push_back(e_.pointer<&PointwiseKernelArgs::values>(frame_, i));
    for (size_t j = 0; j < plan_.results.size(); ++j)
      outputs_.push_back(e_.pointer<&PointwiseKernelArgs::values>(frame_, operands + static_cast<int>(j)));
    if (outer_ == 0) {
      Values starts;
      for (int i = 0; i < operands; ++i) starts.push_back(e_.b.CreateMul(frame_.begin, stride(i, 0)));
      run_line(starts, frame_.begin, e_.b.CreateSub(frame_.end, frame_.begin));
    } else {
      rows();
    }
    e_.end_function();
  }

 private:
  size_t bytes_of(int operand) const {
    return static_cast<size_t>(size_bytes(plan_.operands[static_cast<size_t>(operand)].dtype));
  }
  Value* extent(int axis) { return e_.size<&PointwiseKernelArgs::sizes>(frame_, axis); }
  // What moves with a step along `axis`: bytes of an operand, or elements of the results behind all operands.
  Value* stride(int moving, int axis) {
    const bool operand = moving < static_cast<int>(bases_.size());
    return e_.times(e_.size<&PointwiseKernelArgs::sizes>(frame_, plan_.stride_at(moving, axis)),
                    operand ? static_cast<int64_t>(bytes_of(moving)) : 1);
  }
  size_t moving() const { return bases_.size() + (plan_.dense ? 0 : 1); }

  // Slots on the stack: position on each outer axis, offset of each operand and of results that are not dense.
  Value* slot(Value* array, size_t i) { return e_.at(array, static_cast<int64_t>(8 * i)); }

  void rows() {
    positions_ = e_.stack(e_.i64, outer_);
    offsets_ = e_.stack(e_.i64, std::max<int64_t>(1, static_cast<int64_t>(moving())));
    Value* rest = frame_.begin;
    for (int axis = outer_ - 1; axis >= 0; --axis) {
      Value* size = extent(axis);
      e_.store(e_.b.CreateURem(rest, size), slot(positions_, static_cast<size_t>(axis)), 8);
      rest = e_.b.CreateUDiv(rest, size);
    }
    for (size_t i = 0; i < moving(); ++i) {
      Value* offset = e_.num(0);
      for (int axis = 0; axis < outer_; ++axis)
        offset = e_.b.CreateAdd(offset, e_.b.CreateMul(e_.load(e_.i64, slot(positions_, static_cast<size_t>(axis)), 8),
                                                       stride(static_cast<int>(i), axis)));
      e_.store(offset, slot(offsets_, i), 8);
    }
    Value* length = extent(outer_);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* row, const Values&) {
      Values starts;
      for (size_t i = 0; i < bases_.size(); ++i) starts.push_back(e_.load(e_.i64, slot(offsets_, i), 8));
      run_line(starts, plan_.dense ? e_.b.CreateMul(row, length) : e_.load(e_.i64, slot(offsets_, bases_.size()), 8),
               length);
      advance(outer_ - 1);
      return Values{};
    });
  }

  // One step along `axis`; at its end back to 0 and one step along the axis before.
  void advance(int axis) {
    Value* position = e_.b.CreateAdd(e_.load(e_.i64, slot(positions_, static_cast<size_t>(axis)), 8), e_.num(1));
    e_.store(position, slot(positions_, static_cast<size_t>(axis)), 8);
    for (size_t i = 0; i < moving(); ++i) move(i, stride(static_cast<int>(i), axis));
    if (axis == 0) return;
    Value* size = extent(axis);
    e_.when(e_.b.CreateICmpEQ(position, size), [&] {
      e_.store(e_.num(0), slot(positions_, static_cast<size_t>(axis)), 8);
      for (size_t i = 0; i < moving(); ++i)
        move(i, e_.b.CreateNeg(e_.b.CreateMul(size, stride(static_cast<int>(i), axis))));
      advance(axis - 1);
    });
  }
  void move(size_t what, Value* step) {
    Value* at = slot(offsets_, what);
    e_.store(e_.b.CreateAdd(e_.load(e_.i64, at, 8), step), at, 8);
  }

  // `length` elements: operand i from byte offset starts[i] on, results from element `first` on.
  void run_line(const Values& starts, Value* first, Value* length) {
    line_.clear();
    for (size_t i = 0; i < bases_.size(); ++i) {
      const PointwisePlan::Operand& operand = plan_.operands[i];
      Line line{e_.at(bases_[i], starts[i]), nullptr, nullptr};
      if (operand.inner == PointwisePlan::Inner::broadcast && reads(i))
        line.broadcast = e_.load_broadcast(operand.dtype, line.start);
      if (operand.inner == PointwisePlan::Inner::strided) line.stride = stride(static_cast<int>(i), outer_);
      line_.push_back(line);
    }
    Values held(plan_.operands.size());
    for (size_t i = 0; i < held.size(); ++i) held[i] = line_[i].broadcast;
    known_ = emit_invariants(e_, plan_.program, held);
    Value* full = e_.b.CreateAnd(length, e_.num(-e_.lanes));
    e_.loop(e_.num(0), full, e_.lanes, {}, [&](Value* i, const Values&) {
      run_vector(i, first, nullptr);
      return Values{};
    });
    e_.when(e_.b.CreateICmpSLT(full, length),
            [&] { run_vector(full, first, e_.tail_mask(e_.b.CreateSub(length, full))); });
  }

  void run_vector(Value* i, Value* first, Value* mask) {
    Values args(plan_.operands.size());
    for (size_t k = 0; k < args.size(); ++k)
      if (reads(k)) args[k] = argument(k, i, mask);
    Value* index = e_.b.CreateAdd(first, i);
    const Values results = emit_program(e_, plan_.program, args, index, known_);
    for (size_t j = 0; j < results.size(); ++j) {
      Value* at = e_.at(outputs_[j], e_.times(index, size_bytes(plan_.results[j])));
      e_.store_elements(results[j], plan_.results[j], at, mask);
    }
  }

  Value* argument(size_t k, Value* i, Value* mask) {
    const PointwisePlan::Operand& operand = plan_.operands[k];
    const Line& line = line_[k];
    if (line.broadcast) return line.broadcast;
    if (line.stride)
      return e_.load_strided(operand.dtype, e_.at(line.start, e_.b.CreateMul(i, line.stride)), line.stride, mask);
    return e_.load_elements(operand.dtype, e_.at(line.start, e_.times(i, size_bytes(operand.dtype))), mask);
  }

  bool reads(size_t operand) const { return reads_argument(plan_.program, static_cast<int>(operand)); }

  struct Line {
    Value *start, *broadcast, *stride;
  };
  X86Emitter& e_;
  const PointwisePlan& plan_;
  const int outer_;
  KernelFrame frame_{};
  Values bases_, outputs_, known_;
  Value *positions_ = nullptr, *offsets_ = nullptr;
  std::vector<Line> line_;
};

void emit(X86Emitter& e, const PointwisePlan& plan, const std::string& symbol, int) {
  PointwiseEmitter(e, plan).run(symbol);
}

Support supports(const PointwisePlan& plan, const X86Target&) {
  const size_t operands = plan.operands.size(), results = plan.results.size(), rank = static_cast<size_t>(plan.rank);
  if (plan.rank < 1 || plan.rank > 6)
    return {fmt::format("rank {} of a pointwise kernel; supported: 1 to 6", plan.rank)};
  if (operands + results > PointwiseKernelArgs().values.size() ||
      rank * (operands + (plan.dense ? 1 : 2)) > PointwiseKernelArgs().sizes.size())
    return {fmt::format("{} operands and {} results of rank {} do not fit the arguments of a kernel", operands, results,
                        rank)};
  for (const PointwisePlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (DType dtype : plan.results)
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  CHECK(plan.program.results.size() == results);
  if (!plan.dense && (plan.rank == 1 || uses_index(plan.program))) return {"the element's index in a part of a result"};
  return {};
}

Launch launch(const PointwisePlan& plan, const X86Target& target, PointwiseKernelArgs& args) {
  int64_t items = args.sizes[0];
  for (int axis = 1; axis + 1 < plan.rank; ++axis) items *= args.sizes[static_cast<size_t>(axis)];
  const int64_t row = plan.rank > 1 ? args.sizes[static_cast<size_t>(plan.rank - 1)] : 1;
  if (row == 0) items = 0;
  const double ns = element_ns(plan.program, static_cast<int>(plan.operands.size() + plan.results.size()), target);
  const auto elements = std::max<int64_t>(1024, static_cast<int64_t>(20000 / ns) / 64 * 64);
  return {items, std::max<int64_t>(1, elements / std::max<int64_t>(1, row))};
}

std::string describe(const PointwisePlan& plan, const X86Target&) {
  const auto strided = std::ranges::count(plan.operands, PointwisePlan::Inner::strided, &PointwisePlan::Operand::inner);
  return fmt::format("{} loop{}{}", plan.rank, plan.rank == 1 ? "" : "s",
                     strided ? fmt::format(", {} strided operand{}", strided, strided == 1 ? "" : "s") : "");
}

constexpr X86KernelClass<PointwisePlan, PointwiseKernelArgs> kPointwise{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef pointwise_on_x86_def = x86_kernel<kPointwise>();

}  // namespace hone
