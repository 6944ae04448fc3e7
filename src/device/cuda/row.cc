// Row kernels: reductions along each row, then results.
//
// A row is shared by the threads of a warp, or of a block where it is long: launch() says which. A thread takes the
// same elements in every pass, a vector at a time, and nobody else touches them. So passes need no barrier, what a
// reduction would keep is computed again, which is cheaper than memory, and sums of columns are added up where they
// lie, by the thread that has the column. The order of additions follows from a row's length alone.
#include <algorithm>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/divide.h"
#include "device/cuda/functions.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "kernels/columns/plan.h"
#include "kernels/elements.h"
#include "kernels/program_uses.h"
#include "kernels/row/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = RowArgs;

constexpr int kThreads = 256;
constexpr int64_t kLongRow = 1024;  // elements from which on a block shares a row: four vectors a thread

// Where launch() says how many threads share a row, behind what the class has there.
size_t sharing_at(const RowPlan& plan) { return plan.result_at(plan.results.size()); }

int threads(const RowPlan&, const CudaTarget&) { return kThreads; }

int thread_lanes(const RowPlan& plan, const CudaTarget&) {
  int widest = plan.sums.empty() ? 2 : 4;
  for (const RowPlan::Operand& o : plan.operands)
    if (!o.row_scalar) widest = std::max(widest, static_cast<int>(size_bytes(o.dtype)));
  for (size_t j = 0; j < plan.results.size(); ++j)
    if (!is_scalar(plan.lies[j])) widest = std::max(widest, static_cast<int>(size_bytes(plan.results[j])));
  return 16 / widest;
}

