// Kernels of attention's gradients (kernels/attention_gradient/shape.h): products from the tiles of gemm, softmax and
// its gradient between them.
#include <limits>

#include "device/llvm/expr_emit.h"
#include "device/x86/attention_gradient/shape.h"
#include "device/x86/emitter.h"
#include "device/x86/panel.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = AttentionGradientArgs;

// Calls body(first element, lanes in use or null, values so far) over the vectors of a row.
template <class Body>
Values over(X86Emitter& e, Value* count, Values carried, Body body) {
  Value* full = e.b.CreateAnd(count, e.num(-e.lanes));
  carried =
      e.loop(e.num(0), full, e.lanes, carried, [&](Value* i, const Values& now) { return body(i, nullptr, now); });
  // A loop of at most one trip, which carries its values where `when` could not.
  Value* ragged = e.b.CreateZExt(e.b.CreateICmpSLT(full, count), e.i64);
  return e.loop(e.num(0), ragged, 1, carried,
                [&](Value*, const Values& now) { return body(full, e.tail_mask(e.b.CreateSub(count, full)), now); });
}

// void(weights, d_scores, mask, mask_row_bytes, rows, keys, visible)   pointers, then i64
// Rows of q·k and of d·v become rows of P and D. With `causal`, row r sees the first visible + r keys; the others, up
// to `keys`, get 0 in both. A row of -inf alone gives NaN.
class SoftmaxGradient {
 public:
  SoftmaxGradient(X86Emitter& e, const AttentionPlan& plan, const AttentionTiles& shape, const std::string& symbol)
      : e_(e), plan_(plan), exp_difference_(flatten(exp(Expr::arg(0, Scalar::f32) - Expr::arg(1, Scalar::f32)))) {
    llvm::Type* const params[] = {e.ptr, e.ptr, e.ptr, e.i64, e.i64, e.i64, e.i64};
    function_ = e.begin_function(symbol, e.b.getVoidTy(), params, false);
    allow_spills(function_);
    const auto arg = [&](unsigned i) { return function_->getArg(i); };
    const int64_t stride = shape.score_stride * 4;
    e.loop(e.num(0), arg(4), 1, {}, [&](Value* r, const Values&) {
      Value *weights = e.at(arg(0), e.times(r, stride)), *d_scores = e.at(arg(1), e.times(r, stride));
      Value *mask = plan.mask != AttentionPlan::Mask::none ? e.at(arg(2), e.b.CreateMul(r, arg(3))) : nullptr,
            *count = arg(5);
      if (plan.limited) count = e.smaller(e.larger(e.b.CreateAdd(arg(6), r), e.num(0)), arg(5));
      one_row(weights, d_scores, mask, count);
      if (plan.limited)
        e.loop(count, arg(5), 1, {}, [&](Value* t, const Values&) {
          for (Value* row : {weights, d_scores})
            e.store(llvm::ConstantFP::get(e.f32, 0.0), e.at(row, e.times(t, 4)), 4);
          return Values{};
        });
      return Values{};
    });
    e.end_function();
  }

  Function* function() const { return function_; }

