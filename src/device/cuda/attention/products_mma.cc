// Products of bf16 by tensor cores: a warp has 16 rows. What mma leaves of scores in registers is, rounded, what it
// takes of weights. Fragments: PTX manual, m16n8k16.
#include "device/cuda/attention/products.h"

namespace hone {
namespace {

using llvm::Value;

class MmaProducts : public AttentionProducts {
 public:
  explicit MmaProducts(const AttentionBlock& block) : e_(block.e), s_(block.shape) {
    auto& b = e_.b;
    Value *lane = e_.lane(), *pair = b.CreateShl(b.CreateAnd(lane, e_.n32(3)), e_.n32(1));
    Value* first = b.CreateAdd(b.CreateShl(e_.warp(), e_.n32(4)), b.CreateLShr(lane, e_.n32(2)));
    for (const int64_t down : {0, 8}) rows.push_back(e_.wide(b.CreateAdd(first, e_.n32(down))));
    for (int n = 0; n < s_.tile_keys; n += 8)
      for (const int64_t one : {0, 1}) keys.push_back(b.CreateAdd(pair, e_.n32(n + one)));
    for (int64_t n = 0; n < s_.value_columns; n += 8) columns.push_back(b.CreateAdd(pair, e_.n32(n)));
    run = 2;
    partners = {1, 2};
    // Where a lane points ldmatrix to, of 16 rows and two pieces beside each other.
    Value *eighth = b.CreateAnd(b.CreateLShr(lane, e_.n32(3)), e_.n32(1)), *half = b.CreateLShr(lane, e_.n32(4)),
          *in_eight = b.CreateAnd(lane, e_.n32(7));
    const auto place = [&](Value* rows_down, Value* pieces, int64_t stride) {
      Value* row = b.CreateAdd(b.CreateShl(rows_down, e_.n32(3)), in_eight);
      return e_.wide(b.CreateAdd(b.CreateMul(row, e_.n32(stride)), b.CreateShl(pieces, e_.n32(4))));
    };
    key_place_ = place(half, eighth, s_.key_stride), value_place_ = place(eighth, half, s_.value_stride);
    Value* warp_rows = b.CreateMul(e_.warp(), e_.n32(16 * s_.key_stride));
    query_place_ = b.CreateAdd(place(eighth, half, s_.key_stride), e_.wide(warp_rows));
  }

  void load_queries() override {
    if (holds_queries())
      for (int64_t k = 0; k < s_.key_columns; k += 16) queries_.push_back(query(k));
  }

  std::vector<Values> scores(Value* keys_at) override {
    const size_t tiles = static_cast<size_t>(s_.tile_keys / 8);
    std::vector<Values> sums(tiles, Values(4, llvm::ConstantFP::get(e_.f32, 0)));
    Value* from = e_.at(keys_at, key_place_);
    for (int64_t k = 0; k < s_.key_columns; k += 16) {
      const Values q = holds_queries() ? queries_[static_cast<size_t>(k / 16)] : query(k);
      for (size_t n = 0; n < tiles; n += 2) {
        const Values words = e_.ldmatrix(e_.at(from, static_cast<int64_t>(n) * 8 * s_.key_stride + k * 2), 4);
        sums[n] = e_.mma(kMmaBf16, q, {words[0], words[1]}, sums[n]);
        sums[n + 1] = e_.mma(kMmaBf16, q, {words[2], words[3]}, sums[n + 1]);
      }
    }
    std::vector<Values> of_rows(2);
    for (size_t r = 0; r < 2; ++r)
      for (const Values& four : sums)
        for (size_t i = 0; i < 2; ++i) of_rows[r].push_back(four[2 * r + i]);
    return of_rows;
  }

  Values add_values(Values sums, const std::vector<Values>& weights, Value* values_at) override {
    const size_t of_row = this->sums(), tiles = columns.size();
    Value* from = e_.at(values_at, value_place_);
    for (int64_t k = 0; k < s_.tile_keys; k += 16) {
      Values a;  // rows r, r + 8 of keys k … k + 7, then of k + 8 …
      for (const int64_t right : {0, 8})
        for (size_t r = 0; r < 2; ++r) {
          const auto at = static_cast<size_t>((k + right) / 4);
          a.push_back(e_.pack_bf16(weights[r][at], weights[r][at + 1]));
        }
      for (size_t n = 0; n < tiles; n += 2) {
        const Values words = e_.ldmatrix(e_.at(from, k * s_.value_stride + static_cast<int64_t>(n) * 16), 4, true);
        for (size_t i = 0; i < 2; ++i) {
          const size_t low = 2 * (n + i), high = of_row + low;
          const Values next = e_.mma(kMmaBf16, a, {words[2 * i], words[2 * i + 1]},
                                     {sums[low], sums[low + 1], sums[high], sums[high + 1]});
          sums[low] = next[0], sums[low + 1] = next[1], sums[high] = next[2], sums[high + 1] = next[3];
        }
      }
    }
    return sums;
  }

 private:
  // Four words of each 16 columns; wider heads leave no registers for them.
  bool holds_queries() const { return s_.key_columns <= 128; }
  Values query(int64_t k) { return e_.ldmatrix(e_.at(e_.at(e_.shared(s_.queries_offset), query_place_), k * 2), 4); }

  CudaEmitter& e_;
  const CudaAttentionShape& s_;
  Value *key_place_, *value_place_, *query_place_;
  std::vector<Values> queries_;
};

}  // namespace

std::unique_ptr<AttentionProducts> attention_products_mma(const AttentionBlock& block) {
  return std::make_unique<MmaProducts>(block);
}

}  // namespace hone
