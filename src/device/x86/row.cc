// Row kernels: reductions along each row, then results.
//
// A row is walked once for every group of reductions that do not need each other (layer_norm: sum, then sum of squares;
// softmax: max, then sum of exp) and once more for the results; it stays in the first-level cache meanwhile. Each
// reduction runs in `unroll` vector accumulators: vector v of the row goes to accumulator v mod unroll, the rest behind
// the last full round to the first ones, and a fixed tree joins them. So the order of additions depends on the length
// of the row only. Sums of columns lie in scratch, and take in the elements of a row where its results are written.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/multiples.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "device/x86/element_cost.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/columns/plan.h"
#include "kernels/elements.h"
#include "kernels/program_uses.h"
#include "kernels/row/plan.h"

namespace hone {
namespace {

using llvm::Value;

Reduction::Kind kind_of(const RowPlan::Step& step) { return static_cast<Reduction::Kind>(step.kind); }

class RowEmitter {
 public:
  RowEmitter(X86Emitter& e, const RowPlan& plan)
      : e_(e), plan_(plan), operands_(plan.operands.size()), reductions_(plan.reductions.size()) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    for (size_t i = 0; i < operands_ + plan_.results.size(); ++i)
      pointers_.push_back(e_.pointer<&A::values>(frame_, static_cast<int>(i)));
    length_ = e_.size<&A::length>(frame_);
    full_ = e_.b.CreateAnd(length_, e_.num(-e_.lanes));
    args_.assign(operands_ + 1 + 2 * reductions_, nullptr);
    args_[operands_] = e_.splat(e_.b.CreateSIToFP(length_, e_.f32));
    place_kept();
    for (size_t i = 0; i < operands_; ++i) {
      Value* period = stride_at(plan_.period_at(i));
      // Without a period the counter runs to the largest integer and never wraps.
      periods_.push_back(e_.b.CreateSelect(e_.b.CreateICmpSGT(period, e_.num(0)), period,
                                           e_.num(std::numeric_limits<int64_t>::max())));
    }
    if (plan_.sums.empty()) {
      run_rows(frame_.begin, frame_.end);
    } else {
      Value *each = stride_at(plan_.part_rows_at()), *rows = e_.size<&A::rows>(frame_);
      e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* part, const Values&) {
        start_sums();
        Value* first = e_.b.CreateMul(part, each);
        run_rows(first, e_.smaller(e_.b.CreateAdd(first, each), rows));
        store_sums(part);
        return Values{};
      });
    }
    e_.end_function();
  }

 private:
  using A = RowArgs;
  Value* stride_at(size_t i) { return e_.size<&A::strides>(frame_, static_cast<int>(i)); }
  void run_rows(Value* begin, Value* end) {
    Values phase;  // of each operand: its row
    for (Value* period : periods_) phase.push_back(e_.b.CreateURem(begin, period));
    e_.loop(begin, end, 1, phase, [&](Value* row, const Values& phases) {
      run_row(row, phases);
      Values next;
      for (size_t i = 0; i < operands_; ++i) {
        Value* stepped = e_.b.CreateAdd(phases[i], e_.num(1));
        next.push_back(e_.b.CreateSelect(e_.b.CreateICmpEQ(stepped, periods_[i]), e_.num(0), stepped));
      }
      return next;
    });
  }

  // The elements that reductions keep lie in scratch, one reduction's behind the other's, each with room for a multiple
  // of 64.
  void place_kept() {
    Value* place = frame_.scratch;
    Value* room = e_.b.CreateAnd(e_.b.CreateAdd(length_, e_.num(63)), e_.num(-64));
    for (size_t j = 0; j < reductions_; ++j) {
      kept_.push_back(plan_.reductions[j].keep ? place : nullptr);
      if (plan_.reductions[j].keep) place = e_.at(place, e_.times(room, kept_element_bytes(plan_, j)));
    }
    for (size_t j = 0; j < plan_.sums.size(); ++j, place = e_.at(place, e_.times(room, 4))) sums_.push_back(place);
  }

  Reduction::Kind kind_of_sum(size_t j) const { return static_cast<Reduction::Kind>(plan_.sums[j]); }
  Value* sum_at(size_t j, Value* i) { return e_.at(sums_[j], e_.times(i, 4)); }
  void start_sums() {
    e_.loop(e_.num(0), length_, e_.lanes, {}, [&](Value* i, const Values&) {
      for (size_t j = 0; j < sums_.size(); ++j)
        e_.store(reduction_identity(e_, kind_of_sum(j), Scalar::f32), sum_at(j, i), 64);
      return Values{};
    });
  }
  void add_to_sum(size_t j, Value* i, Value* element) {
    Value* sum = e_.load(e_.v_f32, sum_at(j, i), 64);
    e_.store(emit_reduction(e_, kind_of_sum(j), Scalar::f32, sum, element), sum_at(j, i), 64);
  }
  void store_sums(Value* part) {
    Value* parts = e_.pointer<&A::values>(frame_, static_cast<int>(operands_ + plan_.results.size()));
    for (size_t j = 0; j < sums_.size(); ++j) {
      Value* line = e_.b.CreateAdd(e_.times(part, static_cast<int64_t>(sums_.size())), e_.num(static_cast<int64_t>(j)));
      Value* to = e_.at(parts, e_.times(e_.b.CreateMul(line, length_), 4));
      vectors([&](Value* i, Value* mask) {
        e_.masked_store(e_.load(e_.v_f32, sum_at(j, i), 64), e_.at(to, e_.times(i, 4)), mask);
      });
    }
  }

  // Calls body(element, mask) for the vectors of a row.
  template <class Body>
  void vectors(Body body) {
    e_.loop(e_.num(0), full_, e_.lanes, {}, [&](Value* i, const Values&) {
      body(i, nullptr);
      return Values{};
    });
    e_.when(e_.b.CreateICmpSLT(full_, length_), [&] { body(full_, e_.tail_mask(e_.b.CreateSub(length_, full_))); });
  }

  void run_row(Value* row, const Values& phases) {
    row_starts_.clear();
    first_ = e_.b.CreateMul(row, length_);
    for (size_t i = 0; i < operands_; ++i) {
      const RowPlan::Operand& operand = plan_.operands[i];
      Value* stride = e_.times(stride_at(i), size_bytes(operand.dtype));
      row_starts_.push_back(e_.at(pointers_[i], e_.b.CreateMul(phases[i], stride)));
      if (operand.row_scalar) args_[i] = e_.load_broadcast(operand.dtype, row_starts_[i]);
    }
    for (size_t first = 0; first < reductions_;) {
      const size_t last = end_of_pass(first);
      reduce_pass(first, last);
      first = last;
    }
    write_vectors(row);
    write_scalars(row);
  }

  // Reductions [first, end) read nothing that one of them makes.
  size_t end_of_pass(size_t first) const {
    size_t end = first + 1;
    for (; end < reductions_; ++end)
      for (size_t j = first; j < end; ++j)
        for (size_t made : {operands_ + 1 + j, operands_ + 1 + reductions_ + j})
          if (reads_argument(plan_.reductions[end].element, static_cast<int>(made))) return end;
    return end;
  }

  // Cheap elements need more chains to hide the latency of the accumulation; dear ones would only bloat the code.
  int64_t unroll(size_t first, size_t last) const {
    double ns = 0;
    for (size_t j = first; j < last; ++j) ns += element_ns(plan_.reductions[j].element, 0, e_.target) * e_.lanes;
    return ns < 2.5 ? 4 : 2;
  }

  void reduce_pass(size_t first, size_t last) {
    const int64_t rounds = unroll(first, last);
    const size_t count = last - first;
    Values acc;  // round-major
    for (int64_t u = 0; u < rounds; ++u)
      for (size_t j = first; j < last; ++j) acc.push_back(identity(j));
    std::vector<Values> known;
    for (size_t j = first; j < last; ++j) known.push_back(emit_invariants(e_, plan_.reductions[j].element, args_));
    auto add_vector = [&](Value* i, Value* mask, Values& into, size_t slot) {
      for (size_t j = first; j < last; ++j) {
        Value* element = evaluate(plan_.reductions[j].element, known[j - first], i, mask)[0];
        if (kept_[j]) e_.store(stored(element), kept_at(j, i));
        if (mask) element = e_.b.CreateSelect(mask, element, identity(j));
        Value*& sum = into[slot * count + j - first];
        sum = combine(j, sum, element);
      }
    };
    Value* whole = e_.b.CreateSub(length_, e_.b.CreateSRem(length_, e_.num(rounds * e_.lanes)));
    acc = e_.loop(e_.num(0), whole, rounds * e_.lanes, acc, [&](Value* i, Values sums) {
      for (int64_t u = 0; u < rounds; ++u)
        add_vector(e_.b.CreateAdd(i, e_.num(u * e_.lanes)), nullptr, sums, static_cast<size_t>(u));
      return sums;
    });
    acc = e_.loop(whole, length_, e_.lanes, acc, [&](Value* i, Values sums) {
      add_vector(i, e_.tail_mask(e_.b.CreateSub(length_, i)), sums, 0);
      return sums;
    });
    for (size_t j = first; j < last; ++j) {
      for (size_t half = static_cast<size_t>(rounds) / 2; half > 0; half /= 2)
        for (size_t u = 0; u < half; ++u)
          acc[u * count + j - first] = combine(j, acc[u * count + j - first], acc[(u + half) * count + j - first]);
      Value* total = e_.reduce(acc[j - first], [&](Value* x, Value* y) { return combine(j, x, y); });
      args_[operands_ + 1 + j] = e_.splat(total);
    }
  }

  Scalar element_type(size_t j) const { return plan_.reductions[j].element.result_type(0); }

  Value* identity(size_t j) { return reduction_identity(e_, kind_of(plan_.reductions[j]), element_type(j)); }
  Value* combine(size_t j, Value* x, Value* y) {
    return emit_reduction(e_, kind_of(plan_.reductions[j]), element_type(j), x, y);
  }

  Value* kept_at(size_t j, Value* i) { return e_.at(kept_[j], e_.times(i, kept_element_bytes(plan_, j))); }
  Value* stored(Value* element) {
    return element->getType()->getScalarType()->isIntegerTy(1) ? e_.narrow(DType::boolean, element) : element;
  }

  // The program at elements i .. i+lanes-1 of the row; `known` from emit_invariants().
  Values evaluate(const Program& program, const Values& known, Value* i, Value* mask) {
    Values args = args_;
    for (size_t k = 0; k < operands_; ++k)
      if (!plan_.operands[k].row_scalar && reads_argument(program, static_cast<int>(k)))
        args[k] = e_.load_elements(plan_.operands[k].dtype,
                                   e_.at(row_starts_[k], e_.times(i, size_bytes(plan_.operands[k].dtype))), mask);
    for (size_t j = 0; j < reductions_; ++j) {
      const size_t position = operands_ + 1 + reductions_ + j;
      if (!kept_[j] || !reads_argument(program, static_cast<int>(position))) continue;
      if (element_type(j) == Scalar::boolean) args[position] = e_.load_elements(DType::boolean, kept_at(j, i));
      else args[position] = e_.load(e_.vec(e_.scalar_type(element_type(j))), kept_at(j, i));
    }
    return emit_program(e_, program, args, e_.b.CreateAdd(first_, i), known);
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

  // Of a row of a result, among its elements.
  Value* first_of(size_t result, Value* row) {
    if (!is_apart(plan_.lies[result])) return first_;
    return e_.b.CreateMul(row, stride_at(plan_.result_at(result)));
  }

  void write_vectors(Value* row) {
    const Program program = part(false);
    if (program.results.empty()) return;
    const Values known = emit_invariants(e_, program, args_);
    vectors([&](Value* i, Value* mask) {
      const Values results = evaluate(program, known, i, mask);
      size_t next = 0;
      for (size_t j = 0; j < plan_.results.size(); ++j) {
        if (is_scalar(plan_.lies[j])) continue;
        Value* at = e_.at(pointers_[operands_ + j],
                          e_.times(e_.b.CreateAdd(first_of(j, row), i), size_bytes(plan_.results[j])));
        e_.store_elements(results[next++], plan_.results[j], at, mask);
      }
      for (size_t j = 0; j < sums_.size(); ++j) add_to_sum(j, i, results[next++]);
    });
  }

  void write_scalars(Value* row) {
    const Program program = part(true);
    if (program.results.empty()) return;
    const Values results = evaluate(program, {}, e_.num(0), e_.tail_mask(e_.num(1)));
    size_t next = 0;
    for (size_t j = 0; j < plan_.results.size(); ++j) {
      if (!is_scalar(plan_.lies[j])) continue;
      Value* value = e_.narrow(plan_.results[j], results[next++]);
      e_.store(e_.b.CreateExtractElement(value, uint64_t{0}),
               e_.at(pointers_[operands_ + j],
                     e_.times(is_apart(plan_.lies[j]) ? first_of(j, row) : row, size_bytes(plan_.results[j]))));
    }
  }

  X86Emitter& e_;
  const RowPlan& plan_;
  const size_t operands_, reductions_;
  KernelFrame frame_{};
  Values pointers_, periods_, row_starts_, args_, kept_, sums_;
  Value *length_ = nullptr, *full_ = nullptr;
  Value* first_ = nullptr;  // of the row, among the elements of all
};

