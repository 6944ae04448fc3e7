#include "device/cuda/attention/emit.h"

#include "device/cuda/attention/block.h"
#include "device/cuda/attention/products.h"
#include "device/cuda/attention/softmax.h"
#include "device/cuda/attention/tiles.h"

namespace hone {
namespace {

using A = CudaAttentionArgs;

class AttentionEmitter {
 public:
  AttentionEmitter(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol)
      : e_(e),
        b_(e.b),
        block_(e, plan, symbol),
        s_(block_.shape),
        tiles_(block_),
        products_(s_.by_mma ? attention_products_mma(block_) : attention_products_fma(block_)),
        softmax_(block_, *products_) {}

  void run() {
    const AttentionBlock::Keys keys = block_.keys();
    tiles_.fetch_queries();
    if (s_.stages == 2)
      e_.when(b_.CreateICmpSLT(keys.from, keys.to), [&] { tiles_.fetch(keys.from, keys.to, e_.num(0)); });
    e_.commit_copies();
    e_.wait_copies(0);
    e_.barrier();
    products_->load_queries();
    const AttentionSoftmax::State begin = softmax_.begin();
    const size_t rows = products_->rows.size();
    Values carried(rows * products_->sums(), llvm::ConstantFP::get(e_.f32, 0));
    carried.insert(carried.end(), begin.largest.begin(), begin.largest.end());
    carried.insert(carried.end(), begin.total.begin(), begin.total.end());
    carried.push_back(e_.num(0));  // the stage
    carried = e_.loop(keys.from, keys.to, s_.tile_keys, carried, [&](llvm::Value* t, const Values& now) {
      const Values next = one_tile(t, Values(now.begin(), now.end() - 1), now.back());
      Values all = next;
      all.push_back(s_.stages == 2 ? b_.CreateXor(now.back(), e_.num(1)) : now.back());
      return all;
    });
    const auto at = carried.begin() + static_cast<ptrdiff_t>(rows * products_->sums());
    const auto end = at + static_cast<ptrdiff_t>(rows);
    const Values sums(carried.begin(), at);
    const AttentionSoftmax::State state{Values(at, end), Values(end, end + static_cast<ptrdiff_t>(rows))};
    const Values totals = softmax_.totals(state);
    e_.choose(
        block_.is_split(),
        [&] {
          if (block_.plan.splits) keep(sums, state.largest, totals);
          return Values{};
        },
        [&] {
          write(sums, state.largest, totals);
          return Values{};
        });
    e_.end_function();
  }

 private:
  // With two stages the tile is on its way, and the next one goes where the one before it has been read.
  void bring(llvm::Value* t, llvm::Value* stage) {
    llvm::Value* following = b_.CreateAdd(t, e_.num(s_.tile_keys));
    const AttentionBlock::Keys keys = block_.keys();
    if (s_.stages == 2) {
      e_.wait_copies(0);
      e_.barrier();
      e_.when(b_.CreateICmpSLT(following, keys.to),
              [&] { tiles_.fetch(following, keys.to, b_.CreateXor(stage, e_.num(1))); });
      e_.commit_copies();
      return;
    }
    e_.barrier();
    tiles_.fetch(t, keys.to, stage);
    e_.commit_copies();
    e_.wait_copies(0);
    e_.barrier();
  }

  // Sums, largest scores and totals with the keys from t on.
  Values one_tile(llvm::Value* t, const Values& now, llvm::Value* stage) {
    bring(t, stage);
    const size_t rows = products_->rows.size(), of_row = products_->sums();
    const auto at = now.begin() + static_cast<ptrdiff_t>(rows * of_row), end = at + static_cast<ptrdiff_t>(rows);
    const AttentionSoftmax::Weights w =
        softmax_.weights(products_->scores(tiles_.keys(stage)), t, {Values(at, end), Values(end, now.end())});
    Values sums(now.begin(), at);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b_.CreateFMul(sums[i], w.alphas[i / of_row]);
    sums = products_->add_values(sums, w.of_rows, tiles_.values(stage));
    sums.insert(sums.end(), w.state.largest.begin(), w.state.largest.end());
    sums.insert(sums.end(), w.state.total.begin(), w.state.total.end());
    return sums;
  }

  llvm::Value* is_first_lane() {
    int bits = 0;
    for (const int apart : products_->partners) bits |= apart;
    return b_.CreateICmpEQ(b_.CreateAnd(e_.lane(), e_.n32(bits)), e_.n32(0));
  }

  // The state of a range of keys.
  void keep(const Values& sums, const Values& largest, const Values& totals) {
    llvm::Value* state = block_.state(block_.range());
    const size_t of_row = products_->sums(), run = static_cast<size_t>(products_->run);
    for (size_t r = 0; r < products_->rows.size(); ++r) {
      llvm::Value* row = e_.at(state, e_.times(products_->rows[r], s_.value_columns * 4));
      for (size_t c = 0; c < products_->columns.size(); ++c) {
        const auto first = sums.begin() + static_cast<ptrdiff_t>(r * of_row + c * run);
        llvm::Value* to = e_.at(row, e_.times(e_.wide(products_->columns[c]), 4));
        llvm::Value* some = run == 1 ? *first : e_.vector_of(Values(first, first + static_cast<ptrdiff_t>(run)));
        e_.store(some, to, static_cast<int>(run) * 4);
      }
      llvm::Value* place = e_.at(state, e_.times(products_->rows[r], 4));
      e_.when(is_first_lane(), [&] {
        e_.store(totals[r], e_.at(place, s_.totals_offset()), 4);
        e_.store(largest[r], e_.at(place, s_.largest_offset()), 4);
      });
    }
  }

