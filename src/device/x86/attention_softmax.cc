#include "device/x86/attention_softmax.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <limits>
#include <numbers>

#include "device/llvm/vector_math.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using Mask = AttentionPlan::Mask;

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// How scores are counted and where they are multiplied.
//
// A mask that is added counts as the scores do: in units of 1, since in units of ln 2 the lowest f32 would be -inf.
struct Scores {
  explicit Scores(const AttentionPlan& plan)
      : unit(plan.mask == Mask::added ? 1 : std::numbers::log2e),
        factor(plan.softcap != 0 ? double{plan.scale} / double{plan.softcap} : plan.scale * unit),
        waits(plan.softcap == 0 && plan.mask != Mask::added && plan.scale > 0) {}

  double unit;    // of scores
  double factor;  // of q·k
  bool waits;     // products are multiplied only where weights are made of them: their order is that of the scores
};

// A NaN score may be lost here, and comes back through its weight.
Value* larger(X86Emitter& e, Value* x, Value* y) { return e.b.CreateSelect(e.b.CreateFCmpOGT(x, y), x, y); }
Value* add(X86Emitter& e, Value* x, Value* y) { return e.b.CreateFAdd(x, y); }

// What a row subtracts from its scores; 0 where it has seen no key, so that -inf stays -inf.
Value* subtracted(X86Emitter& e, Value* largest) {
  return e.b.CreateSelect(e.b.CreateFCmpOEQ(largest, e.c_f32(kLowest)), e.c_f32(0), largest);
}

// A difference of scores as the power of 2 that a weight is.
Value* in_powers(X86Emitter& e, const Scores& scores, Value* difference) {
  return scores.unit == 1 ? e.b.CreateFMul(difference, e.c_f32(std::numbers::log2e)) : difference;
}

class Softmax {
 public:
  Softmax(X86Emitter& e, const AttentionPlan& plan, const AttentionShape& shape)
      : e_(e), plan_(plan), s_(shape), scores_(plan) {}

