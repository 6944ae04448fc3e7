// Reductions of columns. A block of columns is walked down its rows, some at a time, while its sums lie in scratch,
// which stays in the first-level cache: what is read comes in order, and each vector of sums is loaded and stored once
// for those rows. Four neighbouring rows are joined in a tree and then with the sum, the rest row by row.
#include <algorithm>
#include <limits>

#include "base/multiples.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "device/x86/element_cost.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "ir/op_def.h"
#include "kernels/columns/plan.h"
#include "kernels/elements.h"

namespace hone {
namespace {

using llvm::Value;
using Access = Epilogue::Access;
using Task = ColumnsPlan::Task;

constexpr int64_t kColumnsAtOnce = 1024;  // of a block: its sums fill a part of the first-level cache
constexpr int64_t kTreeRows = 4;          // bits follow from it: the same in each plan

// Sums of few columns wait for each other in scratch: the more trees join them at once, the less. Only of what is read
// from one place, so that registers and code suffice.
std::vector<int64_t> rows_at_once(const ColumnsPlan& plan) {
  if (plan.operands.size() == 1 && plan.reductions.size() == 1) return {4 * kTreeRows, kTreeRows, 1};
  return {kTreeRows, 1};
}

using A = ColumnsArgs;

class ColumnsEmitter {
 public:
  ColumnsEmitter(X86Emitter& e, const ColumnsPlan& plan)
      : e_(e),
        plan_(plan),
        operands_(plan.operands.size()),
        reductions_(plan.reductions.size()),
        rows_at_once_(rows_at_once(plan)) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    rows_ = e_.size<&A::rows>(frame_), columns_ = e_.size<&A::columns>(frame_);
    part_rows_ = e_.size<&A::part_rows>(frame_), parts_ = e_.size<&A::parts>(frame_);
    Value* blocks = e_.b.CreateUDiv(e_.b.CreateAdd(columns_, e_.num(kColumnsAtOnce - 1)), e_.num(kColumnsAtOnce));
    for (size_t i = 0; i < operands_; ++i) place_operand(static_cast<int>(i));
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      first_ = e_.times(e_.b.CreateURem(item, blocks), kColumnsAtOnce);
      width_ = e_.smaller(e_.b.CreateSub(columns_, first_), e_.num(kColumnsAtOnce));
      if (plan_.task == Task::join) join();
      else reduce(e_.b.CreateUDiv(item, blocks));
      return Values{};
    });
    e_.end_function();
  }

 private:
  struct Operand {
    Value *base, *row_bytes, *period;
  };
  void place_operand(int i) {
    Value* stride = e_.size<&A::operands>(frame_, i);
    Value* period = e_.size<&A::operands>(frame_, static_cast<int>(operands_) + i);
    // Without a period the counter runs to the largest integer and never wraps.
    period =
        e_.b.CreateSelect(e_.b.CreateICmpSGT(period, e_.num(0)), period, e_.num(std::numeric_limits<int64_t>::max()));
    const DType dtype = plan_.operands[static_cast<size_t>(i)].dtype;
    placed_.push_back({e_.pointer<&A::values>(frame_, i), e_.times(stride, size_bytes(dtype)), period});
  }

  // Calls body(column behind the block's first, mask) for its vectors.
  template <class Body>
  void vectors(Body body) {
    Value* full = e_.b.CreateAnd(width_, e_.num(-e_.lanes));
    e_.loop(e_.num(0), full, e_.lanes, {}, [&](Value* c, const Values&) {
      body(c, nullptr);
      return Values{};
    });
    e_.when(e_.b.CreateICmpSLT(full, width_), [&] { body(full, e_.tail_mask(e_.b.CreateSub(width_, full))); });
  }

  // Sums of a part, and behind them those of a whole matrix.
  Value* sum_at(size_t j, Value* c) {
    return e_.at(frame_.scratch, e_.b.CreateAdd(e_.num(static_cast<int64_t>(j) * kColumnsAtOnce * 4), e_.times(c, 4)));
  }
  Value* total_at(size_t j, Value* c) { return sum_at(reductions_ + j, c); }
  Value* load_sum(Value* at) { return e_.load(e_.v_f32, at, 64); }
  Reduction::Kind kind(size_t j) const { return static_cast<Reduction::Kind>(plan_.reductions[j].kind); }
  Value* identity(size_t j) { return reduction_identity(e_, kind(j), Scalar::f32); }
  Value* combine(size_t j, Value* x, Value* y) { return emit_reduction(e_, kind(j), Scalar::f32, x, y); }

  void reduce(Value* which) {
    scalars_.assign(operands_, nullptr);
    for (size_t i = 0; i < operands_; ++i)
      if (plan_.operands[i].access == Access::scalar)
        scalars_[i] = e_.load_broadcast(plan_.operands[i].dtype, placed_[i].base);
    if (plan_.task == Task::part) {
      Value* begin = e_.b.CreateMul(which, part_rows_);
      add_up(begin, e_.smaller(e_.b.CreateAdd(begin, part_rows_), rows_));
      return store_part(which);
    }
    vectors([&](Value* c, Value*) {
      for (size_t j = 0; j < reductions_; ++j) e_.store(identity(j), total_at(j, c), 64);
    });
    Value* first = e_.b.CreateMul(which, rows_);
    e_.loop(e_.num(0), parts_, 1, {}, [&](Value* part, const Values&) {
      Value* begin = e_.b.CreateMul(part, part_rows_);
      Value* end = e_.smaller(e_.b.CreateAdd(begin, part_rows_), rows_);
      add_up(e_.b.CreateAdd(first, begin), e_.b.CreateAdd(first, end));
      vectors([&](Value* c, Value*) {
        for (size_t j = 0; j < reductions_; ++j)
          e_.store(combine(j, load_sum(total_at(j, c)), load_sum(sum_at(j, c))), total_at(j, c), 64);
      });
      return Values{};
    });
    store_results(e_.b.CreateMul(which, columns_));
  }

  // Rows [begin, end) of all into the sums.
  void add_up(Value* begin, Value* end) {
    vectors([&](Value* c, Value*) {
      for (size_t j = 0; j < reductions_; ++j) e_.store(identity(j), sum_at(j, c), 64);
    });
    Values phases;  // of each operand: its row
    for (size_t i = 0; i < operands_; ++i) phases.push_back(e_.b.CreateURem(begin, placed_[i].period));
    for (int64_t count : rows_at_once_) {
      Value* whole = e_.b.CreateSub(end, e_.b.CreateURem(e_.b.CreateSub(end, begin), e_.num(count)));
      phases =
          e_.loop(begin, whole, count, phases, [&](Value* row, const Values& at) { return add_rows(row, count, at); });
      begin = whole;
    }
  }

  // What holds for one row: where operands begin, and what is the same along it.
  struct Row {
    Values starts, known;            // by operand; known: null where it changes along the row
    std::vector<Values> invariants;  // by reduction
    Value* index = nullptr;          // of the block's first element
  };

  Row row_at(Value* row, Values& phases) {
    Row made{.starts = {}, .known = scalars_, .invariants = {}, .index = nullptr};
    for (size_t i = 0; i < operands_; ++i) {
      const Epilogue::Operand& operand = plan_.operands[i];
      Value* start = e_.at(placed_[i].base, e_.b.CreateMul(phases[i], placed_[i].row_bytes));
      if (operand.access == Access::row) made.known[i] = e_.load_broadcast(operand.dtype, start);
      made.starts.push_back(e_.at(start, e_.times(first_, size_bytes(operand.dtype))));
      Value* next = e_.b.CreateAdd(phases[i], e_.num(1));
      phases[i] = e_.b.CreateSelect(e_.b.CreateICmpEQ(next, placed_[i].period), e_.num(0), next);
    }
    for (const ColumnsPlan::Step& step : plan_.reductions)
      made.invariants.push_back(emit_invariants(e_, step.element, made.known));
    made.index = e_.b.CreateAdd(e_.b.CreateMul(row, columns_), first_);
    return made;
  }

  Values add_rows(Value* first, int64_t count, Values phases) {
    std::vector<Row> rows;
    for (int64_t r = 0; r < count; ++r) rows.push_back(row_at(e_.b.CreateAdd(first, e_.num(r)), phases));
    vectors([&](Value* c, Value* mask) {
      Values along(operands_, nullptr);  // what all rows read
      for (size_t i = 0; i < operands_; ++i)
        if (plan_.operands[i].access == Access::column) along[i] = load(i, rows[0], c, mask);
      std::vector<Values> elements(reductions_);  // of each reduction, by row
      for (const Row& row : rows) {
        Values args = row.known;
        for (size_t i = 0; i < operands_; ++i)
          if (!args[i]) args[i] = along[i] ? along[i] : load(i, row, c, mask);
        for (size_t j = 0; j < reductions_; ++j)
          elements[j].push_back(
              emit_program(e_, plan_.reductions[j].element, args, e_.b.CreateAdd(row.index, c), row.invariants[j])[0]);
      }
      for (size_t j = 0; j < reductions_; ++j) {
        Value* sum = load_sum(sum_at(j, c));
        for (int64_t tree = 0; tree < count; tree += kTreeRows) {
          Value** of = &elements[j][static_cast<size_t>(tree)];
          for (int64_t half = std::min(count, kTreeRows) / 2; half > 0; half /= 2)
            for (int64_t r = 0; r < half; ++r) of[r] = combine(j, of[r], of[r + half]);
          sum = combine(j, sum, of[0]);
        }
        e_.store(sum, sum_at(j, c), 64);
      }
    });
    return phases;
  }

  Value* load(size_t i, const Row& row, Value* c, Value* mask) {
    const DType dtype = plan_.operands[i].dtype;
    return e_.load_elements(dtype, e_.at(row.starts[i], e_.times(c, size_bytes(dtype))), mask);
  }

  // Where a part's reduction j lies, from the block's first column on.
  Value* part_at(Value* part, size_t j) {
    const int shared = plan_.task == Task::part ? static_cast<int>(operands_) : 0;
    Value* line = e_.b.CreateAdd(e_.times(part, static_cast<int64_t>(reductions_)), e_.num(static_cast<int64_t>(j)));
    Value* element = e_.b.CreateAdd(e_.b.CreateMul(line, columns_), first_);
    return e_.at(e_.pointer<&A::values>(frame_, shared), e_.times(element, 4));
  }

  void store_part(Value* part) {
    for (size_t j = 0; j < reductions_; ++j) {
      Value* to = part_at(part, j);
      vectors([&](Value* c, Value* mask) { e_.masked_store(load_sum(sum_at(j, c)), e_.at(to, e_.times(c, 4)), mask); });
    }
  }

  void store_results(Value* base) {
    vectors([&](Value* c, Value* mask) {
      Values values;
      for (size_t j = 0; j < reductions_; ++j) values.push_back(load_sum(total_at(j, c)));
      store_vector(values, e_.b.CreateAdd(e_.b.CreateAdd(base, first_), c), mask);
    });
  }

  void join() {
    vectors([&](Value* c, Value* mask) {
      Values values;
      Value* step = e_.times(columns_, static_cast<int64_t>(reductions_) * 4);
      for (size_t j = 0; j < reductions_; ++j) {
        const X86Emitter::Moving moving[] = {{e_.at(part_at(e_.num(0), j), e_.times(c, 4)), step}};
        values.push_back(e_.walk(parts_, moving, {identity(j)}, [&](const Values& at, const Values& sum) {
          return Values{combine(j, sum[0], e_.masked_load(e_.v_f32, at[0], mask))};
        })[0]);
      }
      store_vector(values, e_.b.CreateAdd(first_, c), mask);
    });
  }

  // Results at elements `at`, … from the values of the reductions.
  void store_vector(const Values& values, Value* at, Value* mask) {
    Values args{e_.splat(e_.b.CreateSIToFP(rows_, e_.f32))};
    args.insert(args.end(), values.begin(), values.end());
    args.resize(std::max(args.size(), plan_.program.args.size()));
    const Values results = emit_program(e_, plan_.program, args, nullptr);
    const int before = plan_.task == Task::join ? 1 : static_cast<int>(operands_);
    for (size_t j = 0; j < results.size(); ++j) {
      const DType dtype = plan_.results[j];
      Value* to = e_.at(e_.pointer<&A::values>(frame_, before + static_cast<int>(j)), e_.times(at, size_bytes(dtype)));
      e_.store_elements(results[j], dtype, to, mask);
    }
  }

  X86Emitter& e_;
  const ColumnsPlan& plan_;
  const size_t operands_, reductions_;
  const std::vector<int64_t> rows_at_once_;
  KernelFrame frame_{};
  Value *rows_ = nullptr, *columns_ = nullptr, *part_rows_ = nullptr, *parts_ = nullptr;
  std::vector<Operand> placed_;
  Value *first_ = nullptr, *width_ = nullptr;  // of the block of columns
  Values scalars_;                             // operands of one element
};

