#include "device/cuda/gemm/product_loop.h"

namespace hone {

using llvm::Value;

ProductLoop::ProductLoop(CudaEmitter& e, const CudaGemmShape& shape, Operand& a, Operand* w, TileReader* reader,
                         Place place, Value* k)
    : e_(e),
      s_(shape),
      t_(shape.tile),
      a_(a),
      w_(w),
      reader_(reader),
      place_(place),
      k_(k),
      stage_a_(e, a, shape.pairs(), {t_.rows(), t_.warps_k, shape.slab_bytes(), 0}),
      lane_(e.lane()) {
  CHECK((w == nullptr) != (reader == nullptr) && (!shape.pairs() || t_.warps_m == 1));
  if (w)
    stage_w_ = std::make_unique<Staging>(
        e, *w, shape.pairs(), Staging::Area{t_.columns(), t_.warps_k, shape.slab_bytes(), shape.a_slab_bytes()});
  const auto part = [&](int before, int count) -> Value* {
    if (count == 1) return e.n32(0);
    Value* number = before > 1 ? e.b.CreateUDiv(e.warp(), e.n32(before)) : e.warp();
    return before * count < e.warps() ? e.b.CreateURem(number, e.n32(count)) : number;
  };
  warp_n_ = part(1, t_.warps_n);
  warp_m_ = part(t_.warps_n, t_.warps_m);
  warp_k_ = part(t_.warps_n * t_.warps_m, t_.warps_k);
}

Values ProductLoop::run() {
  Values sums = s_.pairs() ? run_pairs() : run_floats();
  e_.wait_copies(0);
  e_.barrier();
  return sums;
}

Value* ProductLoop::steps() {
  const int depth = s_.depth() * t_.warps_k;
  return e_.b.CreateUDiv(add(k_, depth - 1), e_.n32(depth));
}

void ProductLoop::fetch(Value* step, Value* stage) {
  e_.when(e_.b.CreateICmpSLT(step, steps()), [&] {
    Value* k = mul(step, int64_t{s_.depth()} * t_.warps_k);
    stage_a_.fetch(place_.row, k, stage);
    if (stage_w_) stage_w_->fetch(place_.column, k, stage);
  });
  e_.commit_copies();
}

Value* ProductLoop::next_stage(Value* stage) {
  Value* next = add(stage, s_.stage_bytes());
  return e_.b.CreateSelect(e_.b.CreateICmpEQ(next, e_.n32(t_.stages * s_.stage_bytes())), e_.n32(0), next);
}

// Of weights; the last where k has none more, whose words then are made zeros.
Value* ProductLoop::depth_tile(Value* step, Value* slab) {
  Value* tile = add(mul(step, t_.warps_k), slab);
  return e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tile, e_.n32(s_.weights.depth_tiles() - 1));
}

// --- pairs

Values ProductLoop::run_pairs() {
  for (int stage = 0; stage + 1 < t_.stages; ++stage) fetch(e_.n32(stage), e_.n32(stage * s_.stage_bytes()));
  const auto sums = static_cast<size_t>(8 * t_.row_tiles * t_.column_tiles);
  Values carried(sums, llvm::ConstantFP::get(e_.f32, 0.0));
  if (reader_)
    for (Value* word : read_tiles(e_.n32(0))) carried.push_back(word);
  const size_t words = carried.size() - sums;
  carried.push_back(e_.n32(0));                                   // the stage that is multiplied
  carried.push_back(e_.n32((t_.stages - 1) * s_.stage_bytes()));  // and the one that is filled
  Values done = e_.loop(e_.num(0), e_.wide(steps()), 1, carried, [&](Value* index, const Values& now) {
    Value* step = e_.low32(index);
    e_.wait_copies(t_.stages - 2);
    e_.barrier();
    fetch(add(step, t_.stages - 1), now[sums + words + 1]);
    const Values ahead = reader_ ? read_tiles(add(step, 1)) : Values();
    const Values acc(now.begin(), now.begin() + static_cast<ptrdiff_t>(sums));
    const Values tiles(now.begin() + static_cast<ptrdiff_t>(sums), now.begin() + static_cast<ptrdiff_t>(sums + words));
    Value* stage = now[sums + words];
    const bool by_groups = reader_ && reader_->scales() == PairScales::on_sums;
    Values next = by_groups ? multiply_groups(acc, tiles, stage) : multiply(acc, tiles, stage);
    next.insert(next.end(), ahead.begin(), ahead.end());
    next.push_back(next_stage(stage));
    next.push_back(next_stage(now[sums + words + 1]));
    return next;
  });
  done.resize(sums);
  if (Value* global = reader_ ? reader_->global_scale() : nullptr)
    for (Value*& sum : done) sum = e_.b.CreateFMul(sum, global);
  return done;
}