void emit(X86Emitter& e, const RowPlan& plan, const std::string& symbol, int) { RowEmitter(e, plan).run(symbol); }

Support supports(const RowPlan& plan, const X86Target&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + !plan.sums.empty() > RowArgs().values.size() ||
      plan.result_at(plan.results.size()) > RowArgs().strides.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const RowPlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const RowPlan::Step& step : plan.reductions)
    if (step.element.result_type(0) == Scalar::boolean) return {"a reduction of booleans"};
  CHECK(plan.program.results.size() == plan.results.size() + plan.sums.size() &&
        plan.lies.size() == plan.results.size());
  return {};
}

Launch launch(const RowPlan& plan, const X86Target& target, RowArgs& args) {
  const int64_t rows = args.rows, length = args.length;
  Launch call{.items = rows};
  double ns = element_ns(plan.program, static_cast<int>(plan.results.size() + 2 * plan.sums.size()), target);
  for (size_t j = 0; j < plan.reductions.size(); ++j) {
    ns += element_ns(plan.reductions[j].element, 1, target);
    if (plan.reductions[j].keep) call.scratch_bytes += round_up(length, 64) * kept_element_bytes(plan, j);
  }
  ns = ns * static_cast<double>(length) + 10;  // of an item
  if (!plan.sums.empty()) {
    const int64_t each = args.strides[plan.part_rows_at()] = rows_of_part(rows, length);
    call.items = ceil_div(rows, each);
    call.scratch_bytes += round_up(length, 64) * 4 * std::ssize(plan.sums);
    ns *= static_cast<double>(each);
  }
  call.items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / ns));
  return call;
}

std::string describe(const RowPlan& plan, const X86Target&) {
  const auto kept = std::ranges::count_if(plan.reductions, &RowPlan::Step::keep);
  const size_t sums = plan.sums.size();
  return fmt::format("{} pass{} over each row{}{}", plan.reductions.size() + 1, plan.reductions.empty() ? "" : "es",
                     kept ? ", elements kept between" : "",
                     sums ? fmt::format(", {} reduction{} of columns", sums, sums == 1 ? "" : "s") : "");
}

constexpr X86KernelClass<RowPlan, RowArgs> kRow{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef row_on_x86_def = x86_kernel<kRow>();

}  // namespace hone