 private:
  void one_row(Value* weights, Value* d_scores, Value* mask, Value* count) {
    const double lowest = -std::numeric_limits<double>::infinity();
    const auto load = [&](Value* row, Value* t, Value* lanes) {
      return e_.masked_load(e_.v_f32, e_.at(row, e_.times(t, 4)), lanes);
    };
    const auto store = [&](Value* x, Value* row, Value* t, Value* lanes) {
      e_.masked_store(x, e_.at(row, e_.times(t, 4)), lanes);
    };
    const Values most = over(e_, count, {e_.c_f32(lowest)}, [&](Value* t, Value* lanes, const Values& best) {
      Value* x = e_.b.CreateFMul(load(weights, t, lanes), e_.c_f32(plan_.scale));
      if (mask) x = e_.b.CreateFAdd(x, load(mask, t, lanes));
      store(x, weights, t, lanes);
      if (lanes) x = e_.b.CreateSelect(lanes, x, e_.c_f32(lowest));
      return Values{larger(best[0], x)};
    });
    Value* row_most = e_.splat(e_.reduce(most[0], [&](Value* x, Value* y) { return larger(x, y); }));
    const Values zero(2, e_.c_f32(0));
    const Values sums = over(e_, count, zero, [&](Value* t, Value* lanes, const Values& so_far) {
      Value* const args[] = {load(weights, t, lanes), row_most};
      Value* x = emit_program(e_, exp_difference_, args, nullptr)[0];
      store(x, weights, t, lanes);
      if (lanes) x = e_.b.CreateSelect(lanes, x, e_.c_f32(0));
      return Values{e_.b.CreateFAdd(so_far[0], x), e_.fma(x, load(d_scores, t, lanes), so_far[1])};
    });
    const auto add = [&](Value* x, Value* y) { return e_.b.CreateFAdd(x, y); };
    Value* inverse = e_.splat(e_.b.CreateFDiv(llvm::ConstantFP::get(e_.f32, 1.0), e_.reduce(sums[0], add)));
    Value* mean = e_.b.CreateFMul(e_.splat(e_.reduce(sums[1], add)), inverse);
    over(e_, count, {}, [&](Value* t, Value* lanes, const Values&) {
      Value* weight = e_.b.CreateFMul(load(weights, t, lanes), inverse);
      store(weight, weights, t, lanes);
      Value* d = e_.b.CreateFSub(load(d_scores, t, lanes), mean);
      store(e_.b.CreateFMul(e_.b.CreateFMul(weight, e_.c_f32(plan_.scale)), d), d_scores, t, lanes);
      return Values{};
    });
  }

  // A NaN score is lost here and comes back through exp.
  Value* larger(Value* x, Value* y) { return e_.b.CreateSelect(e_.b.CreateFCmpOGT(x, y), x, y); }

  X86Emitter& e_;
  const AttentionPlan& plan_;
  const Program exp_difference_;
  Function* function_ = nullptr;
};

// void(from, from_row_bytes, to, to_row_bytes, rows, columns): rows of f32, copied.
Function* emit_copy_rows(X86Emitter& e, const std::string& symbol) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.ptr, e.i64, e.i64, e.i64};
  Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  const X86Emitter::Moving moving[] = {{f->getArg(0), f->getArg(1)}, {f->getArg(2), f->getArg(3)}};
  e.walk(f->getArg(4), moving, {}, [&](const Values& at, const Values&) {
    return over(e, f->getArg(5), {}, [&](Value* c, Value* lanes, const Values&) {
      e.masked_store(e.masked_load(e.v_f32, e.at(at[0], e.times(c, 4)), lanes), e.at(at[1], e.times(c, 4)), lanes);
      return Values{};
    });
  });
  e.end_function();
  return f;
}

