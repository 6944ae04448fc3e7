#include "device/x86/attention_rows.h"

#include <algorithm>
#include <numeric>

#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

Value* add(X86Emitter& e, Value* x, Value* y) { return e.b.CreateFAdd(x, y); }

// So many queries read what they have in common at once: as many as make a vector of sums with kKeys keys.
constexpr int kKeys = 4;
int queries_together(const X86Emitter& e) { return e.lanes / kKeys; }

// body(a, b, is_first) of rows that lie `bytes` apart in two operands: of as many together as can be, one that is left
// over by itself, and of fewer that are left over with the last of them repeated.
struct Rows {
  Value *first, *bytes;
};
template <class Body>
void each_rows(X86Emitter& e, Value* count, Rows a, Rows b, Body body) {
  const int together = queries_together(e);
  const auto some = [&](Value* from, int n) {
    const auto pointers = [&](Rows rows) {
      Values at;
      for (int i = 0; i < n; ++i) {
        Value* row = e.smaller(e.b.CreateAdd(from, e.num(i)), e.b.CreateSub(count, e.num(1)));
        at.push_back(e.at(rows.first, e.b.CreateMul(row, rows.bytes)));
      }
      return at;
    };
    body(pointers(a), pointers(b), e.b.CreateICmpEQ(from, e.num(0)));
    return Values{};
  };
  Value* is_left = e.b.CreateICmpEQ(e.b.CreateURem(count, e.num(together)), e.num(1));
  Value* grouped = e.b.CreateSub(count, e.b.CreateZExt(is_left, e.i64));
  e.loop(e.num(0), grouped, together, {}, [&](Value* from, const Values&) { return some(from, together); });
  e.when(is_left, [&] { some(grouped, 1); });
}

// Rows lie apart, and no hardware prefetcher follows them: what is read a few kilobytes later is asked for meanwhile.
constexpr int64_t kAhead = 8 << 10;
void prefetch_ahead(X86Emitter& e, const HeadReader& reader, const HeadReader::Rows& rows, Value* number) {
  constexpr int64_t kLine = 64;
  const int64_t bytes = reader.head_bytes(), ahead = std::clamp<int64_t>(kAhead / bytes, 4, 64);
  Value* later = reader.row(rows, e.b.CreateAdd(number, e.num(ahead))).codes;
  for (int64_t at = 0; at < bytes; at += kLine) e.prefetch(e.at(later, at));
}

// A step of q·k: `lanes` elements as f32, or twice as many as pairs of bf16.
class RowScores {
 public:
  RowScores(X86Emitter& e, const AttentionPlan& plan, const AttentionShape& shape, const HeadReader& reader)
      : e_(e), plan_(plan), s_(shape), reader_(reader) {}

  Function* run(const std::string& symbol) {
    std::vector<llvm::Type*> params{e_.ptr, e_.i64, e_.ptr, e_.i64, e_.i64};
    for (llvm::Type* type : reader_.types()) params.push_back(type);
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    allow_spills(f);
    const HeadReader::Rows all = reader_.from_arguments(f, 5);
    Value* count = f->getArg(4);
    each_rows(e_, f->getArg(3), {f->getArg(0), f->getArg(1)}, {f->getArg(2), e_.num(s_.score_stride * 4)},
              [&](const Values& queries, const Values& scores, Value* reads_first) {
                const int together = e_.lanes / static_cast<int>(queries.size());  // keys
                e_.loop(e_.num(0), count, together, {}, [&](Value* t, const Values&) {
                  std::vector<HeadReader::Rows> keys;  // behind the last, the last
                  Value* last = e_.b.CreateSub(count, e_.num(1));
                  for (int i = 0; i < together; ++i)
                    keys.push_back(reader_.row(all, e_.smaller(e_.b.CreateAdd(t, e_.num(i)), last)));
                  e_.when(reads_first, [&] {
                    for (int i = 0; i < together; ++i) prefetch_ahead(e_, reader_, all, e_.b.CreateAdd(t, e_.num(i)));
                  });
                  Value* sums = joined(products(queries, keys));
                  for (size_t i = 0; i < scores.size(); ++i)
                    e_.store(lanes_of(sums, static_cast<int>(i) * together, together), e_.at(scores[i], e_.times(t, 4)),
                             together * 4);
                  return Values{};
                });
              });
    e_.end_function();
    return f;
  }

 private:
  int64_t step() const { return s_.pairs() ? 2 * e_.lanes : e_.lanes; }
  int64_t query_bytes() const { return s_.pairs() ? 2 : 4; }