Values ProductLoop::read_tiles(Value* step) {
  Value* depth = depth_tile(step, warp_k_);
  Value* is_there = nullptr;
  if (s_.weights.depth_tiles() % t_.warps_k)
    is_there = e_.b.CreateICmpSLT(add(mul(step, t_.warps_k), warp_k_), e_.n32(s_.weights.depth_tiles()));
  Values all;
  for (int j = 0; j < t_.column_tiles; ++j) {
    Value* tile = add(e_.b.CreateLShr(place_.column, 4), add(mul(warp_n_, t_.column_tiles), j));
    tile = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tile, e_.n32(s_.weights.column_tiles() - 1));
    Values words = reader_->read(tile, depth);
    for (int i = 0; i < s_.weights.bits && is_there; ++i) {
      Value*& word = words[static_cast<size_t>(i)];
      word = e_.b.CreateSelect(is_there, word, e_.n32(0));
    }
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

Values ProductLoop::own(const Values& tiles, int j) const {
  const auto each = std::ssize(tiles) / t_.column_tiles;
  return {tiles.begin() + j * each, tiles.begin() + (j + 1) * each};
}

// Rows 16 i … of the s-th 16 k. Lanes 8 to 15 point to the rows below, those from 16 on to the next eight k.
Values ProductLoop::rows(Value* stage, int i, int s) {
  auto& b = e_.b;
  Value *line = nullptr, *piece = nullptr, *slab = add(stage, mul(warp_k_, s_.slab_bytes()));
  if (a_.by_columns) {
    line = add(add(low(lane_, 3), b.CreateShl(b.CreateLShr(lane_, 4), 3)), 16 * s + i / 4 * 64);
    piece = add(low(b.CreateLShr(lane_, 3), 1), i % 4 * 2);
  } else {
    line = add(low(lane_, 4), 16 * i);
    piece = add(b.CreateLShr(lane_, 4), 2 * s);
  }
  Value* place = b.CreateShl(b.CreateXor(piece, low(lane_, 3)), 4);
  return e_.ldmatrix(shared_at(add(add(slab, b.CreateShl(line, 7)), place)), 4, a_.by_columns);
}

Values ProductLoop::columns(const Values& tiles, Value* stage, int j, int s) {
  if (reader_) {
    const Values tile = own(tiles, j);
    const auto [first, second] = reader_->pairs(tile, 0, s);
    const auto [third, fourth] = reader_->pairs(tile, 1, s);
    return {first, second, third, fourth};
  }
  auto& b = e_.b;
  Value* slab = add(add(stage, s_.a_slab_bytes()), mul(warp_k_, s_.slab_bytes()));
  Value* column = add(mul(warp_n_, 16 * t_.column_tiles), 16 * j);
  Value *below = low(lane_, 3), *second = low(b.CreateLShr(lane_, 3), 1), *third = b.CreateLShr(lane_, 4);
  Value *line = nullptr, *piece = nullptr;
  if (w_->by_columns) {  // a line a k
    line = add(add(below, b.CreateShl(second, 3)), add(b.CreateAnd(column, e_.n32(-64)), 16 * s));
    piece = add(b.CreateLShr(low(column, 6), 3), third);
  } else {
    line = add(add(below, b.CreateShl(third, 3)), column);
    piece = add(second, 2 * s);
  }
  Value* place = b.CreateShl(b.CreateXor(piece, below), 4);
  return e_.ldmatrix(shared_at(add(add(slab, b.CreateShl(line, 7)), place)), 4, w_->by_columns);
}

Values ProductLoop::multiply(const Values& sums, const Values& tiles, Value* stage) {
  Values next = sums;
  const int eights = 2 * t_.column_tiles;
  for (int s = 0; s < 4; ++s) {
    std::vector<Values> a;
    for (int i = 0; i < t_.row_tiles; ++i) a.push_back(rows(stage, i, s));
    for (int j = 0; j < t_.column_tiles; ++j) {
      const Values w = columns(tiles, stage, j, s);
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < t_.row_tiles; ++i) {
          const auto at = next.begin() + 4 * (i * eights + 2 * j + half);
          const auto side = static_cast<size_t>(2 * half);
          const Values d = e_.mma(kMmaBf16, a[static_cast<size_t>(i)], {w[side], w[side + 1]}, Values(at, at + 4));
          std::copy(d.begin(), d.end(), at);
        }
    }
  }
  return next;
}

