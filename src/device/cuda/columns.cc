// Reductions of columns. A block has 32 vectors of neighbouring columns, one a lane; its warps share the rows, each
// taking every eighth, and are joined in their order through shared memory. What is read comes in whole stretches.
#include <algorithm>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/divide.h"
#include "device/cuda/functions.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "ir/op_def.h"
#include "kernels/columns/plan.h"
#include "kernels/elements.h"

namespace hone {
namespace {

using llvm::Value;
using Access = Epilogue::Access;
using Task = ColumnsPlan::Task;
using A = ColumnsArgs;

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int64_t kRowsAtOnce = 4;  // of a warp: loads that are in flight together

int threads(const ColumnsPlan&, const CudaTarget&) { return kThreads; }
int thread_lanes(const ColumnsPlan&, const CudaTarget&) { return 4; }  // sums are f32
constexpr int64_t kColumns = int64_t{4} * kWarp;                       // of a block

class ColumnsEmitter {
 public:
  ColumnsEmitter(CudaEmitter& e, const ColumnsPlan& plan)
      : e_(e), plan_(plan), operands_(plan.operands.size()), reductions_(plan.reductions.size()) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    rows_ = e_.size<&A::rows>(frame_), columns_ = e_.size<&A::columns>(frame_);
    Value* blocks = e_.b.CreateLShr(e_.b.CreateAdd(columns_, e_.num(kColumns - 1)), e_.num(7));
    Value *item = e_.low32(frame_.begin), *across = e_.low32(blocks);
    Value* which = e_.wide(e_.b.CreateUDiv(item, across));
    Value* vector = e_.b.CreateAdd(e_.times(e_.wide(e_.b.CreateURem(item, across)), kWarp), e_.wide(e_.lane()));
    column_ = e_.times(vector, e_.lanes);
    left_ = e_.b.CreateSub(columns_, column_);
    mask_ = e_.tail_mask(left_);
    Values sums = plan_.task == Task::join ? joined() : reduced(which);
    sums = over_warps(sums);
    Value* is_first = e_.b.CreateAnd(e_.b.CreateICmpEQ(e_.warp(), e_.n32(0)), e_.b.CreateICmpSGT(left_, e_.num(0)));
    e_.when(is_first, [&] {
      if (plan_.task == Task::part) store_part(which, sums);
      else store_results(e_.b.CreateMul(which, columns_), sums);
    });
    e_.end_function();
  }

 private:
  Value* pointer(size_t i) { return e_.pointer<&A::values>(frame_, static_cast<int>(i)); }
  Reduction::Kind kind(size_t j) const { return static_cast<Reduction::Kind>(plan_.reductions[j].kind); }
  Value* combine(size_t j, Value* x, Value* y) { return emit_reduction(e_, kind(j), Scalar::f32, x, y); }
  Values identities() {
    Values all;
    for (size_t j = 0; j < reductions_; ++j) all.push_back(reduction_identity(e_, kind(j), Scalar::f32));
    return all;
  }

  // The warp's rows of [0, count), each with body(row, sums).
  template <class Body>
  Values down(Value* count, Body body) {
    Value* warp = e_.wide(e_.warp());
    Value* mine = e_.b.CreateSDiv(e_.b.CreateAdd(e_.b.CreateSub(count, warp), e_.num(kWarps - 1)), e_.num(kWarps));
    Value* whole = e_.b.CreateAnd(mine, e_.num(-kRowsAtOnce));
    const auto at = [&](Value* n) { return e_.b.CreateAdd(e_.times(n, kWarps), warp); };
    Values sums = e_.loop(e_.num(0), whole, kRowsAtOnce, identities(), [&](Value* n, const Values& now) {
      Values next = now;
      for (int64_t k = 0; k < kRowsAtOnce; ++k) next = body(at(e_.b.CreateAdd(n, e_.num(k))), next);
      return next;
    });
    return e_.loop(whole, mine, 1, sums, [&](Value* n, const Values& now) { return body(at(n), now); });
  }

  // Rows of a part of the matrix that begins at row `first`, of the warp.
  Values of_part(Value* first, Value* part) {
    Value* begin = e_.b.CreateMul(part, e_.size<&A::part_rows>(frame_));
    Value* count = e_.smaller(e_.size<&A::part_rows>(frame_), e_.b.CreateSub(rows_, begin));
    first = e_.b.CreateAdd(first, begin);
    return down(count, [&](Value* row, const Values& now) { return add_row(e_.b.CreateAdd(first, row), now); });
  }

