#include "device/cuda/attention/softmax.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <limits>
#include <numbers>

#include "device/llvm/vector_math.h"

namespace hone {
namespace {

using Mask = AttentionPlan::Mask;

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// How scores are counted and where they are multiplied.
struct Scores {
  explicit Scores(const AttentionPlan& plan)
      : unit(plan.mask == Mask::added ? 1 : std::numbers::log2e),
        factor(plan.softcap != 0 ? double{plan.scale} / double{plan.softcap} : plan.scale * unit),
        waits(plan.softcap == 0 && plan.mask != Mask::added && plan.scale > 0) {}

  double unit;    // of scores
  double factor;  // of q·k
  bool waits;     // products are multiplied only where weights are made of them: their order is that of the scores
};

llvm::Value* number(CudaEmitter& e, double value) { return llvm::ConstantFP::get(e.f32, value); }

// A NaN score is lost here, and comes back through its weight.
llvm::Value* larger(CudaEmitter& e, llvm::Value* x, llvm::Value* y) {
  return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, x, y);
}

// What a row subtracts from its scores; 0 where it has seen no key, so that -inf stays -inf.
llvm::Value* subtracted(CudaEmitter& e, llvm::Value* largest) {
  return e.b.CreateSelect(e.b.CreateFCmpOEQ(largest, number(e, kLowest)), number(e, 0), largest);
}

// A difference of scores as the power of 2 that a weight is.
llvm::Value* in_powers(CudaEmitter& e, const Scores& scores, llvm::Value* difference) {
  return scores.unit == 1 ? e.b.CreateFMul(difference, number(e, std::numbers::log2e)) : difference;
}

// ex2.approx errs by 2 ulp; powers below 2^-126 are 0.
llvm::Value* power_of_two(CudaEmitter& e, llvm::Value* x) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {x});
}

// f of a scalar by vector_math.h.
template <class F>
llvm::Value* of_vector(CudaEmitter& e, llvm::Value* x, F f) {
  return e.with_lanes(1,
                      [&](CudaEmitter& one) { return one.b.CreateExtractElement(f(one, one.splat(x)), uint64_t{0}); });
}

}  // namespace

AttentionSoftmax::AttentionSoftmax(const AttentionBlock& block, const AttentionProducts& products)
    : block_(block), e_(block.e), products_(products) {
  for (llvm::Value* number_of_row : products.rows) {
    const AttentionBlock::Row row = block.row(number_of_row);
    seen_.push_back(block.keys_of(row));
    if (block.plan.mask != Mask::none) masks_.push_back(block.mask(row));
  }
}

AttentionSoftmax::State AttentionSoftmax::begin() const {
  const size_t rows = products_.rows.size();
  return {Values(rows, number(e_, kLowest)), Values(rows, number(e_, 0))};
}

// Scores from products.
llvm::Value* AttentionSoftmax::transformed(llvm::Value* x, size_t row, llvm::Value* key) {
  const AttentionPlan& plan = block_.plan;
  const Scores scores(plan);
  llvm::Value* added = nullptr;
  if (plan.mask == Mask::added) added = e_.load_constant(e_.f32, e_.at(masks_[row], e_.times(e_.wide(key), 4)), 4);
  if (added && plan.softcap == 0) return e_.fma(x, number(e_, scores.factor), added);
  if (!scores.waits) x = e_.b.CreateFMul(x, number(e_, scores.factor));
  if (plan.softcap != 0) {
    x = of_vector(e_, x, [](CudaEmitter& one, llvm::Value* v) { return vector_function(one, ExprOp::tanh, v); });
    x = e_.b.CreateFMul(x, number(e_, double{plan.softcap} * scores.unit));
  }
  if (added) return e_.b.CreateFAdd(x, added);
  if (plan.mask == Mask::none) return x;
  llvm::Value* chosen = e_.load_constant(e_.i8, e_.at(masks_[row], e_.wide(key)), 1);
  return e_.b.CreateSelect(e_.b.CreateICmpNE(chosen, e_.b.getInt8(0)), x, number(e_, kLowest));
}

