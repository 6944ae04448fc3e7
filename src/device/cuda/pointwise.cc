// Pointwise kernels: a thread computes one vector of elements along the last axis.
//
// Vectors are as wide as one access of 16 bytes of the widest elements, so that a warp's accesses are whole stretches
// of memory. Of results with several axes, the number of a vector is taken apart by the vectors of a row and the
// extents, with multipliers that launch() adds behind the strides. Where a vector ends beyond its row, or lies
// unaligned, its elements are read and written one by one; the program is there once.
#include <algorithm>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/divide.h"
#include "device/cuda/functions.h"
#include "device/llvm/expr_emit.h"
#include "kernels/elements.h"
#include "kernels/pointwise/plan.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

using llvm::Value;
using Inner = PointwisePlan::Inner;

int thread_lanes(const PointwisePlan& plan, const CudaTarget&) {
  int64_t widest = 2;
  for (const PointwisePlan::Operand& o : plan.operands)
    if (o.inner == Inner::contiguous) widest = std::max<int64_t>(widest, size_bytes(o.dtype));
  for (const DType dtype : plan.results) widest = std::max<int64_t>(widest, size_bytes(dtype));
  return static_cast<int>(16 / widest);
}

// Where the multipliers begin: that of the vectors of a row, then those of the extents of axes 1 … rank - 2.
int inverses_at(const PointwisePlan& plan) {
  return plan.rank * (1 + static_cast<int>(plan.operands.size()) + (plan.dense ? 0 : 1));
}

class PointwiseEmitter {
 public:
  PointwiseEmitter(CudaEmitter& e, const PointwisePlan& plan) : e_(e), plan_(plan), inner_(plan.rank - 1) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    Value* vector = e_.b.CreateAdd(e_.b.CreateMul(frame_.begin, e_.num(e_.threads)), e_.wide(e_.thread()));
    Value* length = size(inner_);
    if (plan_.rank == 1) {
      position_ = first_ = e_.times(vector, e_.lanes);
      e_.when(e_.b.CreateICmpSLT(position_, length), [&] { run_vector(length); });
    } else {
      Value* vectors = e_.b.CreateSDiv(e_.b.CreateAdd(length, e_.num(e_.lanes - 1)), e_.num(e_.lanes));
      Value* rows = size(0);
      for (int axis = 1; axis < inner_; ++axis) rows = e_.b.CreateMul(rows, size(axis));
      e_.when(e_.b.CreateICmpSLT(vector, e_.b.CreateMul(rows, vectors)), [&] {
        place(e_.low32(vector), e_.low32(vectors), length);
        run_vector(length);
      });
    }
    e_.end_function();
  }

 private:
  Value* size(int i) { return e_.size<&PointwiseKernelArgs::sizes>(frame_, i); }
  bool reads(size_t operand) const { return reads_argument(plan_.program, static_cast<int>(operand)); }
  int64_t bytes_of(size_t operand) const { return size_bytes(plan_.operands[operand].dtype); }

  // Row and position of a vector; positions_ of the row along the outer axes.
  void place(Value* vector, Value* vectors, Value* length) {
    const int inverses = inverses_at(plan_);
    Value* row = divided(e_, vector, size(inverses));
    position_ = e_.times(e_.wide(e_.b.CreateSub(vector, e_.b.CreateMul(row, vectors))), e_.lanes);
    first_ = e_.b.CreateAdd(e_.b.CreateMul(e_.wide(row), length), position_);
    positions_.assign(static_cast<size_t>(inner_), nullptr);
    for (int axis = inner_ - 1; axis > 0; --axis) {
      Value* outer = divided(e_, row, size(inverses + axis));
      Value* rest = e_.b.CreateSub(row, e_.b.CreateMul(outer, e_.low32(size(axis))));
      positions_[static_cast<size_t>(axis)] = e_.wide(rest);
      row = outer;
    }
    positions_[0] = e_.wide(row);
  }

  // Elements from the start of what moves (an operand, or the results behind them) to the vector's row.
  Value* row_offset(size_t moving) {
    Value* offset = e_.num(0);
    for (size_t axis = 0; axis < positions_.size(); ++axis)
      offset = e_.b.CreateAdd(
          offset,
          e_.b.CreateMul(positions_[axis], size(plan_.stride_at(static_cast<int>(moving), static_cast<int>(axis)))));
    return offset;
  }

  Value* address(size_t operand) {
    Value* offset = row_offset(operand);
    Value* position = position_;
    const Inner inner = plan_.operands[operand].inner;
    if (inner == Inner::strided)
      position = e_.b.CreateMul(position, size(plan_.stride_at(static_cast<int>(operand), inner_)));
    if (inner != Inner::broadcast) offset = e_.b.CreateAdd(offset, position);
    Value* base = e_.pointer<&PointwiseKernelArgs::values>(frame_, static_cast<int>(operand));
    return e_.at(base, e_.times(offset, bytes_of(operand)));
  }

  void run_vector(Value* length) {
    const size_t operands = plan_.operands.size(), results = plan_.results.size();
    Value* at = plan_.dense ? first_ : e_.b.CreateAdd(row_offset(operands), position_);
    Value* misplaced = e_.num(0);
    const auto note = [&](Value* pointer, DType dtype) {
      const int64_t least = std::min<int64_t>(16, e_.lanes * size_bytes(dtype));
      misplaced = e_.b.CreateOr(misplaced, e_.b.CreateAnd(e_.b.CreatePtrToInt(pointer, e_.i64), e_.num(least - 1)));
    };
    Values from(operands), to(results);
    for (size_t i = 0; i < operands; ++i)
      if (reads(i)) {
        from[i] = address(i);
        if (plan_.operands[i].inner == Inner::contiguous) note(from[i], plan_.operands[i].dtype);
      }
    for (size_t j = 0; j < results; ++j) {
      Value* base = e_.pointer<&PointwiseKernelArgs::values>(frame_, static_cast<int>(operands + j));
      to[j] = e_.at(base, e_.times(at, size_bytes(plan_.results[j])));
      note(to[j], plan_.results[j]);
    }
    Value* left = e_.b.CreateSub(length, position_);
    Value* whole = e_.b.CreateAnd(e_.b.CreateICmpSGE(left, e_.num(e_.lanes)), e_.b.CreateICmpEQ(misplaced, e_.num(0)));
    const Values results_now = emit_program(e_, plan_.program, arguments(from, whole, left), first_);
    Values stored;
    for (size_t j = 0; j < results; ++j) stored.push_back(e_.narrow(plan_.results[j], results_now[j]));
    const auto store_all = [&](Value* of) {
      for (size_t j = 0; j < results; ++j) e_.masked_store(stored[j], to[j], of);
      return Values{};
    };
    e_.choose(
        whole, [&] { return by_vectors([&] { return store_all(nullptr); }); },
        [&] { return store_all(e_.tail_mask(left)); });
  }

  template <class Body>
  Values by_vectors(Body body) {
    e_.aligned_vectors = true;
    Values made = body();
    e_.aligned_vectors = false;
    return made;
  }

  Values arguments(const Values& from, Value* whole, Value* left) {
    const auto load = [&](Value* of) {
      Values raw;
      for (size_t i = 0; i < from.size(); ++i) {
        const PointwisePlan::Operand& o = plan_.operands[i];
        if (!from[i] || o.inner == Inner::broadcast) continue;
        if (o.inner == Inner::strided) {
          Value* stride = e_.times(size(plan_.stride_at(static_cast<int>(i), inner_)), bytes_of(i));
          raw.push_back(e_.load_strided(o.dtype, from[i], stride, of));
        } else {
          raw.push_back(e_.masked_load(e_.vec(e_.memory_type(o.dtype)), from[i], of));
        }
      }
      return raw;
    };
    const Values raw = e_.choose(
        whole, [&] { return by_vectors([&] { return load(nullptr); }); }, [&] { return load(e_.tail_mask(left)); });
    Values args(from.size());
    for (size_t i = 0, next = 0; i < from.size(); ++i) {
      const PointwisePlan::Operand& o = plan_.operands[i];
      if (!from[i]) continue;
      if (o.inner == Inner::broadcast) args[i] = e_.load_broadcast(o.dtype, from[i]);
      else if (o.inner == Inner::strided) args[i] = raw[next++];
      else args[i] = e_.widen(o.dtype, raw[next++]);
    }
    return args;
  }

  CudaEmitter& e_;
  const PointwisePlan& plan_;
  const int inner_;
  KernelFrame frame_{};
  Value *position_ = nullptr, *first_ = nullptr;  // in the row, and among all elements
  Values positions_;
};

