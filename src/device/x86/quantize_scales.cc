#include "device/x86/quantize_scales.h"

#include "device/llvm/expr_emit.h"
#include "kernels/program_uses.h"

namespace hone {

using llvm::Value;

QuantizeScales::QuantizeScales(QuantizeLoops& walk, QuantizeReductions& reductions)
    : loops_(walk), reductions_(reductions), e_(walk.e), b_(walk.b), programs_(walk.programs) {
  for (int v = 0; v < programs_.values(); ++v) values_.push_back(loops_.slot(e_.f64));
  for (int l = 0; l < programs_.levels + programs_.has_zero_point; ++l) codes_.push_back(loops_.slot(e_.i32));
  if (programs_.scales.size() > 1)
    for (size_t c = 0; c < programs_.scales.size(); ++c) errors_.push_back(loops_.slot(e_.f64));
}

void QuantizeScales::choose(const QuantizeLoops::Block& block) {
  const QuantizeReductions::OfGroups g = reductions_.of_groups();
  const int first_result = programs_.levels + programs_.has_zero_point;
  for (size_t r = 0; r < g.results.size(); ++r) {
    Value* zero = llvm::Constant::getNullValue(g.results[r]->getType());
    e_.store(g.nonfinite ? b_.CreateSelect(g.nonfinite, zero, g.results[r]) : g.results[r],
             values_[static_cast<size_t>(first_result) + r], 64);
  }
  if (programs_.levels == 0) return;
  Values best = candidate(g, 0);
  store_candidate(best);
  if (programs_.scales.size() == 1) return;
  Value* smallest = squared_errors(block, 0);
  for (size_t c = 1; c < programs_.scales.size(); ++c) {
    const Values other = candidate(g, c);
    store_candidate(other);
    Value* error = squared_errors(block, c);
    Value* better = b_.CreateFCmpOLT(error, smallest);
    smallest = b_.CreateSelect(better, error, smallest);
    for (size_t i = 0; i < best.size(); ++i) best[i] = b_.CreateSelect(better, other[i], best[i]);
  }
  store_candidate(best);
}

Values QuantizeScales::candidate(const QuantizeReductions::OfGroups& g, size_t index) {
  Values out = emit_program(e_, programs_.scales[index], g.results, nullptr);
  const auto levels = static_cast<size_t>(programs_.levels);
  for (size_t i = 0; i < out.size(); ++i) {
    Value*& value = out[i];
    const bool is_code = value->getType() == e_.v_i32, is_scale_code = i < levels;
    const bool is_zero = programs_.has_zero_point && (i == 2 * levels || i == 2 * levels + 1);
    llvm::Type* type = value->getType();
    Value* replacement = is_code ? static_cast<Value*>(e_.c_i32(is_scale_code ? programs_.nan_code : 0))
                                 : llvm::ConstantFP::get(type, is_zero ? 0.0 : 1.0);
    value = b_.CreateSelect(g.nonfinite, replacement, value);
  }
  return out;
}

// A candidate's outputs (QuantizePrograms::scales) to the slots that elements read.
void QuantizeScales::store_candidate(const Values& out) {
  const auto levels = static_cast<size_t>(programs_.levels);
  for (size_t l = 0; l < levels; ++l) e_.store(out[l], codes_[l], 64), e_.store(out[levels + l], values_[l], 64);
  if (programs_.has_zero_point)
    e_.store(out[2 * levels], codes_[levels], 64), e_.store(out[2 * levels + 1], values_[levels], 64);
  for (int r = 0; r < programs_.reciprocals; ++r) {
    const size_t back = static_cast<size_t>(programs_.reciprocals - r);
    e_.store(out[out.size() - back], values_[values_.size() - back], 64);
  }
}

Value* QuantizeScales::squared_errors(const QuantizeLoops::Block& block, size_t candidate) {
  loops_.groups(block, [&](Value* j, Value* place, Value* n) {
    const OfGroup group = of_group(j, programs_.error);
    const Values sum = loops_.elements(
        place, n, {llvm::ConstantFP::get(e_.f64, 0)}, [&](Value* at, Value*, Value* mask, Value*, const Values& sums) {
          Value* term = element(loops_.load_x(at, mask), group)[0];
          if (mask) term = b_.CreateSelect(mask, term, llvm::Constant::getNullValue(term->getType()));
          return Values{b_.CreateFAddReduce(sums[0], term)};
        });
    e_.store(sum[0], e_.at(errors_[candidate], e_.times(j, 8)), 8);
  });
  return loops_.f64s(errors_[candidate]);
}

QuantizeScales::OfGroup QuantizeScales::of_group(Value* j, const Program& program) {
  Values args{nullptr};
  for (size_t v = 0; v < values_.size(); ++v)
    args.push_back(reads_argument(program, 1 + static_cast<int>(v)) ? e_.splat(loops_.f64_of(values_[v], j)) : nullptr);
  return {program, args, emit_invariants(e_, program, args)};
}

Values QuantizeScales::element(Value* x, OfGroup group) {
  group.args[0] = x;
  return emit_program(e_, group.program, group.args, nullptr, group.known);
}

void QuantizeScales::store(Value* j, Value* number) {
  const auto put = [&](Value* slot, Value* to, Value* index, int bytes) {
    Value* code = b_.CreateTrunc(loops_.i32_of(slot, j), b_.getIntNTy(static_cast<unsigned>(bytes) * 8));
    e_.store(code, e_.at(to, e_.times(index, bytes)), 1);
  };
  for (int l = 0; l < programs_.levels; ++l)
    put(codes_[static_cast<size_t>(l)], loops_.pointer<&QuantizeArgs::scales>(),
        b_.CreateAdd(e_.times(number, programs_.levels), e_.num(l)), loops_.plan.scale_bytes);
  if (programs_.has_zero_point)
    put(codes_.back(), loops_.pointer<&QuantizeArgs::zero_points>(), number, loops_.plan.zero_point_bytes);
}

}  // namespace hone