// -inf where a key is not seen; masks of such keys are read where there is one.
std::vector<Values> AttentionSoftmax::masked(std::vector<Values> scores, llvm::Value* t, bool every_key) {
  auto& b = e_.b;
  llvm::Value *first = e_.low32(t), *last = b.CreateSub(e_.low32(block_.size<&CudaAttentionArgs::keys>()), e_.n32(1));
  for (size_t r = 0; r < scores.size(); ++r)
    for (size_t k = 0; k < scores[r].size(); ++k) {
      llvm::Value*& x = scores[r][k];
      llvm::Value* key = b.CreateAdd(first, products_.keys[k]);
      if (every_key) {
        x = transformed(x, r, key);
        continue;
      }
      llvm::Value* seen = b.CreateAnd(b.CreateICmpSGE(key, seen_[r].from), b.CreateICmpSLT(key, seen_[r].to));
      x = b.CreateSelect(seen, transformed(x, r, e_.smaller(key, last)), number(e_, kLowest));
    }
  return scores;
}

AttentionSoftmax::Weights AttentionSoftmax::weights(std::vector<Values> scores, llvm::Value* t, const State& before) {
  auto& b = e_.b;
  const Scores how(block_.plan);
  const AttentionBlock::Keys all = block_.seen_by_all();
  llvm::Value* end = b.CreateAdd(t, e_.num(block_.shape.tile_keys));
  llvm::Value* every = b.CreateAnd(b.CreateICmpSGE(t, all.from), b.CreateICmpSLE(end, all.to));
  const auto flat = [](const std::vector<Values>& rows) {
    Values values;
    for (const Values& row : rows) values.insert(values.end(), row.begin(), row.end());
    return values;
  };
  const Values chosen = e_.choose(
      every, [&] { return flat(masked(scores, t, true)); }, [&] { return flat(masked(scores, t, false)); });
  Weights out;
  for (size_t r = 0, at = 0; r < scores.size(); ++r) {
    Values& row = scores[r];
    llvm::Value* most = number(e_, kLowest);
    for (llvm::Value*& x : row) x = chosen[at++], most = larger(e_, most, x);
    for (const int apart : products_.partners) most = larger(e_, most, e_.shuffle_xor(most, apart));
    if (how.waits) most = b.CreateFMul(most, number(e_, how.factor));
    most = larger(e_, before.largest[r], most);
    out.state.largest.push_back(most);
    llvm::Value* base = subtracted(e_, most);
    out.alphas.push_back(power_of_two(e_, in_powers(e_, how, b.CreateFSub(before.largest[r], base))));
    llvm::Value *total = b.CreateFMul(before.total[r], out.alphas.back()), *minus = b.CreateFNeg(base);
    for (llvm::Value*& x : row) {
      x = power_of_two(
          e_, how.waits ? e_.fma(x, number(e_, how.factor), minus) : in_powers(e_, how, b.CreateFSub(x, base)));
      total = b.CreateFAdd(total, x);
    }
    out.state.total.push_back(total);
    out.of_rows.push_back(row);
  }
  return out;
}

Values AttentionSoftmax::totals(const State& state) const {
  Values totals = state.total;
  for (llvm::Value*& total : totals)
    for (const int apart : products_.partners) total = e_.b.CreateFAdd(total, e_.shuffle_xor(total, apart));
  return totals;
}

AttentionSoftmax::Factor AttentionSoftmax::factor(const AttentionBlock& block, const AttentionBlock::Row& row,
                                                  llvm::Value* largest, llvm::Value* total) {
  CudaEmitter& e = block.e;
  if (block.plan.sinks) {
    const double unit = Scores(block.plan).unit;
    llvm::Value* sink =
        e.load_constant(e.f32, e.at(block.pointer<&CudaAttentionArgs::sinks>(), e.times(block.head(row), 4)), 4);
    llvm::Value* difference = e.b.CreateFSub(e.b.CreateFMul(sink, number(e, unit)), subtracted(e, largest));
    llvm::Value* weight = of_vector(e, e.b.CreateFMul(difference, number(e, 1 / unit)),
                                    [](CudaEmitter& one, llvm::Value* v) { return vector_exp(one, v); });
    total = e.b.CreateFAdd(total, weight);
  }
  return {e.b.CreateFDiv(number(e, 1), total), e.b.CreateFCmpOEQ(largest, number(e, kLowest))};
}

// A row that sees no key may have no sums yet. With a sink it has a total.
llvm::Value* AttentionSoftmax::blind(const AttentionBlock& block) {
  const bool is_zero = block.plan.blind_is_zero || block.plan.sinks;
  return number(block.e, is_zero ? 0 : std::numeric_limits<double>::quiet_NaN());
}

llvm::Value* AttentionSoftmax::rescale(const AttentionBlock& block, llvm::Value* before, llvm::Value* largest) {
  CudaEmitter& e = block.e;
  return power_of_two(e, in_powers(e, Scores(block.plan), e.b.CreateFSub(before, subtracted(e, largest))));
}

}  // namespace hone