void emit(X86Emitter& e, const ColumnsPlan& plan, const std::string& symbol, int) {
  ColumnsEmitter(e, plan).run(symbol);
}

Support supports(const ColumnsPlan& plan, const X86Target&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + 1 > A().values.size() || 2 * operands > A().operands.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const Epilogue::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const ColumnsPlan::Step& step : plan.reductions)
    if (step.element.result_type(0) != Scalar::f32) return {"a reduction of other elements than f32"};
  CHECK(plan.task == Task::part || plan.program.results.size() == plan.results.size());
  return {};
}

Launch launch(const ColumnsPlan& plan, const X86Target& target, ColumnsArgs& args) {
  const int64_t rows = args.rows, columns = args.columns, blocks = ceil_div(columns, kColumnsAtOnce);
  args.part_rows = rows_of_part(rows, columns), args.parts = ceil_div(rows, args.part_rows);
  const int64_t each = plan.task == Task::join ? args.parts : plan.task == Task::part ? args.part_rows : rows;
  double ns = 0;  // an element
  for (const ColumnsPlan::Step& step : plan.reductions) ns += element_ns(step.element, 1, target);
  ns *= static_cast<double>(each * std::min(columns, kColumnsAtOnce));
  return {.items = blocks * (plan.task == Task::join   ? 1
                             : plan.task == Task::part ? args.parts
                                                       : args.matrices),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 20))),
          .scratch_bytes = 2 * std::ssize(plan.reductions) * kColumnsAtOnce * 4};
}

std::string describe(const ColumnsPlan& plan, const X86Target&) {
  constexpr const char* kTasks[] = {"all rows", "parts of the rows", "parts together"};
  const size_t count = plan.reductions.size();
  return fmt::format("{} reduction{} of columns, {}", count, count == 1 ? "" : "s",
                     kTasks[static_cast<size_t>(plan.task)]);
}

constexpr X86KernelClass<ColumnsPlan, ColumnsArgs> kColumns{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef columns_on_x86_def = x86_kernel<kColumns>();

}  // namespace hone