  void write(const Values& sums, const Values& largest, const Values& totals) {
    const CudaAttentionPlan& plan = block_.plan;
    const int64_t run_bytes = products_->run * size_bytes(plan.result);
    llvm::Value* address = b_.CreateOr(b_.CreatePtrToInt(block_.pointer<&A::out>(), e_.i64),
                                       e_.times(block_.size<&A::out_row>(), size_bytes(plan.result)));
    const bool fits = plan.value_dim % products_->run == 0;
    llvm::Value* is_aligned =
        fits ? b_.CreateICmpEQ(b_.CreateAnd(address, e_.num(run_bytes - 1)), e_.num(0)) : b_.getFalse();
    for (size_t r = 0; r < products_->rows.size(); ++r) {
      const AttentionBlock::Row row = block_.row(products_->rows[r]);
      const AttentionSoftmax::Factor factor = AttentionSoftmax::factor(block_, row, largest[r], totals[r]);
      e_.when(row.exists, [&] {
        llvm::Value* out = block_.result(row);
        for (size_t c = 0; c < products_->columns.size(); ++c) {
          Values some;
          for (int i = 0; i < products_->run; ++i) {
            const size_t at = r * products_->sums() + c * static_cast<size_t>(products_->run) + static_cast<size_t>(i);
            llvm::Value* x = b_.CreateFMul(sums[at], factor.factor);
            some.push_back(b_.CreateSelect(factor.is_blind, AttentionSoftmax::blind(block_), x));
          }
          store_run(some, e_.wide(products_->columns[c]), out, is_aligned);
        }
      });
    }
  }
  void store_run(const Values& some, llvm::Value* column, llvm::Value* out, llvm::Value* is_aligned) {
    const DType result = block_.plan.result;
    llvm::Value *to = e_.at(out, e_.times(column, size_bytes(result))),
                *left = b_.CreateSub(e_.num(block_.plan.value_dim), column);
    e_.with_lanes(products_->run, [&](CudaEmitter& w) {
      llvm::Value* x = w.vector_of(some);
      if (products_->run == 1) x = w.splat(some[0]);
      llvm::Value* whole = w.b.CreateAnd(is_aligned, w.b.CreateICmpSGE(left, w.num(products_->run)));
      w.choose(
          whole,
          [&] {
            w.aligned_vectors = true;
            w.store_elements(x, result, to);
            w.aligned_vectors = false;
            return Values{};
          },
          [&] {
            w.store_elements(x, result, to, w.tail_mask(left));
            return Values{};
          });
      return 0;
    });
  }

  CudaEmitter& e_;
  llvm::IRBuilder<>& b_;
  const AttentionBlock block_;
  const CudaAttentionShape& s_;
  AttentionTiles tiles_;
  const std::unique_ptr<AttentionProducts> products_;
  AttentionSoftmax softmax_;
};

}  // namespace

void emit_attention(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol) {
  AttentionEmitter(e, plan, symbol).run();
}

// An element of the result a thread at a time: what the ranges of its row have of it, in their order.
void emit_attention_join(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol) {
  const AttentionBlock block(e, plan, symbol);
  const CudaAttentionShape& s = block.shape;
  llvm::Value* ranges = block.size<&A::ranges>();
  const auto number_of = [&](llvm::Value* range, llvm::Value* offset) {
    return e.load(e.f32, e.at(block.state(range), offset), 4);
  };
  e.loop(e.wide(e.thread()), e.num(s.rows * plan.value_dim), e.threads, {}, [&](llvm::Value* i, const Values&) {
    llvm::Value *number = e.b.CreateUDiv(i, e.num(plan.value_dim)), *column = e.b.CreateURem(i, e.num(plan.value_dim));
    const AttentionBlock::Row row = block.row(number);
    e.when(row.exists, [&] {
      llvm::Value* of_row = e.times(number, 4);
      llvm::Value *at_total = e.b.CreateAdd(of_row, e.num(s.totals_offset())),
                  *at_largest = e.b.CreateAdd(of_row, e.num(s.largest_offset())),
                  *at_sum = e.times(e.b.CreateAdd(e.times(number, s.value_columns), column), 4);
      llvm::Value* lowest = llvm::ConstantFP::getInfinity(e.f32, true);
      llvm::Value* largest = e.loop(e.num(0), ranges, 1, {lowest}, [&](llvm::Value* range, const Values& now) {
        return Values{e.b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, now[0], number_of(range, at_largest))};
      })[0];
      llvm::Value* zero = llvm::ConstantFP::get(e.f32, 0);
      const Values sums = e.loop(e.num(0), ranges, 1, {zero, zero}, [&](llvm::Value* range, const Values& now) {
        llvm::Value* alpha = AttentionSoftmax::rescale(block, number_of(range, at_largest), largest);
        return Values{e.fma(number_of(range, at_sum), alpha, now[0]), e.fma(number_of(range, at_total), alpha, now[1])};
      });
      const AttentionSoftmax::Factor factor = AttentionSoftmax::factor(block, row, largest, sums[1]);
      llvm::Value* x = e.b.CreateFMul(sums[0], factor.factor);
      x = e.b.CreateSelect(factor.is_blind, AttentionSoftmax::blind(block), x);
      llvm::Value* to = e.at(block.result(row), e.times(column, size_bytes(plan.result)));
      e.store_elements(e.splat(x), plan.result, to);
    });
    return Values{};
  });
  e.end_function();
}

}  // namespace hone