// The products of a group are summed up for themselves, and their sum is added times the scale of its column. So is the
// sum of the group's activations times the minimum of its column: products with ones, the same for all columns.
Values ProductLoop::multiply_groups(Values sums, const Values& tiles, Value* stage) {
  const int eights = 2 * t_.column_tiles, groups = reader_->groups(), products = 4 / groups;
  const bool has_minimums = reader_->has_minimums();
  using Factors = std::pair<Value*, Value*>;  // of columns that are even, and odd
  const auto product_sum = [&](const std::vector<Values>& a, auto right) {
    Values sum(4, llvm::ConstantFP::get(e_.f32, 0.0));
    for (size_t s = 0; s < a.size(); ++s) sum = e_.mma(kMmaBf16, a[s], right(s), sum);
    return sum;
  };
  for (int group = 0; group < groups; ++group) {
    std::vector<std::vector<Values>> w(static_cast<size_t>(t_.column_tiles));
    std::vector<Factors> factors, minimums;
    for (int j = 0; j < t_.column_tiles; ++j) {
      for (int s = 0; s < products; ++s)
        w[static_cast<size_t>(j)].push_back(columns(tiles, stage, j, group * products + s));
      for (int half = 0; half < 2; ++half) {
        factors.push_back(reader_->factors(own(tiles, j), half, group));
        minimums.push_back(has_minimums ? reader_->minimums(own(tiles, j), half, group) : Factors());
      }
    }
    for (int i = 0; i < t_.row_tiles; ++i) {
      std::vector<Values> a;
      for (int s = 0; s < products; ++s) a.push_back(rows(stage, i, group * products + s));
      Values of_rows;
      if (has_minimums) of_rows = product_sum(a, [&](size_t) { return Values(2, e_.n32(0x3f803f80)); });
      const auto add_scaled = [&](Value*& sum, size_t c, Value* own_sum, const Factors& f) {
        sum = e_.fma(own_sum, c % 2 ? f.second : f.first, sum);
      };
      for (size_t n = 0; n < factors.size(); ++n) {
        const size_t side = n % 2 * 2;
        const Values own_sums = product_sum(a, [&](size_t s) {
          return Values{w[n / 2][s][side], w[n / 2][s][side + 1]};
        });
        for (size_t c = 0; c < 4; ++c) {
          Value*& sum = sums[4 * (static_cast<size_t>(i * eights) + n) + c];
          add_scaled(sum, c, own_sums[c], factors[n]);
          if (has_minimums) add_scaled(sum, c, of_rows[c], minimums[n]);
        }
      }
    }
  }
  return sums;
}

// --- f32

Values ProductLoop::run_floats() {
  fetch(e_.n32(0), e_.n32(0));
  if (reader_) store_run(read_run(e_.n32(0)), e_.n32(0), e_.n32(0));
  const auto sums = static_cast<size_t>(8 * t_.row_tiles * t_.column_tiles);
  Values carried(sums, llvm::ConstantFP::get(e_.f32, 0.0));
  carried.push_back(e_.n32(0));
  Values done = e_.loop(e_.num(0), e_.wide(steps()), 1, carried, [&](Value* index, const Values& now) {
    Value *step = e_.low32(index), *stage = now.back(), *other = next_stage(stage), *following = add(step, 1);
    e_.wait_copies(0);
    e_.barrier();
    fetch(following, other);
    const Values codes = reader_ ? read_run(following) : Values();
    Values next = multiply_floats(Values(now.begin(), now.end() - 1), stage);
    if (reader_) store_run(codes, following, other);
    next.push_back(other);
    return next;
  });
  done.resize(sums);
  return done;
}

// A tile of weights a warp: 32 columns of one slab.
Values ProductLoop::read_run(Value* step) {
  const int tiles = t_.columns() / 32;
  Value *number = e_.b.CreateURem(e_.warp(), e_.n32(tiles)), *slab = e_.b.CreateUDiv(e_.warp(), e_.n32(tiles));
  Value* tile = add(e_.b.CreateLShr(place_.column, 5), number);
  tile = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tile, e_.n32(s_.weights.column_tiles() - 1));
  Value* depth = depth_tile(step, slab);
  Values codes = reader_->read_codes(tile, depth);
  codes.push_back(tile), codes.push_back(depth);
  return codes;
}

