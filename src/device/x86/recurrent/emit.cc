// Recurrent kernels (kernels/recurrent/shape.h): products from the tiles of gemm, then the cells' program, unit by unit
// in lanes and sequence by sequence.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "device/llvm/expr_emit.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/recurrent/shape.h"
#include "device/x86/strips.h"
#include "device/x86/tile.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

using A = X86RecurrentArgs;

class RecurrentEmitter {
 public:
  RecurrentEmitter(X86Emitter& e, const RecurrentPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), s_(recurrent_shape(plan, e.target, shrink)), symbol_(symbol) {}

  void run() {
    for (size_t p = 0; p < s_.phases.size(); ++p) emit_tiles(p);
    for (size_t d = 0; d < plan_.directions.size(); ++d) {
      const bool is_first_again = d > 0 && plan_.directions[d].phases == plan_.phases();
      cells_.push_back(is_first_again ? cells_[0] : emit_cells(d));
    }
    if (plan_.round_state) round_ = emit_round(symbol_ + "_round");
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    steps_ = e_.size<&A::steps>(frame_), batch_ = e_.size<&A::batch>(frame_);
    sequences_ = e_.size<&A::sequences>(frame_);
    int most = 0;
    for (const RecurrentShape::Phase& phase : s_.phases)
      most = std::max({most, phase.rows * phase.vectors(), phase.wide_panels * phase.vectors()});
    sums_ = e_.stack(e_.v_f32, most);
    Value* blocks = e_.b.CreateUDiv(e_.b.CreateAdd(batch_, e_.b.CreateSub(sequences_, e_.num(1))), sequences_);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      direction_ = e_.b.CreateUDiv(item, blocks);
      first_ = e_.b.CreateMul(e_.b.CreateURem(item, blocks), sequences_);
      rows_ = e_.smaller(sequences_, e_.b.CreateSub(batch_, first_));
      one_item();
      return Values{};
    });
    e_.end_function();
  }

 private:
  struct PhaseTiles {
    TilesByHeight by_height;                      // of one part of a panel
    Function *wide = nullptr, *single = nullptr;  // of one row, and several panels or one
  };
  // Of states that a step reads and makes.
  enum State : size_t { kH, kNextH, kC, kNextC };

  int64_t unit_bytes() const { return plan_.hidden * 4; }  // of a row outside
  int64_t gates_bytes() const { return plan_.gates() * unit_bytes(); }

  void emit_tiles(size_t p) {
    const RecurrentShape::Phase& phase = s_.phases[p];
    const auto tile = [&](int rows, int parts) {
      TileSpec spec;
      spec.rows = rows, spec.panel_vectors = phase.part_vectors, spec.vectors = parts * phase.part_vectors;
      spec.panel_bytes = phase.part_bytes;
      spec.k = plan_.hidden, spec.a_row_bytes = s_.row_bytes();
      spec.sums_row_bytes = int64_t{phase.vectors()} * e_.lanes * 4;
      return emit_tile(e_, fmt::format("{}_tile{}_{}x{}", symbol_, p, rows, parts), spec);
    };
    PhaseTiles tiles;
    for (int rows = 1; rows <= phase.rows; ++rows) tiles.by_height[rows] = tile(rows, 1);
    tiles.single = phase.parts() > 1 ? tile(1, phase.parts()) : tiles.by_height[1];
    tiles.wide = phase.wide_panels > 1 ? tile(1, phase.wide_panels * phase.parts()) : tiles.single;
    tiles_.push_back(std::move(tiles));
  }

  // For each phase a function
  //   void(sums, x, bias, peepholes, h, c, kept, to, to_second, left)
  // of one sequence's units of a panel, `left` of which there are: pointers to the panel's first unit.
  std::vector<Function*> emit_cells(size_t d) {
    std::vector<Function*> cells;
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.ptr, e_.i64};
      Function* f = e_.begin_function(fmt::format("{}_cells{}_{}", symbol_, d, p), e_.b.getVoidTy(), params, false);
      allow_spills(f);
      for (int v = 0; v < s_.phases[p].unit_vectors; ++v)
        emit_vector(f, s_.phases[p], plan_.directions[d].phases[p].program, v);
      e_.end_function();
      cells.push_back(f);
    }
    return cells;
  }

  void emit_vector(Function* f, const RecurrentShape::Phase& phase, const Program& program, int v) {
    enum Argument : unsigned { kSums, kInputs, kBiases, kPeeps, kOldH, kOldC, kKept, kTo, kToSecond, kLeft };
    const int64_t offset = int64_t{v} * e_.lanes * 4;
    const bool whole = plan_.hidden % (int64_t{phase.unit_vectors} * e_.lanes) == 0;
    Value* mask = whole ? nullptr : e_.tail_mask(e_.b.CreateSub(f->getArg(kLeft), e_.num(int64_t{v} * e_.lanes)));
    const auto outside = [&](unsigned from, int64_t row) {
      return e_.masked_load(e_.v_f32, e_.at(f->getArg(from), row * unit_bytes() + offset), mask);
    };
    const auto state = [&](unsigned from) { return e_.load(e_.v_f32, e_.at(f->getArg(from), offset), 4); };
    const auto argument = [&](int position) -> Value* {
      if (position == kRecurrentH) return state(kOldH);
      if (position == kRecurrentC) return state(kOldC);
      if (position == kRecurrentKept) return state(kKept);
      if (position >= kRecurrentPeephole) return outside(kPeeps, position - kRecurrentPeephole);
      if (position >= kRecurrentBias) return outside(kBiases, position - kRecurrentBias);
      if (position >= kRecurrentInput) return outside(kInputs, position - kRecurrentInput);
      const int64_t gate = position - kRecurrentProduct - phase.first_gate;
      return e_.load(e_.v_f32, e_.at(f->getArg(kSums), gate * phase.unit_vectors * e_.lanes * 4 + offset), 4);
    };
    Values args(program.args.size(), nullptr);
    for (size_t i = 0; i < args.size(); ++i)
      if (reads_argument(program, static_cast<int>(i))) args[i] = argument(static_cast<int>(i));
    const Values results = emit_program(e_, program, args, nullptr);
    for (size_t i = 0; i < results.size(); ++i)
      e_.store(results[i], e_.at(f->getArg(kTo + static_cast<unsigned>(i)), offset), 4);
  }

  // void(h, to): in 256 steps from min(h, 0) to max(h, 0), in f64 as the reference.
  Function* emit_round(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const auto smaller = [&](Value* a, Value* b) { return e_.b.CreateSelect(e_.b.CreateFCmpOLT(b, a), b, a); };
    const auto larger = [&](Value* a, Value* b) { return e_.b.CreateSelect(e_.b.CreateFCmpOLT(a, b), b, a); };
    Values extremes{e_.c_f32(0), e_.c_f32(0)};
    extremes = each_vector(extremes, [&](Value* offset, Value* mask, const Values& now) {
      Value* h = e_.masked_load(e_.v_f32, e_.at(f->getArg(0), offset), mask);
      return Values{smaller(now[0], h), larger(now[1], h)};
    });
    Value *low = wide(e_.reduce(extremes[0], smaller)), *high = wide(e_.reduce(extremes[1], larger));
    const auto number = [&](double value) { return llvm::ConstantFP::get(e_.f64, value); };
    const auto splat = [&](Value* value) { return e_.splat(value); };
    const auto rounded = [&](Value* x) { return e_.b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x); };
    const auto clamped = [&](Value* x, Value* least, Value* most) { return smaller(larger(x, least), most); };
    Value* size = wide(e_.b.CreateFPTrunc(e_.b.CreateFDiv(e_.b.CreateFSub(high, low), number(255)), e_.f32));
    Value* zero = clamped(rounded(e_.b.CreateFDiv(e_.b.CreateFNeg(low), size)), number(0), number(255));
    Value* is_flat = splat(e_.b.CreateFCmpOEQ(low, high));
    each_vector({}, [&](Value* offset, Value* mask, const Values&) {
      Value *h = e_.masked_load(e_.v_f32, e_.at(f->getArg(0), offset), mask), *steps = wide(h);
      steps = e_.b.CreateFAdd(rounded(e_.b.CreateFDiv(steps, splat(size))), splat(zero));
      steps = e_.b.CreateFSub(clamped(steps, splat(number(0)), splat(number(255))), splat(zero));
      Value* near = e_.b.CreateFPTrunc(e_.b.CreateFMul(steps, splat(size)), e_.v_f32);
      e_.masked_store(e_.b.CreateSelect(is_flat, h, near), e_.at(f->getArg(1), offset), mask);
      return Values{};
    });
    e_.end_function();
    return f;
  }
  Value* wide(Value* x) { return e_.b.CreateFPExt(x, x->getType()->getWithNewType(e_.f64)); }
  // body(bytes, mask, carried) for each vector of units.
  template <class Body>
  Values each_vector(Values carried, Body body) {
    const int64_t vector = int64_t{e_.lanes} * 4, whole = unit_bytes() / vector * vector;
    carried = e_.loop(e_.num(0), e_.num(whole), vector, carried,
                      [&](Value* offset, const Values& now) { return body(offset, nullptr, now); });
    if (whole == unit_bytes()) return carried;
    return body(e_.num(whole), e_.tail_mask(e_.num((unit_bytes() - whole) / 4)), carried);
  }

  // What differs by direction.
  Value* by_direction(Value* first, Value* second) {
    return plan_.directions.size() == 1 || first == second
               ? first
               : e_.b.CreateSelect(e_.b.CreateICmpEQ(direction_, e_.num(0)), first, second);
  }
  Value* is_reverse() {
    const auto flag = [&](bool value) { return e_.b.getInt1(value); };
    return by_direction(flag(plan_.directions[0].reverse), flag(plan_.directions.back().reverse));
  }
  // A pointer that may be null, `bytes` further for each direction.
  Value* of_direction(int pointer, int64_t bytes) {
    return e_.at(e_.kernel_pointer(frame_, pointer), e_.times(direction_, bytes));
  }
  Value* is_given(int pointer) {
    return e_.b.CreateICmpNE(e_.kernel_pointer(frame_, pointer), llvm::ConstantPointerNull::get(e_.b.getPtrTy()));
  }
  // The row of sequence `row` of the item, of a matrix [D,B,H].
  Value* last_row(int pointer, Value* row) {
    Value* number = e_.b.CreateAdd(e_.b.CreateMul(direction_, batch_), e_.b.CreateAdd(first_, row));
    return e_.at(e_.kernel_pointer(frame_, pointer), e_.times(number, unit_bytes()));
  }
  Value* state_row(Value* state, Value* row) { return e_.at(state, e_.times(row, s_.row_bytes())); }
  Value* table_at(Value* row) { return e_.at(frame_.scratch, e_.times(row, 8)); }

  template <class Body>
  void each_row(Body body) {
    e_.loop(e_.num(0), rows_, 1, {}, [&](Value* row, const Values&) {
      body(row);
      return Values{};
    });
  }

  // How many steps the sequence has.
  Value* length(Value* row) {
    if (!plan_.has_lengths) return steps_;
    llvm::Type* type = e_.memory_type(plan_.lengths);
    Value* place = e_.times(e_.b.CreateAdd(first_, row), size_bytes(plan_.lengths));
    return e_.b.CreateSExt(e_.load(type, e_.at(e_.pointer<&A::lengths>(frame_), place)), e_.i64);
  }
  // Where in time step i of a sequence lies; behind its end, i.
  Value* time_of(Value* i, Value* length) {
    Value* from_end = e_.b.CreateSub(e_.b.CreateSub(length, e_.num(1)), i);
    return e_.b.CreateSelect(e_.b.CreateAnd(is_reverse(), e_.b.CreateICmpSLT(i, length)), from_end, i);
  }

  void one_item() {
    Value* table = e_.b.CreateAnd(e_.b.CreateAdd(e_.times(sequences_, 8), e_.num(63)), e_.num(-64));
    Value *states = e_.at(frame_.scratch, table), *bytes = e_.times(sequences_, s_.row_bytes());
    const auto matrix = [&](int64_t number) { return e_.at(states, e_.times(bytes, number)); };
    Values carried{matrix(0), matrix(1)};
    if (plan_.has_cell) carried.insert(carried.end(), {matrix(2), matrix(3)});
    const int of_steps = plan_.has_cell ? 4 : 2;
    if (s_.states > of_steps) source_ = matrix(of_steps), kept_ = matrix(of_steps + 1);
    begin_state(place_of<&A::initial_h>, carried[kH]);
    if (plan_.has_cell) begin_state(place_of<&A::initial_c>, carried[kC]);
    carried = e_.loop(e_.num(0), steps_, 1, carried, [&](Value* i, const Values& now) {
      one_step(i, now);
      Values next = now;
      for (size_t state = 0; state < next.size(); state += 2) std::swap(next[state], next[state + 1]);
      return next;
    });
    end_state(place_of<&A::last_h>, carried[kH]);
    if (plan_.has_cell) end_state(place_of<&A::last_c>, carried[kC]);
  }

  void begin_state(int pointer, Value* state) {
    each_row([&](Value* row) { emit_zero(e_, state_row(state, row), s_.row_bytes()); });
    e_.when(is_given(pointer), [&] {
      each_row([&](Value* row) { emit_copy(e_, last_row(pointer, row), state_row(state, row), unit_bytes()); });
    });
  }
  void end_state(int pointer, Value* state) {
    e_.when(is_given(pointer), [&] {
      each_row([&](Value* row) { emit_copy(e_, state_row(state, row), last_row(pointer, row), unit_bytes()); });
    });
  }

  void one_step(Value* i, const Values& now) {
    Value* x = of_direction(place_of<&A::x>, gates_bytes());
    const int64_t row_bytes = std::ssize(plan_.directions) * gates_bytes();
    each_row([&](Value* row) {
      Value* number = e_.b.CreateMul(time_of(i, length(row)), batch_);
      number = e_.b.CreateAdd(number, e_.b.CreateAdd(first_, row));
      e_.store(e_.at(x, e_.times(number, row_bytes)), table_at(row), 8);
    });
    if (round_)
      each_row([&](Value* row) { e_.b.CreateCall(round_, {state_row(now[kH], row), state_row(source_, row)}); });
    Value* is_odd = e_.b.CreateTrunc(i, e_.b.getInt1Ty());
    for (size_t p = 0; p < s_.phases.size(); ++p) multiply(p, is_odd, now);
    each_row([&](Value* row) { finish(i, row, now); });
  }

  // All products of a phase, and what the program makes of them. Every other step goes over the panels from the last to
  // the first, which it finds in the second-level cache as the step before left them.
  void multiply(size_t p, Value* is_odd, const Values& now) {
    const RecurrentShape::Phase& phase = s_.phases[p];
    const PhaseTiles& tiles = tiles_[p];
    Value* panels = e_.at(e_.pointer<&A::r>(frame_),
                          e_.b.CreateAdd(e_.times(direction_, s_.direction_bytes), e_.num(phase.offset)));
    Value* source = p > 0 || round_ ? source_ : now[kH];
    const auto call_tile = [&](Value* tile, Value* row, Value* panel, int64_t part = 0) {
      Value* const operands[] = {
          state_row(source, row),
          e_.at(panels, e_.b.CreateAdd(e_.times(panel, phase.panel_bytes), e_.num(part * phase.part_bytes))),
          llvm::ConstantPointerNull::get(e_.b.getPtrTy()),
          e_.at(sums_, part * phase.part_vectors * e_.lanes * 4),
          e_.num(s_.row_bytes()),
          e_.num(plan_.hidden)};
      e_.b.CreateCall(tiles.single->getFunctionType(), tile, operands);
    };
    const int64_t sums_bytes = int64_t{phase.vectors()} * e_.lanes * 4;
    Value* is_alone = e_.b.CreateICmpEQ(rows_, e_.num(1));
    const auto in_turn = [&](Value* number, int64_t count) {
      return e_.b.CreateSelect(is_odd, e_.b.CreateSub(e_.num(count - 1), number), number);
    };
    e_.when(is_alone, [&] {
      const int64_t groups = phase.panels / phase.wide_panels, whole = groups * phase.wide_panels;
      e_.loop(e_.num(0), e_.num(groups), 1, {}, [&](Value* number, const Values&) {
        Value* panel = e_.times(in_turn(number, groups), phase.wide_panels);
        call_tile(tiles.wide, e_.num(0), panel);
        for (int64_t w = 0; w < phase.wide_panels; ++w)
          call_cells(p, e_.at(sums_, w * sums_bytes), e_.num(0), e_.b.CreateAdd(panel, e_.num(w)), now);
        return Values{};
      });
      e_.loop(e_.num(whole), e_.num(phase.panels), 1, {}, [&](Value* panel, const Values&) {
        call_tile(tiles.single, e_.num(0), panel);
        call_cells(p, sums_, e_.num(0), panel, now);
        return Values{};
      });
    });
    e_.when(e_.b.CreateNot(is_alone), [&] {
      const TileStrips strips = cut_into_strips(e_, rows_, phase.rows, tiles.by_height);
      e_.loop(e_.num(0), e_.num(phase.panels), 1, {}, [&](Value* number, const Values&) {
        Value* panel = in_turn(number, phase.panels);
        for_each_strip(e_, strips, [&](Value* tile, Value* height, Value* first) {
          for (int64_t part = 0; part < phase.parts(); ++part) call_tile(tile, first, panel, part);
          e_.loop(e_.num(0), height, 1, {}, [&](Value* row, const Values&) {
            call_cells(p, e_.at(sums_, e_.times(row, sums_bytes)), e_.b.CreateAdd(first, row), panel, now);
            return Values{};
          });
        });
        return Values{};
      });
    });
  }

  void call_cells(size_t p, Value* sums, Value* row, Value* panel, const Values& now) {
    Value* unit = e_.times(panel, int64_t{s_.phases[p].unit_vectors} * e_.lanes);
    Value *offset = e_.times(unit, 4), *none = llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    const auto at_unit = [&](Value* rows) { return e_.at(rows, offset); };
    const auto of_state = [&](Value* state) { return state ? at_unit(state_row(state, row)) : none; };
    const bool is_last = p + 1 == s_.phases.size();
    Value* const operands[] = {sums,
                               at_unit(e_.load(e_.ptr, table_at(row), 8)),
                               at_unit(of_direction(place_of<&A::bias>, gates_bytes())),
                               at_unit(of_direction(place_of<&A::peepholes>, 3 * unit_bytes())),
                               of_state(now[kH]),
                               of_state(plan_.has_cell ? now[kC] : nullptr),
                               of_state(kept_),
                               of_state(is_last ? now[kNextH] : source_),
                               of_state(!is_last         ? kept_
                                        : plan_.has_cell ? now[kNextC]
                                                         : nullptr),
                               e_.b.CreateSub(e_.num(plan_.hidden), unit)};
    e_.b.CreateCall(cells_[0][p]->getFunctionType(), by_direction(cells_[0][p], cells_.back()[p]), operands);
  }

  // y of the step; a sequence that has ended keeps its state.
  void finish(Value* i, Value* row, const Values& now) {
    Value *steps = length(row), *runs = e_.b.CreateICmpSLT(i, steps);
    Value* number = e_.b.CreateAdd(e_.times(time_of(i, steps), std::ssize(plan_.directions)), direction_);
    number = e_.b.CreateAdd(e_.b.CreateMul(number, batch_), e_.b.CreateAdd(first_, row));
    Value *y = e_.at(e_.pointer<&A::y>(frame_), e_.times(number, unit_bytes())), *is_read = is_given(place_of<&A::y>);
    e_.when(e_.b.CreateAnd(is_read, runs), [&] { emit_copy(e_, state_row(now[kNextH], row), y, unit_bytes()); });
    if (!plan_.has_lengths) return;
    e_.when(e_.b.CreateNot(runs), [&] {
      e_.when(is_read, [&] { emit_zero(e_, y, unit_bytes()); });
      for (size_t state = 0; state < now.size(); state += 2)
        emit_copy(e_, state_row(now[state], row), state_row(now[state + 1], row), s_.row_bytes());
    });
  }

  X86Emitter& e_;
  const RecurrentPlan& plan_;
  const RecurrentShape s_;
  const std::string symbol_;
  std::vector<PhaseTiles> tiles_;              // by phase
  std::vector<std::vector<Function*>> cells_;  // by direction and phase
  Function* round_ = nullptr;
  KernelFrame frame_{};
  Value *steps_ = nullptr, *batch_ = nullptr, *sequences_ = nullptr, *sums_ = nullptr;
  Value *direction_ = nullptr, *first_ = nullptr, *rows_ = nullptr;  // of an item
  Value *source_ = nullptr, *kept_ = nullptr;                        // between phases
};

}  // namespace

void emit_recurrent(X86Emitter& e, const RecurrentPlan& plan, const std::string& symbol, int shrink) {
  RecurrentEmitter(e, plan, symbol, shrink).run();
}

}  // namespace hone
