// Attention kernels (kernels/attention/shape.h): products from the tiles of gemm, softmax between them.
#include <limits>

#include "codegen/kernels/attention/plan.h"
#include "codegen/kernels/attention/shape.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/expr_emit.h"
#include "codegen/llvm/panel.h"
#include "codegen/llvm/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

// void(scores, inverse_sums, mask, mask_row_bytes, rows, keys, visible)   pointers, then i64
// Rows of raw products become exp(scale * product + mask - largest); the reciprocal of each row's sum goes beside them.
// With `causal`, row r sees the first visible + r keys and gets 0 for the rest up to `keys`. A row of -inf alone gives
// NaN.
class Softmax {
 public:
  Softmax(Emitter& e, const AttentionPlan& plan, const AttentionShape& shape, const std::string& symbol)
      : e_(e),
        plan_(plan),
        stride_(shape.score_stride * 4),
        exp_difference_(flatten(exp(Expr::arg(0, Scalar::f32) - Expr::arg(1, Scalar::f32)))) {
    llvm::Type* const params[] = {e.ptr, e.ptr, e.ptr, e.i64, e.i64, e.i64, e.i64};
    function_ = e.begin_function(symbol, e.b.getVoidTy(), params, false);
    allow_spills(function_);
    const auto arg = [&](unsigned i) { return function_->getArg(i); };
    e.loop(e.num(0), arg(4), 1, {}, [&](Value* r, const Values&) {
      Value* scores = e.at(arg(0), e.times(r, stride_));
      Value* mask = plan.has_mask ? e.at(arg(2), e.b.CreateMul(r, arg(3))) : nullptr;
      Value* count = arg(5);
      if (plan.causal) {
        Value* visible = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e.b.CreateAdd(arg(6), r), e.num(0));
        count = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, visible, arg(5));
      }
      Value* sum = one_row(scores, mask, count);
      Value* inverse = e.b.CreateFDiv(llvm::ConstantFP::get(e.f32, 1.0), sum);
      e.store(inverse, e.at(arg(1), e.times(r, 4)), 4);
      if (plan.causal)
        e.loop(count, arg(5), 1, {}, [&](Value* t, const Values&) {
          e.store(llvm::ConstantFP::get(e.f32, 0.0), e.at(scores, e.times(t, 4)), 4);
          return Values{};
        });
      return Values{};
    });
    e.end_function();
  }

  Function* function() const { return function_; }

 private:
  Value* one_row(Value* scores, Value* mask, Value* count) {
    const double lowest = -std::numeric_limits<double>::infinity();
    const Values most = over(count, {e_.c_f32(lowest)}, [&](Value* t, Value* lanes, Value* best) {
      Value* x = e_.b.CreateFMul(e_.masked_load(e_.v_f32, e_.at(scores, e_.times(t, 4)), lanes), e_.c_f32(plan_.scale));
      if (mask) x = e_.b.CreateFAdd(x, e_.masked_load(e_.v_f32, e_.at(mask, e_.times(t, 4)), lanes));
      e_.masked_store(x, e_.at(scores, e_.times(t, 4)), lanes);
      if (lanes) x = e_.b.CreateSelect(lanes, x, e_.c_f32(lowest));
      return larger(best, x);
    });
    Value* row_most = e_.splat(e_.reduce(most[0], [&](Value* x, Value* y) { return larger(x, y); }));
    const Values sum = over(count, {e_.c_f32(0)}, [&](Value* t, Value* lanes, Value* so_far) {
      Value* const args[] = {e_.masked_load(e_.v_f32, e_.at(scores, e_.times(t, 4)), lanes), row_most};
      Value* x = emit_program(e_, exp_difference_, args, nullptr)[0];
      e_.masked_store(x, e_.at(scores, e_.times(t, 4)), lanes);
      if (lanes) x = e_.b.CreateSelect(lanes, x, e_.c_f32(0));
      return e_.b.CreateFAdd(so_far, x);
    });
    return e_.reduce(sum[0], [&](Value* x, Value* y) { return e_.b.CreateFAdd(x, y); });
  }

  // A NaN score is lost here and comes back through exp.
  Value* larger(Value* x, Value* y) { return e_.b.CreateSelect(e_.b.CreateFCmpOGT(x, y), x, y); }

  // body(first key, lanes in use or null, value so far) over all vectors of a row.
  template <class Body>
  Values over(Value* count, Values carried, Body body) {
    Value* whole = e_.b.CreateSDiv(count, e_.num(e_.lanes));
    carried = e_.loop(e_.num(0), whole, 1, carried, [&](Value* i, const Values& now) {
      return Values{body(e_.times(i, e_.lanes), nullptr, now[0])};
    });
    Value* done = e_.times(whole, e_.lanes);
    // A loop of at most one trip, which carries its value where `when` could not.
    Value* ragged = e_.b.CreateZExt(e_.b.CreateICmpSLT(done, count), e_.i64);
    return e_.loop(e_.num(0), ragged, 1, carried, [&](Value*, const Values& now) {
      return Values{body(done, e_.tail_mask(e_.b.CreateSub(count, done)), now[0])};
    });
  }

  Emitter& e_;
  const AttentionPlan& plan_;
  const int64_t stride_;
  const Program exp_difference_;
  Function* function_ = nullptr;
};