  Function* run(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64,
                                  e_.i64, e_.i64, e_.i64, e_.i64, e_.i64};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    allow_spills(f);
    scratch_ = f->getArg(0), state_ = f->getArg(1), mask_ = f->getArg(2);
    mask_head_ = f->getArg(3), mask_row_ = f->getArg(4);
    strip_ = {f->getArg(5), f->getArg(6)};
    rows_ = f->getArg(7), keys_ = f->getArg(8);
    find_largest(f->getArg(9), f->getArg(10));
    update_largest();
    Value* vectors = e_.b.CreateUDiv(e_.b.CreateAdd(keys_, e_.num(e_.lanes - 1)), e_.num(e_.lanes));
    e_.loop(
        e_.num(0), rows_, 1, {},
        [&](Value* r, const Values&) {
          make_weights(r, vectors);
          return Values{};
        },
        true);
    e_.end_function();
    return f;
  }

 private:
  Value* scores(Value* r) { return e_.at(e_.at(scratch_, s_.scores_offset), e_.times(r, s_.score_stride * 4)); }
  int alignment() const { return e_.lanes * 4; }
  bool stores() const { return plan_.mask != Mask::none || !scores_.waits; }

  // The largest scores of all rows, of which query 0 sees keys [from, to), and each other one key later.
  void find_largest(Value* from, Value* to) {
    if (!plan_.limited) return over_all_keys();
    Value* end = e_.b.CreateAdd(strip_.first, rows_);
    Value* last = e_.b.CreateSub(e_.smaller(end, strip_.per_head), e_.num(1));
    Value* first = e_.b.CreateSelect(e_.b.CreateICmpSLE(end, strip_.per_head), strip_.first, e_.num(0));
    Value* all = e_.b.CreateAnd(e_.b.CreateICmpSLE(e_.b.CreateAdd(from, last), e_.num(0)),
                                e_.b.CreateICmpSGE(e_.b.CreateAdd(to, first), keys_));
    e_.when(all, [&] { over_all_keys(); });
    e_.when(e_.b.CreateNot(all), [&] {
      e_.loop(e_.num(0), rows_, 1, {}, [&](Value* r, const Values&) {
        Value* query = strip_.query(e_, r);
        over_some_keys(r, e_.b.CreateAdd(from, query), e_.b.CreateAdd(to, query));
        return Values{};
      });
    });
  }

  // Rows side by side, since each has little to wait for. Rows behind the last take its mask.
  void over_all_keys() {
    Values masks;
    for (int r = 0; r < s_.rows; ++r)
      masks.push_back(plan_.mask == Mask::none ? nullptr
                                               : mask_of(e_.smaller(e_.num(r), e_.b.CreateSub(rows_, e_.num(1)))));
    const Values lowest(masks.size(), e_.c_f32(kLowest));
    const Values best = over_vectors(lowest, [&](Value* t, Value* lanes, Values now) {
      Value* place = e_.at(scores(e_.num(0)), e_.times(t, 4));  // and constants: more pointers would not fit registers
      for (size_t r = 0; r < now.size(); ++r, place = e_.at(place, s_.score_stride * 4))
        now[r] = larger(e_, now[r], score(place, masks[r], t, lanes, lanes));
      return now;
    });
    Value* largest = reduce_rows(best);
    if (scores_.waits) largest = e_.b.CreateFMul(largest, e_.c_f32(scores_.factor));
    e_.store(largest, e_.at(scratch_, s_.maxima_offset), alignment());
  }

  // The largest score of a row, of keys [from, to); the others become -inf.
  void over_some_keys(Value* r, Value* from, Value* to) {
    Value *row = scores(r), *mask = plan_.mask == Mask::none ? nullptr : mask_of(r);
    const Values best = over_vectors({e_.c_f32(kLowest)}, [&](Value* t, Value* lanes, const Values& now) {
      const auto number = [&](Value* key) {
        return e_.splat(e_.b.CreateTrunc(clamped(e_.b.CreateSub(key, t)), e_.i32));
      };
      Value* seen = e_.b.CreateAnd(e_.b.CreateICmpSGE(e_.lane_numbers(e_.i32), number(from)),
                                   e_.b.CreateICmpSLT(e_.lane_numbers(e_.i32), number(to)));
      if (lanes) seen = e_.b.CreateAnd(lanes, seen);
      return Values{larger(e_, now[0], score(e_.at(row, e_.times(t, 4)), mask, t, lanes, seen))};
    });
    Value* largest = e_.reduce(best[0], [&](Value* x, Value* y) { return larger(e_, x, y); });
    if (scores_.waits) largest = e_.b.CreateFMul(largest, llvm::ConstantFP::get(e_.f32, scores_.factor));
    e_.store(largest, e_.at(e_.at(scratch_, s_.maxima_offset), e_.times(r, 4)), 4);
  }
  Value* clamped(Value* lane) { return e_.smaller(e_.larger(lane, e_.num(0)), e_.num(e_.lanes)); }
  Value* mask_of(Value* r) { return strip_.at(e_, mask_, mask_head_, mask_row_, r); }

  // body(first key, lanes that are keys or null, values so far) over the keys of the block.
  template <class Body>
  Values over_vectors(Values now, Body body) {
    Value* whole = e_.b.CreateAnd(keys_, e_.num(-e_.lanes));
    now = e_.loop(e_.num(0), whole, e_.lanes, now,
                  [&](Value* t, const Values& so_far) { return body(t, nullptr, so_far); });
    // A loop of at most one trip, which carries its values where `when` could not.
    return e_.loop(whole, keys_, e_.lanes, now, [&](Value* t, const Values& so_far) {
      return body(t, e_.tail_mask(e_.b.CreateSub(keys_, t)), so_far);
    });
  }

  // Scores of a vector of keys, -inf where they are not seen; left where they are read from if they have changed.
  Value* score(Value* place, Value* mask, Value* t, Value* lanes, Value* seen) {
    Value* x = transformed(e_.load(e_.v_f32, place, alignment()), mask, t, lanes);
    if (seen) x = e_.b.CreateSelect(seen, x, e_.c_f32(kLowest));
    if (seen || stores()) e_.store(x, place, alignment());
    return x;
  }

  // Lane r: the largest of row r. Two vectors of some rows each become one of all of them, whose rows have half as many
  // lanes.
  Value* reduce_rows(Values rows) {
    int width = e_.lanes;
    const auto merged = [&](Value* x, Value* y) {
      std::vector<int> low, high;
      for (int i = 0; i < 2 * e_.lanes; ++i) (i % width < width / 2 ? low : high).push_back(i);
      return larger(e_, e_.b.CreateShuffleVector(x, y, low), e_.b.CreateShuffleVector(x, y, high));
    };
    for (; rows.size() > 1 || width > 1; width /= 2) {
      if (rows.size() % 2) rows.push_back(rows.back());
      Values next;
      for (size_t i = 0; i < rows.size(); i += 2) next.push_back(merged(rows[i], rows[i + 1]));
      rows = next;
    }
    return rows[0];
  }

  // Scores from products; `mask` may be null.
  Value* transformed(Value* x, Value* mask, Value* t, Value* lanes) {
    Value* added = plan_.mask == Mask::added ? e_.masked_load(e_.v_f32, e_.at(mask, e_.times(t, 4)), lanes) : nullptr;
    if (added && plan_.softcap == 0) return e_.fma(x, e_.c_f32(scores_.factor), added);
    if (!scores_.waits) x = e_.b.CreateFMul(x, e_.c_f32(scores_.factor));
    if (plan_.softcap != 0)
      x = e_.b.CreateFMul(vector_function(e_, ExprOp::tanh, x), e_.c_f32(double{plan_.softcap} * scores_.unit));
    if (added) return e_.b.CreateFAdd(x, added);
    if (plan_.mask == Mask::none) return x;
    return e_.b.CreateSelect(e_.load_elements(DType::boolean, e_.at(mask, t), lanes), x, e_.c_f32(kLowest));
  }

  // All rows at once: the largest score so far, and what the sums of earlier keys are multiplied by.
  void update_largest() {
    Value *slot = e_.at(state_, s_.largest_offset()), *maxima = e_.at(scratch_, s_.maxima_offset);
    Value* before = e_.load(e_.v_f32, slot, alignment());
    Value* largest = larger(e_, before, e_.load(e_.v_f32, maxima, alignment()));
    e_.store(largest, slot, alignment());
    Value* base = subtracted(e_, largest);
    e_.store(base, maxima, alignment());
    Value* alpha = vector_exp2_below_one(e_, in_powers(e_, scores_, e_.b.CreateFSub(before, base)), 5);
    e_.store(alpha, e_.at(scratch_, s_.alphas_offset), alignment());
  }

  void make_weights(Value* r, Value* vectors) {
    const auto of_row = [&](int64_t offset) {
      return e_.load_broadcast(DType::f32, e_.at(e_.at(scratch_, offset), e_.times(r, 4)));
    };
    Value *base = of_row(s_.maxima_offset), *alpha = of_row(s_.alphas_offset);
    if (scores_.waits) base = e_.b.CreateFNeg(base);
    Value* slot = e_.at(e_.at(state_, s_.totals_offset()), e_.times(r, s_.vector_bytes()));
    Value* total = e_.b.CreateFMul(e_.load(e_.v_f32, slot, alignment()), alpha);
    const int64_t step = s_.pairs() ? e_.lanes * 2 : e_.lanes * 4;
    Value* weights = e_.at(e_.at(scratch_, s_.weights_offset), e_.times(r, s_.weight_stride_bytes));
    const X86Emitter::Moving moving[] = {{scores(r), e_.lanes * 4}, {weights, step}};
    const Values sum = e_.walk(
        vectors, moving, {total},
        [&](const Values& at, const Values& now) {
          Value* x = e_.load(e_.v_f32, at[0], alignment());
          x = scores_.waits ? e_.fma(x, e_.c_f32(scores_.factor), base)
                            : in_powers(e_, scores_, e_.b.CreateFSub(x, base));
          Value* weight = vector_exp2_below_one(e_, x, s_.pairs() ? 3 : 5);
          if (s_.pairs()) e_.store(rounded(weight), at[1], e_.lanes * 2);
          else e_.store(weight, at[1], alignment());
          return Values{add(e_, now[0], weight)};
        },
        true);
    e_.store(sum[0], slot, alignment());
    if (!s_.tiles()) return;
    Value* last = e_.b.CreateAnd(e_.b.CreateAdd(keys_, e_.num(kTileK - 1)), e_.num(-kTileK));
    e_.loop(e_.times(vectors, e_.lanes), last, e_.lanes, {}, [&](Value* t, const Values&) {
      e_.store(llvm::Constant::getNullValue(e_.vec(e_.i16)), e_.at(weights, e_.times(t, 2)), e_.lanes * 2);
      return Values{};
    });
  }
  // The CPU has it beside its dot product; what it flushes to 0, the dot product does, too.
  Value* rounded(Value* weight) {
    if (!e_.bf16) return e_.narrow(DType::bf16, weight);
    return e_.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {weight});
  }

  X86Emitter& e_;
  const AttentionPlan& plan_;
  const AttentionShape& s_;
  const Scores scores_;
  StripRows strip_{};
  Value *scratch_ = nullptr, *state_ = nullptr, *mask_ = nullptr, *mask_head_ = nullptr, *mask_row_ = nullptr,
        *rows_ = nullptr, *keys_ = nullptr;
};

}  // namespace

