#include "device/x86/quantize_reductions.h"

#include <algorithm>

#include "device/llvm/expr_emit.h"

namespace hone {

using llvm::Value;

QuantizeReductions::QuantizeReductions(QuantizeLoops& walk)
    : loops_(walk), e_(walk.e), b_(walk.b), programs_(walk.programs) {
  for (size_t r = 0; r < programs_.reductions.size(); ++r) results_.push_back(loops_.slot(e_.f64));
  nonfinite_ = loops_.slot(e_.i32);
}

Value* QuantizeReductions::identity(const Reduction& r) {
  if (r.magnitude) return e_.c_i32(0);
  if (r.combine == Combine::sum) return llvm::ConstantFP::get(e_.f64, 0);
  return identity_of(r.combine, e_.vec(e_.scalar_type(r.term.result_type(0))));
}

llvm::Constant* QuantizeReductions::identity_of(Combine kind, llvm::Type* type) {
  if (kind == Combine::sum) return llvm::ConstantFP::get(type, 0);
  return llvm::ConstantFP::getInfinity(type, kind == Combine::max);
}

// NaN never gets past a clean group; a nonfinite one's results are not looked at.
Value* QuantizeReductions::combine(Combine kind, Value* x, Value* y) {
  if (kind == Combine::sum) return b_.CreateFAdd(x, y);
  Value* first = kind == Combine::max ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y);
  return b_.CreateSelect(first, x, y);
}

Value* QuantizeReductions::largest(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y); }

Value* QuantizeReductions::magnitudes(Value* x) { return b_.CreateAnd(e_.as(x, e_.v_i32), e_.c_i32(0x7fffffff)); }

Value* QuantizeReductions::is_infinite(Value* bits) {
  return b_.CreateZExt(b_.CreateICmpUGE(bits, b_.getInt32(kInfinity)), e_.i32);
}

Value* QuantizeReductions::is_nonfinite(Value* j) {
  return has_nonfinite() ? e_.splat(b_.CreateICmpNE(loops_.i32_of(nonfinite_, j), b_.getInt32(0))) : nullptr;
}

// What is found of NaN and infinity: the largest magnitude's bits, where no reduction is just that.
bool QuantizeReductions::watches(size_t first, size_t last) const {
  const auto begin = programs_.reductions.begin();
  return first == 0 && has_nonfinite() &&
         std::none_of(begin, begin + static_cast<ptrdiff_t>(last), [](const Reduction& r) { return r.magnitude; });
}

QuantizeReductions::StageResults QuantizeReductions::reduce_stage(size_t first, size_t last, Value* place, Value* n,
                                                                  const Values& earlier) {
  Values acc;
  for (size_t r = first; r < last; ++r) acc.push_back(identity(programs_.reductions[r]));
  const bool watching = watches(first, last);
  if (watching) acc.push_back(e_.c_i32(0));
  acc = loops_.elements(place, n, acc, [&](Value* at, Value*, Value* mask, Value*, Values sums) {
    Value* x = loops_.load_x(at, mask);
    Values args{x};
    args.insert(args.end(), earlier.begin(), earlier.end());
    for (size_t r = first; r < last; ++r)
      sums[r - first] = add_elements(programs_.reductions[r], args, mask, sums[r - first]);
    if (watching) sums.back() = largest(sums.back(), magnitudes(x));
    return sums;
  });
  StageResults out;
  for (size_t r = first; r < last; ++r) finish(programs_.reductions[r], acc[r - first], out);
  if (watching) out.nonfinite = is_infinite(e_.reduce(acc.back(), [&](Value* x, Value* y) { return largest(x, y); }));
  return out;
}

Value* QuantizeReductions::add_elements(const Reduction& r, const Values& args, Value* mask, Value* sum) {
  if (r.magnitude) return largest(sum, magnitudes(args[0]));  // idle lanes are 0
  Value* term = emit_program(e_, r.term, args, nullptr)[0];
  if (r.combine == Combine::sum) {
    if (mask) term = b_.CreateSelect(mask, term, llvm::Constant::getNullValue(term->getType()));
    return b_.CreateFAddReduce(sum, term);  // one after the other
  }
  if (mask) term = b_.CreateSelect(mask, term, identity(r));
  return combine(r.combine, term, sum);
}

void QuantizeReductions::finish(const Reduction& r, Value* sum, StageResults& out) {
  if (r.magnitude) {
    Value* bits = e_.reduce(sum, [&](Value* x, Value* y) { return largest(x, y); });
    if (has_nonfinite()) out.nonfinite = is_infinite(bits);
    out.results.push_back(b_.CreateFPExt(b_.CreateBitCast(bits, e_.f32), e_.f64));
    return;
  }
  if (r.combine != Combine::sum) sum = e_.reduce(sum, [&](Value* x, Value* y) { return combine(r.combine, x, y); });
  out.results.push_back(sum->getType() == e_.f64 ? sum : b_.CreateFPExt(sum, e_.f64));
}