// void(sums, inverse_sums, out, out_row_bytes, rows, columns): stores rows of sums * inverse sum.
Function* emit_output(Emitter& e, const AttentionPlan& plan, const AttentionShape& shape, const std::string& symbol) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.ptr, e.i64, e.i64, e.i64};
  Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  const auto store = [&](Value* r, int v, Value* lanes) {
    Value* factor = e.load_broadcast(DType::f32, e.at(f->getArg(1), e.times(r, 4)));
    Value* sums = e.load(
        e.v_f32, e.at(e.at(f->getArg(0), e.times(r, shape.value_columns() * 4)), int64_t{v} * shape.lanes * 4), 4);
    Value* out =
        e.at(e.at(f->getArg(2), e.b.CreateMul(r, f->getArg(3))), int64_t{v} * shape.lanes * size_bytes(plan.result));
    e.store_elements(e.b.CreateFMul(sums, factor), plan.result, out, lanes);
  };
  for (int v = 0; v < shape.value_vectors; ++v) {
    Value* left = e.b.CreateSub(f->getArg(5), e.num(int64_t{v} * shape.lanes));
    const auto rows = [&](Value* lanes) {
      e.loop(e.num(0), f->getArg(4), 1, {}, [&](Value* r, const Values&) {
        store(r, v, lanes);
        return Values{};
      });
    };
    e.when(e.b.CreateICmpSGE(left, e.num(shape.lanes)), [&] { rows(nullptr); });
    if (plan.head_dim % shape.lanes == 0) continue;
    Value* ragged = e.b.CreateAnd(e.b.CreateICmpSLT(left, e.num(shape.lanes)), e.b.CreateICmpSGT(left, e.num(0)));
    e.when(ragged, [&] { rows(e.tail_mask(left)); });
  }
  e.end_function();
  return f;
}