class RowEmitter {
 public:
  RowEmitter(CudaEmitter& e, const RowPlan& plan)
      : e_(e), plan_(plan), operands_(plan.operands.size()), reductions_(plan.reductions.size()) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    length_ = e_.size<&A::length>(frame_);
    Value* rows = e_.size<&A::rows>(frame_);
    args_.assign(operands_ + 1 + 2 * reductions_, nullptr);
    args_[operands_] = e_.splat(e_.b.CreateSIToFP(length_, e_.f32));
    by_block_ = e_.b.CreateICmpSGT(stride_at(sharing_at(plan_)), e_.num(kWarp));
    if (!plan_.sums.empty()) by_block_ = e_.b.getTrue();
    thread_ = e_.wide(e_.b.CreateSelect(by_block_, e_.thread(), e_.lane()));
    round_ = e_.b.CreateSelect(by_block_, e_.num(int64_t{kThreads} * e_.lanes), e_.num(int64_t{kWarp} * e_.lanes));
    rounds_ = e_.b.CreateSelect(by_block_, e_.b.CreateSDiv(length_, e_.num(int64_t{kThreads} * e_.lanes)),
                                e_.b.CreateSDiv(length_, e_.num(int64_t{kWarp} * e_.lanes)));
    if (plan_.sums.empty()) {
      Value* of_warp = e_.b.CreateAdd(e_.times(frame_.begin, e_.warps()), e_.wide(e_.warp()));
      Value* row = e_.b.CreateSelect(by_block_, frame_.begin, of_warp);
      e_.when(e_.b.CreateICmpSLT(row, rows), [&] { run_row(row); });
    } else {
      run_part(rows);
    }
    e_.end_function();
  }

 private:
  Value* stride_at(size_t i) { return e_.size<&A::strides>(frame_, static_cast<int>(i)); }
  Value* pointer(size_t i) { return e_.pointer<&A::values>(frame_, static_cast<int>(i)); }

  // Rows that one block reduces the columns of.
  void run_part(Value* rows) {
    Value* each = stride_at(plan_.part_rows_at());
    Value* first = e_.b.CreateMul(frame_.begin, each);
    for (size_t j = 0; j < plan_.sums.size(); ++j) {
      Value* line = e_.b.CreateAdd(e_.times(frame_.begin, std::ssize(plan_.sums)), e_.num(static_cast<int64_t>(j)));
      sums_.push_back(e_.at(pointer(operands_ + plan_.results.size()), e_.times(e_.b.CreateMul(line, length_), 4)));
    }
    vectors({}, [&](Value* i, Value* mask, const Values&) {
      for (size_t j = 0; j < sums_.size(); ++j)
        e_.masked_store(reduction_identity(e_, kind_of_sum(j), Scalar::f32), sum_at(j, i), mask);
      return Values{};
    });
    e_.loop(first, e_.smaller(e_.b.CreateAdd(first, each), rows), 1, {}, [&](Value* row, const Values&) {
      run_row(row);
      return Values{};
    });
  }
  Reduction::Kind kind_of_sum(size_t j) const { return static_cast<Reduction::Kind>(plan_.sums[j]); }
  Value* sum_at(size_t j, Value* i) { return e_.at(sums_[j], e_.times(i, 4)); }

  // body(element, mask, carried) for the thread's vectors of a row, the last with a mask that may be of none.
  template <class Body>
  Values vectors(const Values& carried, Body body) {
    Value* mine = e_.times(thread_, e_.lanes);
    Values now = e_.loop(e_.num(0), rounds_, 1, carried, [&](Value* round, const Values& values) {
      return body(e_.b.CreateAdd(e_.b.CreateMul(round, round_), mine), nullptr, values);
    });
    Value* last = e_.b.CreateAdd(e_.b.CreateMul(rounds_, round_), mine);
    return e_.choose(
        e_.b.CreateICmpSLT(last, length_), [&] { return body(last, e_.tail_mask(e_.b.CreateSub(length_, last)), now); },
        [&] { return now; });
  }

  void run_row(Value* row) {
    starts_.clear();
    first_ = e_.b.CreateMul(row, length_);
    for (size_t i = 0; i < operands_; ++i) {
      const RowPlan::Operand& operand = plan_.operands[i];
      Value* period = stride_at(plan_.period_at(i));
      Value* of_operand = e_.choose(
          e_.b.CreateICmpSGT(period, e_.num(0)),
          [&] { return Values{e_.wide(e_.b.CreateURem(e_.low32(row), e_.low32(period)))}; },
          [&] { return Values{row}; })[0];
      Value* offset = e_.b.CreateMul(of_operand, stride_at(i));
      starts_.push_back(e_.at(pointer(i), e_.times(offset, size_bytes(operand.dtype))));
      if (operand.row_scalar) args_[i] = e_.load_broadcast(operand.dtype, starts_[i]);
    }
    for (size_t j = 0; j < plan_.results.size(); ++j) {
      Value* at = !is_scalar(plan_.lies[j]) && !is_apart(plan_.lies[j]) ? first_
                  : is_apart(plan_.lies[j]) ? e_.b.CreateMul(row, stride_at(plan_.result_at(j)))
                                            : row;
      starts_.push_back(e_.at(pointer(operands_ + j), e_.times(at, size_bytes(plan_.results[j]))));
    }
    find_alignment();
    for (size_t first = 0; first < reductions_;) {
      const size_t last = end_of_pass(first);
      reduce_pass(first, last);
      first = last;
    }
    write_vectors();
    write_scalars();
  }

  // Whether vectors of the row are aligned, in all that has vectors.
  void find_alignment() {
    Value* misplaced = e_.num(0);
    const auto note = [&](Value* start, DType dtype) {
      const int64_t bytes = std::min<int64_t>(16, e_.lanes * size_bytes(dtype));
      misplaced = e_.b.CreateOr(misplaced, e_.b.CreateAnd(e_.b.CreatePtrToInt(start, e_.i64), e_.num(bytes - 1)));
    };
    for (size_t i = 0; i < operands_; ++i)
      if (!plan_.operands[i].row_scalar) note(starts_[i], plan_.operands[i].dtype);
    for (size_t j = 0; j < plan_.results.size(); ++j)
      if (!is_scalar(plan_.lies[j])) note(starts_[operands_ + j], plan_.results[j]);
    aligned_ = e_.b.CreateICmpEQ(misplaced, e_.num(0));
  }

  // access(mask) for whole aligned vectors, or one by one.
  template <class Access>
  Values by_alignment(Value* mask, Access access) {
    if (mask) return access(mask);
    return e_.choose(
        aligned_,
        [&] {
          e_.aligned_vectors = true;
          Values made = access(nullptr);
          e_.aligned_vectors = false;
          return made;
        },
        [&] { return access(nullptr); });
  }

  // Reductions [first, end) read nothing that one of them makes.
  size_t end_of_pass(size_t first) const {
    size_t end = first + 1;
    for (; end < reductions_; ++end)
      for (size_t j = first; j < end; ++j)
        if (reads_argument(plan_.reductions[end].element, static_cast<int>(operands_ + 1 + j)) ||
            reads_argument(plan_.reductions[end].element, kept_position(j)))
          return end;
    return end;
  }

  int kept_position(size_t j) const { return static_cast<int>(operands_ + 1 + reductions_ + j); }
  Reduction::Kind kind_of(size_t j) const { return static_cast<Reduction::Kind>(plan_.reductions[j].kind); }
  Scalar element_type(size_t j) const { return plan_.reductions[j].element.result_type(0); }
  Value* combine(size_t j, Value* x, Value* y) { return emit_reduction(e_, kind_of(j), element_type(j), x, y); }

  void reduce_pass(size_t first, size_t last) {
    Values identities;
    for (size_t j = first; j < last; ++j) identities.push_back(reduction_identity(e_, kind_of(j), element_type(j)));
    Values sums = vectors(identities, [&](Value* i, Value* mask, const Values& now) {
      std::vector<const Program*> programs;
      for (size_t j = first; j < last; ++j) programs.push_back(&plan_.reductions[j].element);
      const Values args = arguments(programs, i, mask);
      Values next;
      for (size_t j = first; j < last; ++j) {
        Value* element = evaluate(plan_.reductions[j].element, args, i)[0];
        if (mask) element = e_.b.CreateSelect(mask, element, identities[j - first]);
        next.push_back(combine(j, now[j - first], element));
      }
      return next;
    });
    for (size_t j = first; j < last; ++j) {
      const auto both = [&](Value* x, Value* y) { return combine(j, x, y); };
      sums[j - first] = e_.reduce_warp(e_.reduce(sums[j - first], both), both);
    }
    sums = e_.choose(
        by_block_,
        [&] {
          Values of_warps = e_.exchange_warps(sums);
          for (size_t j = first; j < last; ++j)
            of_warps[j - first] = e_.reduce_warp(
                of_warps[j - first], [&](Value* x, Value* y) { return combine(j, x, y); }, e_.warps());
          return of_warps;
        },
        [&] { return sums; });
    for (size_t j = first; j < last; ++j) args_[operands_ + 1 + j] = e_.splat(sums[j - first]);
  }

  // Whether a program, or what it reads of kept elements, reads an operand.
  bool reads_operand(const Program& program, size_t operand) const {
    if (reads_argument(program, static_cast<int>(operand))) return true;
    for (size_t j = 0; j < reductions_; ++j)
      if (reads_argument(program, kept_position(j)) && reads_operand(plan_.reductions[j].element, operand)) return true;
    return false;
  }

  // What programs read of operands at elements i …
  Values arguments(const std::vector<const Program*>& programs, Value* i, Value* mask) {
    std::vector<size_t> read;
    for (size_t k = 0; k < operands_; ++k)
      if (!plan_.operands[k].row_scalar &&
          std::ranges::any_of(programs, [&](const Program* p) { return reads_operand(*p, k); }))
        read.push_back(k);
    const Values raw = by_alignment(mask, [&](Value* of) {
      Values loaded;
      for (const size_t k : read) {
        const DType dtype = plan_.operands[k].dtype;
        Value* from = e_.at(starts_[k], e_.times(i, size_bytes(dtype)));
        loaded.push_back(e_.masked_load(e_.vec(e_.memory_type(dtype)), from, of));
      }
      return loaded;
    });
    Values args = args_;
    for (size_t r = 0; r < read.size(); ++r) args[read[r]] = e_.widen(plan_.operands[read[r]].dtype, raw[r]);
    return args;
  }

  // Kept elements are computed again, from the same values.
  Values evaluate(const Program& program, Values args, Value* i) {
    for (size_t j = 0; j < reductions_; ++j)
      if (reads_argument(program, kept_position(j)))
        args[static_cast<size_t>(kept_position(j))] = evaluate(plan_.reductions[j].element, args, i)[0];
    args.resize(std::max(args.size(), program.args.size()));
    return emit_program(e_, program, args, e_.b.CreateAdd(first_, i));
  }

  // The program reduced to the results that are vectors, with the elements of sums behind them, or to the scalars.
  Program part(bool scalars) const {
    Program program = plan_.program;
    program.results.clear();
    for (size_t j = 0; j < plan_.program.results.size(); ++j)
      if ((j < plan_.results.size() && is_scalar(plan_.lies[j])) == scalars)
        program.results.push_back(plan_.program.results[j]);
    return program;
  }

  void write_vectors() {
    const Program program = part(false);
    if (program.results.empty()) return;
    vectors({}, [&](Value* i, Value* mask, const Values&) {
      const Values results = evaluate(program, arguments({&program}, i, mask), i);
      size_t next = 0;
      Values stored, to;
      for (size_t j = 0; j < plan_.results.size(); ++j) {
        if (is_scalar(plan_.lies[j])) continue;
        stored.push_back(e_.narrow(plan_.results[j], results[next++]));
        to.push_back(e_.at(starts_[operands_ + j], e_.times(i, size_bytes(plan_.results[j]))));
      }
      by_alignment(mask, [&](Value* of) {
        for (size_t k = 0; k < stored.size(); ++k) e_.masked_store(stored[k], to[k], of);
        return Values{};
      });
      for (size_t j = 0; j < sums_.size(); ++j) {
        Value* sum = e_.masked_load(e_.v_f32, sum_at(j, i), mask);
        e_.masked_store(emit_reduction(e_, kind_of_sum(j), Scalar::f32, sum, results[next++]), sum_at(j, i), mask);
      }
      return Values{};
    });
  }

  void write_scalars() {
    const Program program = part(true);
    if (program.results.empty()) return;
    e_.when(e_.b.CreateICmpEQ(thread_, e_.num(0)), [&] {
      const Values args = arguments({&program}, e_.num(0), e_.tail_mask(length_));
      const Values results = evaluate(program, args, e_.num(0));
      size_t next = 0;
      for (size_t j = 0; j < plan_.results.size(); ++j) {
        if (!is_scalar(plan_.lies[j])) continue;
        Value* value = e_.narrow(plan_.results[j], results[next++]);
        e_.store(e_.b.CreateExtractElement(value, uint64_t{0}), starts_[operands_ + j]);
      }
    });
  }

  CudaEmitter& e_;
  const RowPlan& plan_;
  const size_t operands_, reductions_;
  KernelFrame frame_{};
  Value *length_ = nullptr, *by_block_ = nullptr, *aligned_ = nullptr;
  Value* thread_ = nullptr;                     // among those that share a row
  Value *round_ = nullptr, *rounds_ = nullptr;  // elements that they take at a time; how often all of them do
  Value* first_ = nullptr;                      // of the row, among the elements of all
  Values args_, starts_, sums_;                 // starts: of operands, then results
};