void QuantizeReductions::reduce_group(Value* j, Value* place, Value* n) {
  Values earlier;
  for (size_t first = 0; first < results_.size();) {
    const size_t last = programs_.end_of_stage(first);
    const StageResults stage = reduce_stage(first, last, place, n, earlier);
    for (size_t r = first; r < last; ++r) {
      e_.store(stage.results[r - first], e_.at(results_[r], e_.times(j, 8)), 8);
      earlier.push_back(e_.splat(stage.results[r - first]));
    }
    if (stage.nonfinite) e_.store(stage.nonfinite, e_.at(nonfinite_, e_.times(j, 4)), 4);
    first = last;
  }
}

QuantizeReductions::OfGroups QuantizeReductions::of_groups() {
  OfGroups g;
  for (Value* slot : results_) g.results.push_back(loops_.f64s(slot));
  if (global_) g.results.push_back(e_.splat(global_));
  if (has_nonfinite()) g.nonfinite = b_.CreateICmpNE(e_.load(e_.v_i32, nonfinite_, 64), e_.c_i32(0));
  return g;
}

// ---- Parts: entry `slot * parts + i`.

void QuantizeReductions::store_global_part(Value* item, const QuantizeLoops::Block& block) {
  const OfGroups g = of_groups();
  Value* term = emit_program(e_, programs_.global_term, g.results, nullptr)[0];
  Value* counts = b_.CreateAnd(e_.tail_mask(block.count), b_.CreateNot(g.nonfinite));
  term = b_.CreateSelect(counts, term, identity_of(programs_.global_combine, term->getType()));
  Value* part = e_.reduce(term, [&](Value* x, Value* y) { return combine(programs_.global_combine, x, y); });
  e_.store(part, e_.at(loops_.pointer<&QuantizeArgs::parts>(), e_.times(item, 8)), 8);
}

void QuantizeReductions::reduce_segments() {
  Values earlier;
  size_t first = 0, last = programs_.end_of_stage(0);
  for (int stage = 0; stage < loops_.plan.stage; ++stage) {
    for (size_t r = first; r < last; ++r)
      earlier.push_back(e_.splat(combine_parts(r, programs_.reductions[r].combine)));
    first = last, last = programs_.end_of_stage(first);
  }
  loops_.segments([&](Value* item, Value* place, Value* n) {
    const StageResults stage = reduce_stage(first, last, place, n, earlier);
    const auto put = [&](size_t slot, Value* value) {
      Value* entry = b_.CreateAdd(b_.CreateMul(e_.num(static_cast<int64_t>(slot)), parts()), item);
      e_.store(value, e_.at(loops_.pointer<&QuantizeArgs::parts>(), e_.times(entry, 8)), 8);
    };
    for (size_t r = first; r < last; ++r) put(r, stage.results[r - first]);
    if (stage.nonfinite) put(results_.size(), b_.CreateUIToFP(stage.nonfinite, e_.f64));
  });
}

Value* QuantizeReductions::combine_parts(size_t slot, Combine kind) {
  Value* first = e_.at(loops_.pointer<&QuantizeArgs::parts>(),
                       e_.times(b_.CreateMul(e_.num(static_cast<int64_t>(slot)), parts()), 8));
  if (kind == Combine::sum)
    return e_.loop(e_.num(0), parts(), 1, {llvm::ConstantFP::get(e_.f64, 0)}, [&](Value* i, const Values& sum) {
      return Values{b_.CreateFAdd(sum[0], loops_.f64_of(first, i))};
    })[0];
  llvm::Type* type = e_.vec(e_.f64);
  llvm::Constant* none = identity_of(kind, type);
  Value* all = e_.loop(e_.num(0), parts(), e_.lanes, {none}, [&](Value* i, const Values& best) {
    Value* mask = e_.tail_mask(b_.CreateSub(parts(), i));
    Value* part = b_.CreateMaskedLoad(type, e_.at(first, e_.times(i, 8)), llvm::Align(8), mask, none);
    return Values{combine(kind, part, best[0])};
  })[0];
  return e_.reduce(all, [&](Value* x, Value* y) { return combine(kind, x, y); });
}

void QuantizeReductions::load_global() {
  if (programs_.has_global) set_global({e_.splat(combine_parts(0, programs_.global_combine))});
}

void QuantizeReductions::load_whole() {
  for (size_t r = 0; r < results_.size(); ++r)
    e_.store(e_.splat(combine_parts(r, programs_.reductions[r].combine)), results_[r], 64);
  if (has_nonfinite()) {
    Value* nonfinite = combine_parts(results_.size(), Combine::max);
    Value* any = b_.CreateZExt(b_.CreateFCmpOGT(nonfinite, llvm::ConstantFP::get(e_.f64, 0)), e_.i32);
    e_.store(e_.splat(any), nonfinite_, 64);
  }
  if (!programs_.has_global) return;
  // With one group in all, the global value follows from its results.
  Values results;
  for (Value* slot : results_) results.push_back(loops_.f64s(slot));
  set_global(emit_program(e_, programs_.global_term, results, nullptr));
}

void QuantizeReductions::set_global(const Values& combined) {
  global_ = b_.CreateExtractElement(emit_program(e_, programs_.global_value, combined, nullptr)[0], uint64_t{0});
}

}  // namespace hone