class AttentionGradientKernel {
 public:
  AttentionGradientKernel(X86Emitter& e, const X86AttentionGradientPlan& plan, const std::string& symbol, int shrink)
      : e_(e),
        plan_(plan.attention),
        s_(attention_gradient_shape(plan, e.target, shrink)),
        t_(s_.tiles),
        max_length_(plan.max_length),
        stride_(t_.score_stride * 4),
        panel_row_(t_.value_columns() * 4) {
    emit_parts(symbol);
    frame_ = e.begin_kernel(symbol);
    allow_spills(frame_.function);
    sums_ = e.stack(e.v_f32, int64_t{t_.rows} * t_.value_vectors);
    queries_ = size<&A::queries>(), keys_ = size<&A::keys>();
    if (plan_.limited)
      ahead_ =
          e_.b.CreateAdd(size<&A::first_position>(), size<&A::behind>());  // a query sees its own key and so many more
    else ahead_ = e_.num(0);
    e.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      one_item(e.b.CreateUDiv(item, e.num(plan_.kv_heads)), e.b.CreateURem(item, e.num(plan_.kv_heads)));
      return Values{};
    });
    e.end_function();
  }

 private:
  void emit_parts(const std::string& symbol) {
    const PackSpec by_keys{DType::f32, PanelType::f32, t_.key_vectors},
        by_columns{DType::f32, PanelType::f32, t_.value_vectors};
    pack_by_keys_ = emit_pack_nk(e_, symbol + "_by_keys", by_keys);
    pack_by_columns_ = emit_pack_kn(e_, symbol + "_by_columns", by_columns);
    TileSpec scores;
    scores.rows = t_.rows, scores.vectors = scores.panel_vectors = t_.key_vectors;
    scores.k = plan_.head_dim;
    scores.sums_row_bytes = stride_;
    scores_ = emit_tile(e_, symbol + "_scores", scores);
    TileSpec d_query;
    d_query.rows = t_.rows, d_query.vectors = d_query.panel_vectors = t_.value_vectors;
    d_query.a_row_bytes = stride_;
    d_query.sums_row_bytes = panel_row_;
    d_query_ = emit_tile(e_, symbol + "_d_query", d_query);
    TileSpec d_key = d_query;
    d_key.a_row_bytes = 0, d_key.a_by_columns = true, d_key.accumulate = true;
    d_key_ = emit_tile(e_, symbol + "_d_key", d_key);
    softmax_ = SoftmaxGradient(e_, plan_, t_, symbol + "_softmax").function();
    copy_ = emit_copy_rows(e_, symbol + "_copy");
  }

  template <auto Member>
  Value* size(int i = 0) {
    return e_.size<Member>(frame_, i);
  }
  template <auto Member>
  Value* pointer() {
    return e_.pointer<Member>(frame_);
  }
  void call(Function* f, std::initializer_list<Value*> arguments) {
    e_.b.CreateCall(f, llvm::ArrayRef<Value*>(arguments.begin(), arguments.size()));
  }
  Value* scratch(int64_t offset) { return e_.at(frame_.scratch, offset); }
  Value* none() { return llvm::ConstantPointerNull::get(e_.b.getPtrTy()); }
  // First element of head h in row s of batch b of what has `rows` rows of `row_bytes`.
  Value* head(Value* base, Value* b, Value* rows, Value* s, Value* row_bytes, Value* h) {
    Value* row = e_.b.CreateAdd(e_.b.CreateMul(b, rows), s);
    return e_.at(base, e_.b.CreateAdd(e_.b.CreateMul(row, row_bytes), e_.times(h, int64_t{plan_.head_dim} * 4)));
  }
  enum Operand : int { kQ, kK, kV, kD };
  Value* row_bytes(Operand operand) { return e_.times(size<&A::row_strides>(operand), 4); }
  void clear(int64_t from, int64_t to) {
    e_.loop(e_.num(from), e_.num(to), int64_t{e_.lanes} * 4, {}, [&](Value* at, const Values&) {
      e_.store(e_.c_f32(0), e_.at(frame_.scratch, at), e_.lanes * 4);
      return Values{};
    });
  }

  void one_item(Value* b, Value* kv_head) {
    lay_out(head(pointer<&A::k>(), b, keys_, e_.num(0), row_bytes(kK), kv_head),
            head(pointer<&A::v>(), b, keys_, e_.num(0), row_bytes(kV), kv_head));
    clear(s_.d_keys, s_.strip);
    const int64_t shared = plan_.heads / plan_.kv_heads;
    e_.loop(e_.num(0), e_.num(shared), 1, {}, [&](Value* i, const Values&) {
      Value* h = e_.b.CreateAdd(e_.times(kv_head, shared), i);
      e_.loop(e_.num(0), queries_, s_.block_queries, {}, [&](Value* s, const Values&) {
        block(b, h, s, e_.smaller(e_.b.CreateSub(queries_, s), e_.num(s_.block_queries)));
        return Values{};
      });
      return Values{};
    });
    const int64_t dense = int64_t{plan_.kv_heads} * plan_.head_dim * 4;
    for (const auto& [result, from] :
         {std::pair(place_of<&A::dk>, s_.d_keys), std::pair(place_of<&A::dv>, s_.d_values)})
      when_wanted(e_.kernel_pointer(frame_, result), [&, from = from](Value* base) {
        Value* out = head(base, b, keys_, e_.num(0), e_.num(dense), kv_head);
        for (int64_t c = 0; c < plan_.head_dim; c += t_.value_columns())
          call(copy_, {scratch(from + c * s_.padded_keys * 4), e_.num(panel_row_), e_.at(out, c * 4), e_.num(dense),
                       keys_, e_.num(std::min<int64_t>(t_.value_columns(), plan_.head_dim - c))});
      });
  }

  template <class Then>
  void when_wanted(Value* base, Then then) {
    e_.when(e_.b.CreateIsNotNull(base), [&] { then(base); });
  }

  void lay_out(Value* k, Value* v) {
    e_.loop(e_.num(0), keys_, t_.key_columns(), {}, [&](Value* t, const Values&) {
      Value *left = e_.b.CreateSub(keys_, t), *width = e_.num(plan_.head_dim);
      call(pack_by_keys_,
           {e_.at(k, e_.b.CreateMul(t, row_bytes(kK))), row_bytes(kK), width, left, by_keys(s_.score_keys, t)});
      call(pack_by_keys_,
           {e_.at(v, e_.b.CreateMul(t, row_bytes(kV))), row_bytes(kV), width, left, by_keys(s_.values, t)});
      return Values{};
    });
    pack_columns(k, row_bytes(kK), keys_, s_.keys, max_length_);
  }
  Value* by_keys(int64_t offset, Value* t) { return e_.at(scratch(offset), e_.times(t, int64_t{plan_.head_dim} * 4)); }
  // Panels by columns of a head, each with room for so many rows.
  void pack_columns(Value* from, Value* row, Value* rows, int64_t to, int64_t room) {
    for (int64_t c = 0; c < plan_.head_dim; c += t_.value_columns())
      call(pack_by_columns_, {e_.at(from, c * 4), row, rows, e_.num(plan_.head_dim - c), scratch(to + c * room * 4)});
  }

  // `count` queries from s on of one head.
  void block(Value* b, Value* h, Value* s, Value* count) {
    Value *q = head(pointer<&A::q>(), b, queries_, s, row_bytes(kQ), h),
          *d = head(pointer<&A::d>(), b, queries_, s, row_bytes(kD), h);
    pack_columns(q, row_bytes(kQ), count, s_.queries, s_.block_queries);
    pack_columns(d, row_bytes(kD), count, s_.d, s_.block_queries);
    e_.loop(e_.num(0), count, t_.rows, {}, [&](Value* r, const Values&) {
      strip(b, h, q, d, s, r, e_.smaller(e_.b.CreateSub(count, r), e_.num(t_.rows)));
      return Values{};
    });
    e_.loop(e_.num(0), keys_, t_.rows, {}, [&](Value* t, const Values&) {
      add_to_keys(t, s, count);
      return Values{};
    });
  }

  // Rows of P and D, and dq.
  void strip(Value* b, Value* h, Value* q, Value* d, Value* s, Value* r, Value* rows) {
    Value *first = e_.b.CreateAdd(s, r), *keys = keys_;
    Value* visible = e_.b.CreateAdd(ahead_, e_.b.CreateAdd(first, e_.num(1)));
    if (plan_.limited)
      keys = e_.smaller(keys, e_.larger(e_.b.CreateAdd(visible, e_.b.CreateSub(rows, e_.num(1))), e_.num(1)));
    Value *weights = e_.at(scratch(s_.weights), e_.times(r, stride_)),
          *d_scores = e_.at(scratch(s_.d_scores), e_.times(r, stride_));
    products(e_.at(q, e_.b.CreateMul(r, row_bytes(kQ))), row_bytes(kQ), rows, s_.score_keys, keys, weights);
    products(e_.at(d, e_.b.CreateMul(r, row_bytes(kD))), row_bytes(kD), rows, s_.values, keys, d_scores);
    Value *mask = none(), *mask_row = e_.num(0);
    if (plan_.mask != AttentionPlan::Mask::none) {
      mask_row = e_.times(size<&A::mask_strides>(2), 4);
      Value* start =
          e_.b.CreateAdd(e_.b.CreateMul(b, size<&A::mask_strides>(0)), e_.b.CreateMul(h, size<&A::mask_strides>(1)));
      mask = e_.at(pointer<&A::mask>(),
                   e_.times(e_.b.CreateAdd(start, e_.b.CreateMul(first, size<&A::mask_strides>(2))), 4));
    }
    call(softmax_, {weights, d_scores, mask, mask_row, rows, keys_, visible});
    when_wanted(pointer<&A::dq>(), [&](Value* base) {
      const int64_t dense = int64_t{plan_.heads} * plan_.head_dim * 4;
      Value* out = head(base, b, queries_, first, e_.num(dense), h);
      for (int64_t c = 0; c < plan_.head_dim; c += t_.value_columns()) {
        call(d_query_, {d_scores, scratch(s_.keys + c * max_length_ * 4), none(), sums_, e_.num(0), keys});
        call(copy_, {sums_, e_.num(panel_row_), e_.at(out, c * 4), e_.num(dense), rows,
                     e_.num(std::min<int64_t>(t_.value_columns(), plan_.head_dim - c))});
      }
    });
  }

  // Rows times panels by keys. Too few rows for a tile are copied, so that no row outside is read; those missing are
  // what was there.
  void products(Value* a, Value* a_row, Value* rows, int64_t panels, Value* keys, Value* to) {
    const int64_t dense = int64_t{plan_.head_dim} * 4;
    Value* shorter = e_.b.CreateICmpSLT(rows, e_.num(t_.rows));
    e_.when(shorter, [&] { call(copy_, {a, a_row, scratch(s_.strip), e_.num(dense), rows, e_.num(plan_.head_dim)}); });
    a = e_.b.CreateSelect(shorter, scratch(s_.strip), a);
    a_row = e_.b.CreateSelect(shorter, e_.num(dense), a_row);
    e_.loop(e_.num(0), keys, t_.key_columns(), {}, [&](Value* t, const Values&) {
      call(scores_, {a, by_keys(panels, t), none(), e_.at(to, e_.times(t, 4)), a_row, e_.num(plan_.head_dim)});
      return Values{};
    });
  }

  // What the block's queries add to dk and dv of a strip of keys from t on.
  void add_to_keys(Value* t, Value* s, Value* count) {
    Value* first = e_.num(0);  // query that sees one of them
    if (plan_.limited) {
      first = e_.b.CreateSub(e_.b.CreateSub(t, ahead_), s);
      first = e_.smaller(e_.larger(first, e_.num(0)), count);
    }
    Value* left = e_.b.CreateSub(count, first);
    for (const auto& [from, panels, to] :
         {std::tuple(s_.d_scores, s_.queries, s_.d_keys), {s_.weights, s_.d, s_.d_values}})
      for (int64_t c = 0; c < plan_.head_dim; c += t_.value_columns()) {
        Value* a = e_.at(scratch(from), e_.b.CreateAdd(e_.times(first, stride_), e_.times(t, 4)));
        Value* w = e_.at(scratch(panels + c * s_.block_queries * 4), e_.times(first, panel_row_));
        Value* sums = e_.at(scratch(to + c * s_.padded_keys * 4), e_.times(t, panel_row_));
        call(d_key_, {a, w, none(), sums, e_.num(stride_), left});
      }
  }

  X86Emitter& e_;
  const AttentionPlan& plan_;
  const AttentionGradientShape s_;
  const AttentionTiles& t_;
  const int64_t max_length_;
  const int64_t stride_, panel_row_;  // bytes of a row of scores, and of a panel by columns
  Function *pack_by_keys_ = nullptr, *pack_by_columns_ = nullptr, *scores_ = nullptr, *d_query_ = nullptr,
           *d_key_ = nullptr, *softmax_ = nullptr, *copy_ = nullptr;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *queries_ = nullptr, *keys_ = nullptr, *ahead_ = nullptr;
};

}  // namespace

void emit_attention_gradient(X86Emitter& e, const X86AttentionGradientPlan& plan, const std::string& symbol,
                             int shrink) {
  AttentionGradientKernel(e, plan, symbol, shrink);
}

}  // namespace hone