void emit(CudaEmitter& e, const PointwisePlan& plan, const std::string& symbol, int) {
  PointwiseEmitter(e, plan).run(symbol);
}

Support supports(const PointwisePlan& plan, const CudaTarget&) {
  const size_t operands = plan.operands.size(), results = plan.results.size();
  if (plan.rank < 1 || plan.rank > 6)
    return {fmt::format("rank {} of a pointwise kernel; supported: 1 to 6", plan.rank)};
  if (operands + results > PointwiseKernelArgs().values.size() ||
      static_cast<size_t>(inverses_at(plan) + plan.rank - 1) > PointwiseKernelArgs().sizes.size())
    return {fmt::format("{} operands and {} results of rank {} do not fit the arguments of a kernel", operands, results,
                        plan.rank)};
  for (const PointwisePlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const DType dtype : plan.results)
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  CHECK(plan.program.results.size() == results);
  if (!plan.dense && (plan.rank == 1 || uses_index(plan.program))) return {"the element's index in a part of a result"};
  return supports_functions(plan.program);
}

Launch launch(const PointwisePlan& plan, const CudaTarget& target, PointwiseKernelArgs& args) {
  const auto size = [&](int axis) -> int64_t& { return args.sizes[static_cast<size_t>(axis)]; };
  const int64_t vectors = ceil_div(size(plan.rank - 1), int64_t{thread_lanes(plan, target)});
  int64_t all = vectors;
  for (int axis = 0; axis + 1 < plan.rank; ++axis) all *= size(axis);
  if (all == 0) return {};
  if (all > kMostDivided)
    fail("a pointwise kernel over {} vectors; on CUDA devices at most {}. Try: a smaller batch", all, kMostDivided);
  const int inverses = inverses_at(plan);
  if (plan.rank > 1) size(inverses) = inverse_of(vectors);
  for (int axis = 1; axis + 1 < plan.rank; ++axis) size(inverses + axis) = inverse_of(size(axis));
  return {.items = ceil_div(all, int64_t{kCudaThreads})};
}

std::string describe(const PointwisePlan& plan, const CudaTarget& target) {
  const auto strided = std::ranges::count(plan.operands, Inner::strided, &PointwisePlan::Operand::inner);
  return fmt::format("{} elements a thread{}", thread_lanes(plan, target),
                     strided ? fmt::format(", {} strided operand{}", strided, strided == 1 ? "" : "s") : "");
}

constexpr CudaKernelClass<PointwisePlan, PointwiseKernelArgs> kPointwise{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit, .lanes = thread_lanes};

}  // namespace

extern constinit const CudaKernelDef pointwise_on_cuda_def = cuda_kernel<kPointwise>();

}  // namespace hone