  // Of each query with each key.
  Values products(const Values& queries, const std::vector<HeadReader::Rows>& keys) {
    const int64_t whole = plan_.head_dim / step() * step();
    Values sums(queries.size() * keys.size(), e_.c_f32(0));
    const auto add_step = [&](Value* d, bool is_last, Values now) {
      Values q;
      for (Value* query : queries) q.push_back(query_elements(e_.at(query, e_.times(d, query_bytes())), is_last));
      for (size_t i = 0; i < keys.size(); ++i) {
        Value* k = s_.pairs() ? pairs(e_.at(keys[i].codes, e_.times(d, 2)), is_last)
                              : reader_.load(keys[i], d, is_last ? plan_.head_dim % step() : step());
        for (size_t j = 0; j < q.size(); ++j) {
          Value*& sum = now[j * keys.size() + i];
          sum = s_.pairs() ? e_.dot_bf16(sum, q[j], k) : e_.fma(q[j], k, sum);
        }
      }
      return now;
    };
    sums = e_.loop(e_.num(0), e_.num(whole), step(), sums,
                   [&](Value* d, const Values& before) { return add_step(d, false, before); });
    return whole < plan_.head_dim ? add_step(e_.num(whole), true, sums) : sums;
  }
  Value* lanes_of(Value* v, int first, int count) {
    std::vector<int> lanes(static_cast<size_t>(count));
    std::iota(lanes.begin(), lanes.end(), first);
    return count == e_.lanes ? v : e_.b.CreateShuffleVector(v, lanes);
  }
  Value* query_elements(Value* from, bool is_last) {
    if (s_.pairs()) return pairs(from, is_last);
    return e_.load_elements(DType::f32, from, is_last ? e_.tail_mask(e_.num(plan_.head_dim % step())) : nullptr);
  }
  Value* pairs(Value* from, bool is_last) {
    if (!is_last) return e_.load(e_.v_i32, from);
    const int64_t rest = plan_.head_dim % step();
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

  X86Emitter& e_;
  const AttentionPlan& plan_;
  const AttentionShape& s_;
  const HeadReader& reader_;
};

}  // namespace

llvm::Function* emit_attention_row_scores(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape, const HeadReader& reader) {
  return RowScores(e, plan, shape, reader).run(symbol);
}

llvm::Function* emit_attention_row_values(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape, const HeadReader& reader) {
  std::vector<llvm::Type*> params{e.ptr, e.ptr, e.i64, e.i64, e.b.getInt1Ty()};
  for (llvm::Type* type : reader.types()) params.push_back(type);
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  llvm::Value *count = f->getArg(3), *is_first = f->getArg(4);
  const HeadReader::Rows all = reader.from_arguments(f, 5);
  const int64_t panel_columns = shape.value_columns();
  const Rows weights{f->getArg(0), e.num(shape.weight_stride_bytes)}, sums_of{f->getArg(1), e.num(panel_columns * 4)};
  each_rows(e, f->getArg(2), weights, sums_of,
            [&](const Values& row_weights, const Values& row_sums, llvm::Value* reads_first) {
              const int64_t columns = (row_sums.size() > 1 ? 4 : 8) * e.lanes;  // at once
              for (int64_t first = 0; first < plan.value_dim; first += columns) {
                const int64_t end = std::min<int64_t>(first + columns, plan.value_dim);
                Values sums, places;
                for (llvm::Value* row : row_sums)
                  for (int64_t c = first; c < end; c += e.lanes) {
                    const int64_t panel = c / panel_columns, column = c % panel_columns;
                    places.push_back(e.at(row, (panel * shape.rows * panel_columns + column) * 4));
                    sums.push_back(e.b.CreateSelect(is_first, e.c_f32(0), e.load(e.v_f32, places.back(), e.lanes * 4)));
                  }
                sums = e.loop(e.num(0), count, 1, sums, [&](llvm::Value* t, Values now) {
                  const HeadReader::Rows row = reader.row(all, t);
                  if (first == 0) e.when(reads_first, [&] { prefetch_ahead(e, reader, all, t); });
                  Values values;
                  for (int64_t c = first; c < end; c += e.lanes)
                    values.push_back(reader.load(row, e.num(c), std::min<int64_t>(end - c, e.lanes)));
                  auto sum = now.begin();
                  for (llvm::Value* weights_of_row : row_weights) {
                    llvm::Value* place = e.at(weights_of_row, e.times(t, shape.pairs() ? 2 : 4));
                    llvm::Value* weight = e.load_broadcast(shape.pairs() ? DType::bf16 : DType::f32, place);
                    for (llvm::Value* value : values) *sum = e.fma(weight, value, *sum), ++sum;
                  }
                  return now;
                });
                for (size_t i = 0; i < sums.size(); ++i) e.store(sums[i], places[i], e.lanes * 4);
              }
            });
  e.end_function();
  return f;
}

}  // namespace hone
