// Products of f32 by fma: 16 threads share rows. Each has every 16th key of a tile, and pieces of up to 16 bytes of the
// columns; weights go through shared memory from those that made them to those that have the columns, which are threads
// of one warp.
#include "device/cuda/attention/products.h"

namespace hone {
namespace {

using llvm::Value;

class FmaProducts : public AttentionProducts {
 public:
  explicit FmaProducts(const AttentionBlock& block)
      : e_(block.e), s_(block.shape), own_rows_(s_.rows * kKeyLanes / s_.threads) {
    auto& b = e_.b;
    key_lane_ = b.CreateAnd(e_.thread(), e_.n32(kKeyLanes - 1));
    first_row_ = b.CreateMul(b.CreateLShr(e_.thread(), e_.n32(4)), e_.n32(own_rows_));
    for (int64_t r = 0; r < own_rows_; ++r) rows.push_back(e_.wide(b.CreateAdd(first_row_, e_.n32(r))));
    for (int k = 0; k < s_.tile_keys; k += kKeyLanes) keys.push_back(b.CreateAdd(key_lane_, e_.n32(k)));
    run = s_.value_columns % 64 == 0 ? 4 : s_.value_columns % 32 == 0 ? 2 : 1;
    for (int64_t c = 0; c < s_.value_columns; c += int64_t{run} * kKeyLanes)
      columns.push_back(b.CreateAdd(b.CreateMul(key_lane_, e_.n32(run)), e_.n32(c)));
    partners = {8, 4, 2, 1};
  }

  // Four columns at a time, of all rows and keys.
  std::vector<Values> scores(Value* keys_at) override {
    Value* query = e_.at(e_.shared(s_.queries_offset), row_place(s_.key_stride));
    Value* key = e_.at(keys_at, e_.wide(e_.b.CreateMul(key_lane_, e_.n32(s_.key_stride))));
    const size_t each = keys.size();
    Values sums(rows.size() * each, llvm::ConstantFP::get(e_.f32, 0));
    sums = e_.loop(e_.num(0), e_.num(s_.key_columns * 4), 16, sums, [&](Value* at, Values now) {
      std::vector<Values> k;
      for (size_t j = 0; j < each; ++j)
        k.push_back(four(e_.at(e_.at(key, at), static_cast<int64_t>(j) * kKeyLanes * s_.key_stride)));
      for (size_t r = 0; r < rows.size(); ++r) {
        const Values q = four(e_.at(e_.at(query, at), static_cast<int64_t>(r) * s_.key_stride));
        for (size_t j = 0; j < each; ++j)
          for (size_t i = 0; i < 4; ++i) now[r * each + j] = e_.fma(q[i], k[j][i], now[r * each + j]);
      }
      return now;
    });
    std::vector<Values> of_rows;
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto first = sums.begin() + static_cast<ptrdiff_t>(r * each);
      of_rows.emplace_back(first, first + static_cast<ptrdiff_t>(each));
    }
    return of_rows;
  }

  Values add_values(Values sums, const std::vector<Values>& weights, Value* values_at) override {
    Value* own = e_.at(e_.shared(s_.weights_offset), row_place(s_.weight_stride));
    Value* mine = e_.at(own, e_.wide(e_.b.CreateMul(key_lane_, e_.n32(4))));
    e_.barrier_warp();  // those of the tile before have been read
    for (size_t r = 0; r < weights.size(); ++r)
      for (size_t j = 0; j < weights[r].size(); ++j)
        e_.store(weights[r][j],
                 e_.at(mine, static_cast<int64_t>(r) * s_.weight_stride + static_cast<int64_t>(j) * kKeyLanes * 4), 4);
    e_.barrier_warp();
    const size_t of_row = this->sums();
    Value* values = e_.at(values_at, e_.wide(e_.b.CreateMul(key_lane_, e_.n32(run * 4))));
    return e_.loop(e_.num(0), e_.num(s_.tile_keys), 4, sums, [&](Value* t, Values now) {
      std::vector<Values> w;
      for (size_t r = 0; r < rows.size(); ++r)
        w.push_back(four(e_.at(e_.at(own, e_.times(t, 4)), static_cast<int64_t>(r) * s_.weight_stride)));
      Value* row = e_.at(values, e_.times(t, s_.value_stride));
      for (size_t i = 0; i < 4; ++i) {
        const Values v = value_row(e_.at(row, static_cast<int64_t>(i) * s_.value_stride));
        for (size_t r = 0; r < rows.size(); ++r)
          for (size_t c = 0; c < of_row; ++c) now[r * of_row + c] = e_.fma(w[r][i], v[c], now[r * of_row + c]);
      }
      return now;
    });
  }

 private:
  Value* row_place(int64_t stride) { return e_.wide(e_.b.CreateMul(first_row_, e_.n32(stride))); }
  Values four(Value* from) { return e_.elements(e_.load(e_.vec(e_.f32, 4), from, 16)); }
  Values value_row(Value* from) {
    Values all;
    for (size_t c = 0; c < columns.size(); ++c) {
      Value* at = e_.at(from, static_cast<int64_t>(c) * run * kKeyLanes * 4);
      const Values some =
          run == 1 ? Values{e_.load(e_.f32, at, 4)} : e_.elements(e_.load(e_.vec(e_.f32, run), at, run * 4));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  CudaEmitter& e_;
  const CudaAttentionShape& s_;
  const int64_t own_rows_;
  Value *key_lane_, *first_row_;
};

}  // namespace

std::unique_ptr<AttentionProducts> attention_products_fma(const AttentionBlock& block) {
  return std::make_unique<FmaProducts>(block);
}

}  // namespace hone