void emit(CudaEmitter& e, const RowPlan& plan, const std::string& symbol, int) { RowEmitter(e, plan).run(symbol); }

Support supports(const RowPlan& plan, const CudaTarget&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + !plan.sums.empty() > RowArgs().values.size() ||
      sharing_at(plan) + 1 > RowArgs().strides.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const RowPlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const RowPlan::Step& step : plan.reductions) {
    if (step.element.result_type(0) == Scalar::boolean) return {"a reduction of booleans"};
    if (const Support support = supports_functions(step.element); !support.supported()) return support;
  }
  CHECK(plan.program.results.size() == plan.results.size() + plan.sums.size() &&
        plan.lies.size() == plan.results.size());
  return supports_functions(plan.program);
}

Launch launch(const RowPlan& plan, const CudaTarget&, RowArgs& args) {
  if (args.rows > kMostDivided)
    fail("a kernel over {} rows; on CUDA devices at most {}. Try: a smaller batch", args.rows, kMostDivided);
  if (!plan.sums.empty()) {
    const int64_t each = args.strides[plan.part_rows_at()] = rows_of_part(args.rows, args.length);
    args.strides[sharing_at(plan)] = kThreads;
    return {.items = ceil_div(args.rows, each)};
  }
  const bool by_block = args.length >= kLongRow;
  args.strides[sharing_at(plan)] = by_block ? kThreads : kWarp;
  return {.items = by_block ? args.rows : ceil_div(args.rows, int64_t{kThreads / kWarp})};
}

std::string describe(const RowPlan& plan, const CudaTarget& target) {
  const size_t sums = plan.sums.size();
  return fmt::format("{} pass{} over each row by a warp, or a block from {} elements on, {} elements a thread{}",
                     plan.reductions.size() + 1, plan.reductions.empty() ? "" : "es", kLongRow,
                     thread_lanes(plan, target),
                     sums ? fmt::format(", {} reduction{} of columns", sums, sums == 1 ? "" : "s") : "");
}

constexpr CudaKernelClass<RowPlan, RowArgs> kRow{.supports = supports,
                                                 .launch = launch,
                                                 .describe = describe,
                                                 .emit = emit,
                                                 .lanes = thread_lanes,
                                                 .threads = threads};

}  // namespace

extern constinit const CudaKernelDef row_on_cuda_def = cuda_kernel<kRow>();

}  // namespace hone