llvm::Function* emit_attention_softmax(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape) {
  return Softmax(e, plan, shape).run(symbol);
}

llvm::Function* emit_attention_queries(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.i64, e.i64, e.ptr, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  const StripRows strip{f->getArg(3), f->getArg(4)};
  llvm::Value *rows = f->getArg(5), *copied = f->getArg(6), *state = f->getArg(7);
  const int vector = e.lanes * 4;
  e.loop(e.num(shape.totals_offset()), e.num(shape.largest_offset()), vector, {}, [&](llvm::Value* at, const Values&) {
    e.store(e.c_f32(0), e.at(state, at), vector);
    return Values{};
  });
  e.store(e.c_f32(kLowest), e.at(state, shape.largest_offset()), vector);
  const int64_t size = size_bytes(plan.dtype), columns = plan.head_dim;
  const auto copy_row = [&](llvm::Value* from, llvm::Value* to) {
    const auto one = [&](llvm::Value* c, llvm::Value* lanes) {
      llvm::Value* place = e.at(from, e.times(c, size));
      if (shape.pairs()) e.masked_store(e.masked_load(e.vec(e.i16), place, lanes), e.at(to, e.times(c, 2)), lanes);
      else e.masked_store(e.load_elements(plan.dtype, place, lanes), e.at(to, e.times(c, 4)), lanes);
    };
    e.loop(e.num(0), e.num(columns / e.lanes * e.lanes), e.lanes, {}, [&](llvm::Value* c, const Values&) {
      one(c, nullptr);
      return Values{};
    });
    if (columns % e.lanes) one(e.num(columns / e.lanes * e.lanes), e.tail_mask(e.num(columns % e.lanes)));
  };
  const auto copy = [&] {
    e.loop(e.num(0), rows, 1, {}, [&](llvm::Value* r, const Values&) {
      copy_row(strip.at(e, f->getArg(0), f->getArg(1), f->getArg(2), r),
               e.at(copied, e.times(r, shape.query_row_bytes)));
      return Values{};
    });
    e.loop(e.times(rows, shape.query_row_bytes), e.num(shape.rows * shape.query_row_bytes), 2, {},
           [&](llvm::Value* at, const Values&) {
             e.store(e.b.getInt16(0), e.at(copied, at), 2);
             return Values{};
           });
  };
  e.when(e.b.CreateIsNotNull(copied), copy);
  e.end_function();
  return f;
}