  // A block that has all rows of a matrix joins parts as those that have one each are joined: equal bits, whether or not
  // sizes are known when code is made.
  Values reduced(Value* which) {
    find_alignment();
    if (plan_.task == Task::part) return of_part(e_.num(0), which);
    Value* first = e_.b.CreateMul(which, rows_);
    return e_.loop(e_.num(0), e_.size<&A::parts>(frame_), 1, identities(), [&](Value* part, const Values& now) {
      const Values sums = over_warps(of_part(first, part));
      Value* mine = e_.b.CreateICmpEQ(e_.b.CreateAnd(e_.low32(part), e_.n32(kWarps - 1)), e_.warp());
      Values next;
      for (size_t j = 0; j < reductions_; ++j)
        next.push_back(e_.b.CreateSelect(mine, combine(j, now[j], sums[j]), now[j]));
      return next;
    });
  }

  // Whether vectors are aligned in every row of all operands.
  void find_alignment() {
    Value* misplaced = e_.num(0);
    for (size_t i = 0; i < operands_; ++i) {
      const Epilogue::Operand& o = plan_.operands[i];
      if (o.access != Access::full && o.access != Access::column) continue;
      const int64_t bytes = std::min<int64_t>(16, e_.lanes * size_bytes(o.dtype));
      Value* places = e_.b.CreateOr(e_.b.CreatePtrToInt(pointer(i), e_.i64), e_.times(stride(i), size_bytes(o.dtype)));
      misplaced = e_.b.CreateOr(misplaced, e_.b.CreateAnd(places, e_.num(bytes - 1)));
    }
    whole_ = e_.b.CreateAnd(e_.b.CreateICmpEQ(misplaced, e_.num(0)), e_.b.CreateICmpSGE(left_, e_.num(e_.lanes)));
  }
  Value* stride(size_t i) { return e_.size<&A::operands>(frame_, static_cast<int>(i)); }

  // Where the operand's row begins.
  Value* start(size_t i, Value* row) {
    Value* period = e_.size<&A::operands>(frame_, static_cast<int>(operands_ + i));
    Value* of_operand = e_.choose(
        e_.b.CreateICmpSGT(period, e_.num(0)),
        [&] { return Values{e_.wide(e_.b.CreateURem(e_.low32(row), e_.low32(period)))}; },
        [&] { return Values{row}; })[0];
    return e_.at(pointer(i), e_.times(e_.b.CreateMul(of_operand, stride(i)), size_bytes(plan_.operands[i].dtype)));
  }

  Values add_row(Value* row, const Values& now) {
    Values starts, raw, args(operands_);
    for (size_t i = 0; i < operands_; ++i) {
      const Epilogue::Operand& o = plan_.operands[i];
      const bool along = o.access == Access::full || o.access == Access::column;
      starts.push_back(o.access == Access::scalar ? pointer(i) : start(i, row));
      if (along) starts[i] = e_.at(starts[i], e_.times(column_, size_bytes(o.dtype)));
      else args[i] = e_.load_broadcast(o.dtype, starts[i]);
    }
    const auto load = [&](Value* mask) {
      e_.aligned_vectors = !mask;
      Values loaded;
      for (size_t i = 0; i < operands_; ++i)
        if (!args[i])
          loaded.push_back(e_.masked_load(e_.vec(e_.memory_type(plan_.operands[i].dtype)), starts[i], mask));
      e_.aligned_vectors = false;
      return loaded;
    };
    raw = e_.choose(
        whole_, [&] { return load(nullptr); }, [&] { return load(mask_); });
    for (size_t i = 0, next = 0; i < operands_; ++i)
      if (!args[i]) args[i] = e_.widen(plan_.operands[i].dtype, raw[next++]);
    Value* index = e_.b.CreateAdd(e_.b.CreateMul(row, columns_), column_);
    Values sums;
    for (size_t j = 0; j < reductions_; ++j) {
      Values of_step = args;
      of_step.resize(std::max(of_step.size(), plan_.reductions[j].element.args.size()));
      sums.push_back(combine(j, now[j], emit_program(e_, plan_.reductions[j].element, of_step, index)[0]));
    }
    return sums;
  }

  // Parts, which lie [parts, reductions, columns], in their order.
  Value* part_at(Value* base, Value* part, size_t j) {
    Value* line = e_.b.CreateAdd(e_.times(part, std::ssize(plan_.reductions)), e_.num(static_cast<int64_t>(j)));
    return e_.at(base, e_.times(e_.b.CreateAdd(e_.b.CreateMul(line, columns_), column_), 4));
  }
  Values joined() {
    return down(e_.size<&A::parts>(frame_), [&](Value* part, const Values& now) {
      Values sums;
      for (size_t j = 0; j < reductions_; ++j)
        sums.push_back(combine(j, now[j], e_.masked_load(e_.v_f32, part_at(pointer(0), part, j), mask_)));
      return sums;
    });
  }