class AttentionKernel {
 public:
  AttentionKernel(Emitter& e, const AttentionPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), s_(attention_shape(plan, e.target, shrink)), size_(size_bytes(plan.dtype)) {
    emit_parts(symbol);
    frame_ = e.begin_kernel(symbol);
    allow_spills(frame_.function);
    sums_ = e.stack(e.v_f32, int64_t{s_.rows} * s_.value_vectors);
    Value* blocks = e.b.CreateSDiv(e.b.CreateAdd(dim(1), e.num(kQueriesPerItem - 1)), e.num(kQueriesPerItem));
    e.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value *block = e.b.CreateURem(item, blocks), *rest = e.b.CreateUDiv(item, blocks);
      one_item(e.b.CreateUDiv(rest, e.num(plan.heads)), e.b.CreateURem(rest, e.num(plan.heads)), block);
      return Values{};
    });
    e.end_function();
  }

 private:
  void emit_parts(const std::string& symbol) {
    const PackSpec keys{plan_.dtype, s_.keys, s_.key_vectors}, values{plan_.dtype, PanelType::f32, s_.value_vectors};
    pack_keys_ = emit_pack_nk(e_, symbol + "_keys", keys);
    pack_values_ = emit_pack_kn(e_, symbol + "_values", values);
    TileSpec scores;
    scores.rows = s_.rows, scores.vectors = scores.panel_vectors = s_.key_vectors;
    scores.a = plan_.dtype, scores.panel = s_.keys, scores.dot = s_.dot;
    scores.k = plan_.head_dim;
    scores.sums_row_bytes = s_.score_stride * 4;
    scores_ = emit_tile(e_, symbol + "_scores", scores);
    TileSpec result;
    result.rows = s_.rows, result.vectors = result.panel_vectors = s_.value_vectors;
    result.a_row_bytes = s_.score_stride * 4;
    result.sums_row_bytes = s_.value_columns() * 4;
    result_ = emit_tile(e_, symbol + "_result", result);
    softmax_ = Softmax(e_, plan_, s_, symbol + "_softmax").function();
    output_ = emit_output(e_, plan_, s_, symbol + "_output");
  }

  Value* dim(int i) { return e_.kernel_dim(frame_, i); }
  void call(Function* f, std::initializer_list<Value*> arguments) {
    e_.b.CreateCall(f, llvm::ArrayRef<Value*>(arguments.begin(), arguments.size()));
  }
  // First element of head h in row s of batch b of an operand with `rows` rows of dims[stride] elements.
  Value* head_pointer(int pointer, Value* b, Value* rows, Value* s, int stride, Value* h, int64_t element_bytes) {
    Value* row = e_.b.CreateAdd(e_.b.CreateMul(b, rows), s);
    Value* elements = e_.b.CreateAdd(e_.b.CreateMul(row, dim(stride)), e_.times(h, plan_.head_dim));
    return e_.at(e_.kernel_pointer(frame_, pointer), e_.times(elements, element_bytes));
  }
  Value* scratch(int64_t offset) { return e_.at(frame_.scratch, offset); }

  void one_item(Value* b, Value* h, Value* block) {
    Value *queries = dim(1), *keys = dim(2);
    Value* kv_head = e_.b.CreateUDiv(h, e_.num(plan_.heads / plan_.kv_heads));
    lay_out(head_pointer(1, b, keys, e_.num(0), 4, kv_head, size_),
            head_pointer(2, b, keys, e_.num(0), 5, kv_head, size_));
    Value* first = e_.times(block, kQueriesPerItem);
    Value* last =
        e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.b.CreateAdd(first, e_.num(kQueriesPerItem)), queries);
    e_.loop(first, last, s_.rows, {}, [&](Value* s, const Values&) {
      Value* rows = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.b.CreateSub(last, s), e_.num(s_.rows));
      strip(b, h, s, rows);
      return Values{};
    });
  }

  void lay_out(Value* k, Value* v) {
    Value *keys = dim(2), *k_row = e_.times(dim(4), size_), *v_row = e_.times(dim(5), size_);
    e_.loop(e_.num(0), keys, s_.key_columns(), {}, [&](Value* t, const Values&) {
      call(pack_keys_,
           {e_.at(k, e_.b.CreateMul(t, k_row)), k_row, e_.num(plan_.head_dim), e_.b.CreateSub(keys, t), key_panel(t)});
      return Values{};
    });
    for (int64_t c = 0; c < plan_.head_dim; c += s_.value_columns())
      call(pack_values_, {e_.at(v, c * size_), v_row, keys, e_.num(plan_.head_dim - c), value_panel(c)});
  }
  Value* key_panel(Value* t) {
    const int64_t rows = s_.dot ? (plan_.head_dim + 1) / 2 : plan_.head_dim;
    return e_.at(scratch(s_.keys_offset), e_.times(t, rows * 4));
  }
  Value* value_panel(int64_t c) { return scratch(s_.values_offset + c * plan_.max_length * 4); }

  void strip(Value* b, Value* h, Value* s, Value* rows) {
    Value *queries = dim(1), *keys = dim(2), *none = llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    // Query s sees the keys up to s + T - S.
    Value* visible = e_.b.CreateAdd(e_.b.CreateSub(keys, queries), e_.b.CreateAdd(s, e_.num(1)));
    if (plan_.causal) {
      Value* most = e_.b.CreateAdd(visible, e_.b.CreateSub(rows, e_.num(1)));
      keys = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, keys,
                                        e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most, e_.num(1)));
    }
    const auto pointer_and_stride = query_rows(head_pointer(0, b, queries, s, 3, h, size_), rows);
    Value *const q = pointer_and_stride.first, *const q_row = pointer_and_stride.second;
    e_.loop(e_.num(0), keys, s_.key_columns(), {}, [&](Value* t, const Values&) {
      call(scores_,
           {q, key_panel(t), none, e_.at(scratch(s_.scores_offset), e_.times(t, 4)), q_row, e_.num(plan_.head_dim)});
      return Values{};
    });
    Value *mask = none, *mask_row = e_.num(0);
    if (plan_.has_mask) {
      mask_row = e_.times(dim(9), 4);
      Value* start = e_.b.CreateAdd(e_.b.CreateMul(b, dim(7)), e_.b.CreateMul(h, dim(8)));
      start = e_.b.CreateAdd(start, e_.b.CreateMul(s, dim(9)));
      mask = e_.at(e_.kernel_pointer(frame_, 3), e_.times(start, 4));
    }
    call(softmax_, {scratch(s_.scores_offset), scratch(s_.sums_offset), mask, mask_row, rows, keys, visible});
    const int64_t result_size = size_bytes(plan_.result);
    Value* out = head_pointer(4, b, queries, s, 6, h, result_size);
    for (int64_t c = 0; c < plan_.head_dim; c += s_.value_columns()) {
      call(result_, {scratch(s_.scores_offset), value_panel(c), none, sums_, e_.num(0), keys});
      call(output_, {sums_, scratch(s_.sums_offset), e_.at(out, c * result_size), e_.times(dim(6), result_size), rows,
                     e_.num(plan_.head_dim - c)});
    }
  }

  // A full strip is read where it lies. A shorter one is copied to scratch and filled up with zeros, so that one tile
  // serves both and no row outside is read.
  std::pair<Value*, Value*> query_rows(Value* q, Value* rows) {
    const int64_t dense = plan_.head_dim * size_;
    Value *stride = e_.times(dim(3), size_), *copy = scratch(s_.queries_offset);
    Value* shorter = e_.b.CreateICmpSLT(rows, e_.num(s_.rows));
    e_.when(shorter, [&] {
      e_.loop(e_.num(0), e_.num(s_.queries_bytes()), s_.lanes * 4, {}, [&](Value* at, const Values&) {
        e_.store(e_.c_f32(0), e_.at(copy, at), s_.lanes * 4);
        return Values{};
      });
      e_.loop(e_.num(0), rows, 1, {}, [&](Value* r, const Values&) {
        e_.loop(e_.num(0), e_.num(plan_.head_dim), 1, {}, [&](Value* c, const Values&) {
          Value* offset = e_.times(c, size_);
          Value* x = e_.load(size_ == 4 ? e_.i32 : e_.i16, e_.at(e_.at(q, e_.b.CreateMul(r, stride)), offset),
                             static_cast<int>(size_));
          e_.store(x, e_.at(e_.at(copy, e_.times(r, dense)), offset), static_cast<int>(size_));
          return Values{};
        });
        return Values{};
      });
    });
    return {e_.b.CreateSelect(shorter, copy, q), e_.b.CreateSelect(shorter, e_.num(dense), stride)};
  }

  Emitter& e_;
  const AttentionPlan& plan_;
  const AttentionShape s_;
  const int64_t size_;
  Function *pack_keys_ = nullptr, *pack_values_ = nullptr, *scores_ = nullptr, *result_ = nullptr, *softmax_ = nullptr,
           *output_ = nullptr;
  KernelFrame frame_{};
  Value* sums_ = nullptr;
};

void emit(Emitter& e, const AttentionPlan& plan, const std::string& symbol, int shrink) {
  AttentionKernel(e, plan, symbol, shrink);
}

}  // namespace

extern constinit const EmitterDef attention_emitter_def = emitter_def<AttentionPlan, emit>();

}  // namespace hone