llvm::Function* emit_attention_rescale(X86Emitter& e, const std::string& symbol, const AttentionShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.i64};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  const int64_t row = shape.value_columns() * 4;
  e.loop(e.num(0), f->getArg(2), 1, {}, [&](llvm::Value* r, const Values&) {
    llvm::Value* alpha = e.load(e.f32, e.at(f->getArg(1), e.times(r, 4)), 4);
    e.when(e.b.CreateFCmpUNE(alpha, llvm::ConstantFP::get(e.f32, 1.0)), [&] {
      llvm::Value *factor = e.splat(alpha), *first = e.at(f->getArg(0), e.times(r, row));
      e.loop(e.num(0), e.num(shape.value_width / shape.value_columns()), 1, {}, [&](llvm::Value* panel, const Values&) {
        llvm::Value* sums = e.at(first, e.times(panel, shape.rows * row));
        for (int v = 0; v < shape.value_vectors; ++v) {
          llvm::Value* place = e.at(sums, v * shape.vector_bytes());
          e.store(e.b.CreateFMul(e.load(e.v_f32, place, e.lanes * 4), factor), place, e.lanes * 4);
        }
        return Values{};
      });
    });
    return Values{};
  });
  e.end_function();
  return f;
}

llvm::Function* emit_attention_join(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                    const AttentionShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.i64, e.i64, e.i64};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  llvm::Value *states = f->getArg(1), *apart = f->getArg(2), *count = f->getArg(3);
  const int vector = e.lanes * 4;
  const auto state = [&](llvm::Value* i) { return e.at(states, e.b.CreateMul(i, apart)); };
  const auto largest_of = [&](llvm::Value* from) {
    return e.load(e.v_f32, e.at(from, shape.largest_offset()), vector);
  };
  llvm::Value* largest = e.loop(e.num(0), count, 1, {e.c_f32(kLowest)}, [&](llvm::Value* i, const Values& now) {
    return Values{larger(e, now[0], largest_of(state(i)))};
  })[0];
  llvm::Value *base = subtracted(e, largest), *alphas = e.at(f->getArg(0), shape.alphas_offset);
  e.loop(e.num(0), count, 1, {}, [&](llvm::Value* i, const Values&) {
    llvm::Value *from = state(i), *is_first = e.b.CreateICmpEQ(i, e.num(0));
    llvm::Value* power = in_powers(e, Scores(plan), e.b.CreateFSub(largest_of(from), base));
    e.store(vector_exp2_below_one(e, power, 5), alphas, vector);
    e.loop(e.num(0), f->getArg(4), 1, {}, [&](llvm::Value* r, const Values&) {
      llvm::Value* alpha = e.load_broadcast(DType::f32, e.at(alphas, e.times(r, 4)));
      const auto add_vector = [&](llvm::Value* offset) {
        llvm::Value* place = e.at(states, offset);
        llvm::Value* before = e.b.CreateSelect(is_first, e.c_f32(0), e.load(e.v_f32, place, vector));
        e.store(e.fma(e.load(e.v_f32, e.at(from, offset), vector), alpha, before), place, vector);
      };
      add_vector(e.b.CreateAdd(e.num(shape.totals_offset()), e.times(r, vector)));
      const int64_t row = shape.value_columns() * 4;
      e.loop(e.num(0), e.num(shape.value_width * 4), row, {}, [&](llvm::Value* panel, const Values&) {
        llvm::Value* first = e.b.CreateAdd(e.times(panel, shape.rows), e.times(r, row));
        for (int v = 0; v < shape.value_vectors; ++v) add_vector(e.b.CreateAdd(first, e.num(v * vector)));
        return Values{};
      });
      return Values{};
    });
    return Values{};
  });
  e.store(largest, e.at(states, shape.largest_offset()), vector);
  e.end_function();
  return f;
}

