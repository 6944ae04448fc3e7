#include "codegen/llvm/attention_rows.h"

#include <algorithm>

#include "codegen/llvm/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

Value* add(Emitter& e, Value* x, Value* y) { return e.b.CreateFAdd(x, y); }

// A step of q·k: `lanes` elements as f32, or twice as many as pairs of bf16.
class RowScores {
 public:
  RowScores(Emitter& e, const AttentionPlan& plan, const AttentionShape& shape) : e_(e), plan_(plan), s_(shape) {}

  Function* run(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr, e_.i64, e_.ptr, e_.i64, e_.i64};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value *keys = f->getArg(2), *key_row = f->getArg(3), *count = f->getArg(6);
    const Emitter::Moving moving[] = {{f->getArg(0), f->getArg(1)}, {f->getArg(4), s_.score_stride * 4}};
    e_.walk(f->getArg(5), moving, {}, [&](const Values& row, const Values&) {
      e_.loop(e_.num(0), count, e_.lanes, {}, [&](Value* t, const Values&) {
        Values offsets;  // of a vector of keys; those behind the last are the last
        Value* last = e_.b.CreateSub(count, e_.num(1));
        for (int i = 0; i < e_.lanes; ++i)
          offsets.push_back(e_.b.CreateMul(e_.smaller(e_.b.CreateAdd(t, e_.num(i)), last), key_row));
        e_.store(joined(products(row[0], keys, offsets)), e_.at(row[1], e_.times(t, 4)), e_.lanes * 4);
        return Values{};
      });
      return Values{};
    });
    e_.end_function();
    return f;
  }

 private:
  int64_t step() const { return s_.dot ? 2 * e_.lanes : e_.lanes; }
  int64_t query_bytes() const { return s_.dot ? 2 : 4; }

  Values products(Value* query, Value* keys, const Values& offsets) {
    const int64_t whole = plan_.head_dim / step() * step();
    Values sums(offsets.size(), e_.c_f32(0));
    const auto add_step = [&](Value* d, bool is_last, const Values& before) {
      Value* q = elements(DType::f32, e_.at(query, e_.times(d, query_bytes())), is_last);
      Value* key = e_.at(keys, e_.times(d, size_bytes(plan_.dtype)));
      Values after;
      for (size_t i = 0; i < offsets.size(); ++i) {
        Value* k = elements(plan_.dtype, e_.at(key, offsets[i]), is_last);
        after.push_back(s_.dot ? e_.dot_bf16(before[i], q, k) : e_.fma(q, k, before[i]));
      }
      return after;
    };
    sums = e_.loop(e_.num(0), e_.num(whole), step(), sums,
                   [&](Value* d, const Values& before) { return add_step(d, false, before); });
    return whole < plan_.head_dim ? add_step(e_.num(whole), true, sums) : sums;
  }
  Value* elements(DType dtype, Value* from, bool is_last) {
    const int64_t rest = plan_.head_dim % step();
    if (!s_.dot) return e_.load_elements(dtype, from, is_last ? e_.tail_mask(e_.num(rest)) : nullptr);
    if (!is_last) return e_.load(e_.v_i32, from);
    std::vector<llvm::Constant*> mask;
    for (int64_t i = 0; i < step(); ++i) mask.push_back(e_.b.getInt1(i < rest));
    return e_.as(e_.masked_load(e_.vec(e_.i16, 2 * e_.lanes), from, llvm::ConstantVector::get(mask)), e_.v_i32);
  }
  // Lane i: the sum over the lanes of vector i. Two vectors of some sums each become one of all of them, of half as
  // many terms.
  Value* joined(Values sums) {
    for (int width = e_.lanes; width > 1; width /= 2) {
      const auto half = [&](bool high) {
        std::vector<int> lanes;
        for (int i = 0; i < 2 * e_.lanes; ++i)
          if ((i % width >= width / 2) == high) lanes.push_back(i);
        return lanes;
      };
      for (size_t i = 0; i < sums.size() / 2; ++i) {
        Value *x = sums[2 * i], *y = sums[2 * i + 1];
        sums[i] = add(e_, e_.b.CreateShuffleVector(x, y, half(false)), e_.b.CreateShuffleVector(x, y, half(true)));
      }
      sums.resize(sums.size() / 2);
    }
    return sums[0];
  }

  Emitter& e_;
  const AttentionPlan& plan_;
  const AttentionShape& s_;
};

}  // namespace

llvm::Function* emit_attention_row_scores(Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape) {
  return RowScores(e, plan, shape).run(symbol);
}

llvm::Function* emit_attention_row_values(Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.i64, e.ptr, e.i64, e.i64, e.b.getInt1Ty()};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  llvm::Value *value_row = f->getArg(2), *count = f->getArg(5), *is_first = f->getArg(6);
  const int64_t size = size_bytes(plan.dtype), panel_columns = shape.value_columns();
  constexpr int64_t kVectors = 8;  // of sums at once
  const Emitter::Moving rows[] = {{f->getArg(0), shape.weight_stride_bytes}, {f->getArg(3), panel_columns * 4}};
  e.walk(f->getArg(4), rows, {}, [&](const Values& row, const Values&) {
    for (int64_t first = 0; first < plan.value_dim; first += kVectors * e.lanes) {
      const int64_t end = std::min<int64_t>(first + kVectors * e.lanes, plan.value_dim);
      Values sums, places;
      for (int64_t c = first; c < end; c += e.lanes) {
        const int64_t panel = c / panel_columns, column = c % panel_columns;
        places.push_back(e.at(row[1], (panel * shape.rows * panel_columns + column) * 4));
        sums.push_back(e.b.CreateSelect(is_first, e.c_f32(0), e.load(e.v_f32, places.back(), e.lanes * 4)));
      }
      const Emitter::Moving keys[] = {{row[0], shape.dot ? 2 : 4}, {e.at(f->getArg(1), first * size), value_row}};
      sums = e.walk(count, keys, sums, [&](const Values& at, Values now) {
        llvm::Value* weight = e.load_broadcast(shape.dot ? DType::bf16 : DType::f32, at[0]);
        for (int64_t c = first; c < end; c += e.lanes) {
          llvm::Value* lanes = end - c < e.lanes ? e.tail_mask(e.num(end - c)) : nullptr;
          llvm::Value*& sum = now[static_cast<size_t>((c - first) / e.lanes)];
          sum = e.fma(weight, e.load_elements(plan.dtype, e.at(at[1], (c - first) * size), lanes), sum);
        }
        return now;
      });
      for (size_t i = 0; i < sums.size(); ++i) e.store(sums[i], places[i], e.lanes * 4);
    }
    return Values{};
  });
  e.end_function();
  return f;
}

}  // namespace hone