void ProductLoop::store_run(const Values& codes, Value* step, Value* stage) {
  auto& b = e_.b;
  const int tiles = t_.columns() / 32;
  CHECK(tiles * t_.warps_k == t_.warps(), "{} tiles of weights for {} warps", tiles * t_.warps_k, t_.warps());
  Value *number = b.CreateURem(e_.warp(), e_.n32(tiles)), *slab = b.CreateUDiv(e_.warp(), e_.n32(tiles));
  Value *g = b.CreateLShr(lane_, 2), *t = low(lane_, 2);
  Value *tile = codes[codes.size() - 2], *depth = codes.back();
  Value* is_there = b.CreateICmpSLT(add(mul(step, t_.warps_k), slab), e_.n32(s_.weights.depth_tiles()));
  const Values words(codes.begin(), codes.end() - 2);
  Value* lines = add(add(stage, s_.a_slab_bytes()), add(mul(slab, s_.slab_bytes()), mul(number, 32 * 128)));
  for (int j = 0; j < 4; ++j)
    for (int h = 0; h < 2; ++h) {
      Value* four = reader_->numbers(words, tile, depth, j, h);
      four = b.CreateSelect(is_there, four, llvm::Constant::getNullValue(four->getType()));
      Value* piece = b.CreateXor(add(b.CreateShl(t, 1), h), g);
      Value* to = add(add(lines, b.CreateShl(add(g, 8 * j), 7)), b.CreateShl(piece, 4));
      e_.store(four, shared_at(to), 16);
    }
}

// Four k at a time: rows t + 4 i of the warp, columns g + 8 j.
Values ProductLoop::multiply_floats(Values sums, Value* stage) {
  auto& b = e_.b;
  const int rows = 4 * t_.row_tiles, columns = 2 * t_.column_tiles;
  Value *g = b.CreateLShr(lane_, 2), *t = low(lane_, 2), *slab = add(stage, mul(warp_k_, s_.slab_bytes()));
  Value* a = add(slab, b.CreateShl(add(mul(warp_m_, 16 * t_.row_tiles), t), 7));
  Value* w = add(add(slab, s_.a_slab_bytes()), b.CreateShl(add(mul(warp_n_, 16 * t_.column_tiles), g), 7));
  llvm::Type* four = e_.vec(e_.f32, 4);
  for (int q = 0; q < 8; ++q) {
    std::vector<Values> of_w;
    for (int j = 0; j < columns; ++j) {
      Value* piece = b.CreateShl(b.CreateXor(g, e_.n32(q)), 4);
      of_w.push_back(e_.elements(e_.load(four, shared_at(add(add(w, piece), j * 8 * 128)), 16)));
    }
    for (int i = 0; i < rows; ++i) {
      Value* piece = b.CreateShl(b.CreateXor(add(t, i % 2 * 4), e_.n32(q)), 4);
      const Values of_a = e_.elements(e_.load(four, shared_at(add(add(a, piece), i * 4 * 128)), 16));
      for (int j = 0; j < columns; ++j)
        for (size_t k = 0; k < 4; ++k) {
          Value*& sum = sums[static_cast<size_t>(i * columns + j)];
          sum = e_.fma(of_a[k], of_w[static_cast<size_t>(j)][k], sum);
        }
    }
  }
  return sums;
}

// --- sums

void ProductLoop::store_rows(const Values& sums, int p) {
  auto& b = e_.b;
  const int eights = 2 * t_.column_tiles;
  Value *g = b.CreateLShr(lane_, 2), *t = low(lane_, 2);
  Value* from = add(mul(warp_k_, s_.sums_slab_bytes()),
                    add(mul(warp_m_, 16 * s_.sums_row_bytes()), mul(warp_n_, 16 * t_.column_tiles * 4)));
  if (s_.pairs()) {
    Value* place = add(from, add(mul(g, s_.sums_row_bytes()), b.CreateShl(t, 3)));
    for (int half = 0; half < 2; ++half)
      for (int j = 0; j < eights; ++j) {
        const auto first = static_cast<size_t>(4 * (p * eights + j) + 2 * half);
        e_.store_words({e_.word(sums[first]), e_.word(sums[first + 1])},
                       shared_at(add(place, half * 8 * s_.sums_row_bytes() + 32 * j)));
      }
    return;
  }
  Value* place = add(from, add(mul(t, s_.sums_row_bytes()), b.CreateShl(g, 2)));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < eights; ++j)
      e_.store(sums[static_cast<size_t>((4 * p + i) * eights + j)],
               shared_at(add(place, 4 * i * s_.sums_row_bytes() + 32 * j)), 4);
}

}  // namespace hone