  // The sums of all warps, for each of them.
  Values over_warps(Values sums) {
    const int64_t bytes = int64_t{4} * e_.lanes * kWarp;  // of a warp and reduction
    if (!shared_) shared_ = e_.own_shared(bytes * kWarps * std::ssize(sums));
    const auto place = [&](Value* warp, size_t j) {
      Value* line = e_.b.CreateAdd(e_.times(warp, std::ssize(sums)), e_.num(static_cast<int64_t>(j)));
      return e_.at(shared_, e_.b.CreateAdd(e_.times(line, bytes), e_.times(e_.wide(e_.lane()), int64_t{4} * e_.lanes)));
    };
    for (size_t j = 0; j < sums.size(); ++j) e_.store(sums[j], place(e_.wide(e_.warp()), j), 16);
    e_.barrier();
    for (size_t j = 0; j < sums.size(); ++j) {
      sums[j] = e_.load(e_.v_f32, place(e_.num(0), j), 16);
      for (int w = 1; w < kWarps; ++w) sums[j] = combine(j, sums[j], e_.load(e_.v_f32, place(e_.num(w), j), 16));
    }
    e_.barrier();  // before others are stored there
    return sums;
  }

  void store_part(Value* part, const Values& sums) {
    for (size_t j = 0; j < reductions_; ++j) e_.store_stretch(sums[j], part_at(pointer(operands_), part, j), left_);
  }

  void store_results(Value* base, const Values& sums) {
    Values args{e_.splat(e_.b.CreateSIToFP(rows_, e_.f32))};
    args.insert(args.end(), sums.begin(), sums.end());
    args.resize(std::max(args.size(), plan_.program.args.size()));
    const Values results = emit_program(e_, plan_.program, args, nullptr);
    const size_t before = plan_.task == Task::join ? 1 : operands_;
    for (size_t j = 0; j < results.size(); ++j) {
      const DType dtype = plan_.results[j];
      Value* to = e_.at(pointer(before + j), e_.times(e_.b.CreateAdd(base, column_), size_bytes(dtype)));
      e_.store_stretch(e_.narrow(dtype, results[j]), to, left_);
    }
  }

  CudaEmitter& e_;
  const ColumnsPlan& plan_;
  const size_t operands_, reductions_;
  KernelFrame frame_{};
  Value *rows_ = nullptr, *columns_ = nullptr, *shared_ = nullptr;
  // Of the thread: its first column, those that are left from there on, which of its vector are, and whether all are
  // and lie aligned.
  Value *column_ = nullptr, *left_ = nullptr, *mask_ = nullptr, *whole_ = nullptr;
};

void emit(CudaEmitter& e, const ColumnsPlan& plan, const std::string& symbol, int) {
  ColumnsEmitter(e, plan).run(symbol);
}

constexpr int64_t kMostReductions = 48 * 1024 / (kThreads * 4 * 4);  // whose sums fit shared memory

Support supports(const ColumnsPlan& plan, const CudaTarget&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + 1 > A().values.size() || 2 * operands > A().operands.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  if (std::ssize(plan.reductions) > kMostReductions)
    return {fmt::format("{} reductions; at most {}", plan.reductions.size(), kMostReductions)};
  for (const Epilogue::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const ColumnsPlan::Step& step : plan.reductions) {
    if (step.element.result_type(0) != Scalar::f32) return {"a reduction of other elements than f32"};
    if (const Support support = supports_functions(step.element); !support.supported()) return support;
  }
  CHECK(plan.task == Task::part || plan.program.results.size() == plan.results.size());
  return supports_functions(plan.program);
}

Launch launch(const ColumnsPlan& plan, const CudaTarget&, ColumnsArgs& args) {
  args.part_rows = rows_of_part(args.rows, args.columns), args.parts = ceil_div(args.rows, args.part_rows);
  const int64_t rows = args.rows * args.matrices;
  const int64_t items = ceil_div(args.columns, kColumns) * (plan.task == Task::join   ? 1
                                                            : plan.task == Task::part ? args.parts
                                                                                      : args.matrices);
  if (rows > kMostDivided || items > kMostDivided)
    fail("reductions over {} rows in {} blocks; on CUDA devices at most {}", rows, items, kMostDivided);
  return {.items = items};
}

std::string describe(const ColumnsPlan& plan, const CudaTarget&) {
  constexpr const char* kTasks[] = {"all rows", "parts of the rows", "parts together"};
  const size_t count = plan.reductions.size();
  return fmt::format("{} reduction{} of columns, {}, {} columns a block", count, count == 1 ? "" : "s",
                     kTasks[static_cast<size_t>(plan.task)], kColumns);
}

constexpr CudaKernelClass<ColumnsPlan, ColumnsArgs> kColumnsClass{.supports = supports,
                                                                  .launch = launch,
                                                                  .describe = describe,
                                                                  .emit = emit,
                                                                  .lanes = thread_lanes,
                                                                  .threads = threads};

}  // namespace

extern constinit const CudaKernelDef columns_on_cuda_def = cuda_kernel<kColumnsClass>();

}  // namespace hone