llvm::Function* emit_attention_output(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                      const AttentionShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.ptr, e.i64, e.i64, e.i64, e.i64, e.i64};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  llvm::Value* state = f->getArg(0);
  const StripRows strip{f->getArg(5), f->getArg(6)};
  const double unit = Scores(plan).unit;
  e.loop(e.num(0), f->getArg(7), 1, {}, [&](llvm::Value* r, const Values&) {
    llvm::Value* totals =
        e.load(e.v_f32, e.at(e.at(state, shape.totals_offset()), e.times(r, shape.vector_bytes())), e.lanes * 4);
    llvm::Value* total = e.splat(e.reduce(totals, [&](llvm::Value* x, llvm::Value* y) { return add(e, x, y); }));
    llvm::Value* largest = e.load_broadcast(DType::f32, e.at(e.at(state, shape.largest_offset()), e.times(r, 4)));
    if (plan.sinks) {
      llvm::Value* sink = e.load_broadcast(DType::f32, e.at(f->getArg(1), e.times(strip.head(e, r), 4)));
      llvm::Value* score = e.b.CreateFMul(sink, e.c_f32(unit));
      llvm::Value* difference = e.b.CreateFSub(score, subtracted(e, largest));
      total = add(e, total, vector_exp(e, e.b.CreateFMul(difference, e.c_f32(1 / unit))));
    }
    llvm::Value* factor = e.b.CreateFDiv(e.c_f32(1), total);
    // A row that sees no key may have no sums yet. With a sink it has a total.
    llvm::Value* is_blind = e.b.CreateFCmpOEQ(largest, e.c_f32(kLowest));
    llvm::Value* blind = e.c_f32(plan.blind_is_zero || plan.sinks ? 0 : std::numeric_limits<double>::quiet_NaN());
    llvm::Value* out = strip.at(e, f->getArg(2), f->getArg(3), f->getArg(4), r);
    for (int64_t c = 0; c < plan.value_dim; c += e.lanes) {
      const int64_t panel = c / shape.value_columns(), column = c % shape.value_columns();
      llvm::Value* sums = e.at(e.at(state, e.times(r, shape.value_columns() * 4)),
                               panel * shape.rows * shape.value_columns() * 4 + column * 4);
      llvm::Value* x = e.b.CreateFMul(e.load(e.v_f32, sums, e.lanes * 4), factor);
      x = e.b.CreateSelect(is_blind, blind, x);
      llvm::Value* lanes = plan.value_dim - c < e.lanes ? e.tail_mask(e.num(plan.value_dim - c)) : nullptr;
      e.store_elements(x, plan.result, e.at(out, c * size_bytes(plan.result)), lanes);
    }
    return Values{};
  });
  e.end_function();
  return f;
}

}  // namespace hone
