#include "device/x86/tile.h"

#include <algorithm>
#include <optional>

#include "base/multiples.h"
#include "device/x86/decode.h"

namespace hone {
namespace {

using llvm::Value;

struct WeightStep {  // of one vector of columns, for two k: one of the two forms
  Value* pair = nullptr;
  Value *low = nullptr, *high = nullptr;
};

// One row of codes that are looked up: the units that shift and permute are what limits.
bool looks_up_one_row(const TileSpec& s) {
  const auto* codes = std::get_if<CodePanels>(&s.w);
  return s.rows == 1 && codes && codes->codec->decode == WeightCodec::Decode::words;
}

// Null where sums are not scaled group by group.
const GroupScales* scales_of(const TileSpec& s) {
  if (const auto* pairs = std::get_if<ScaledPairs>(&s.w)) return &pairs->scales;
  const auto* codes = std::get_if<CodePanels>(&s.w);
  return codes && codes->scales ? &*codes->scales : nullptr;
}

class TileBody {
 public:
  TileBody(X86Emitter& e, const TileSpec& spec, llvm::Function* f)
      : e_(e),
        s_(spec),
        scales_(scales_of(spec)),
        window_(spec.window ? &*spec.window : nullptr),
        a_bytes_told_(f->getArg(4)),
        sums_(spec.rows * spec.vectors),
        splits_(spec.chains) {
    if (const auto* pairs = std::get_if<ScaledPairs>(&spec.w)) decoder_.emplace(e, *pairs->codec, *pairs->format);
    if (const auto* codes = std::get_if<CodePanels>(&spec.w)) {
      codec_ = codes->codec, ahead_ = codes->ahead;
      decoder_.emplace(e, *codes->codec, *codes->format);
    }
    for (int r = 0; r < spec.rows; ++r) row_offset_.push_back(row_offset(r, f->getArg(2)));
    if (spec.fetches) fetched_ = f->getArg(6), fetched_bytes_ = f->getArg(7);
    if (window_) segments_x_ = window_->counts_segments ? f->getArg(spec.fetches ? 8 : 6) : e.num(window_->segments_x);
  }

  void run(Value* a, Value* w, Value* scales, Value* out, Value* count) {
    if (plain() && plain()->keeps) kept_ = scales;
    Values before(static_cast<size_t>(sums_), zero_sum()), zero = before;
    for (size_t i = 0; i < before.size() && begins_with_offsets(); ++i) {
      const auto v = static_cast<int64_t>(i) % s_.vectors;
      before[i] = e_.load(e_.v_i32, e_.at(scales, v * e_.lanes * 4), 4);
    }
    for (size_t i = 0; i < before.size() && s_.accumulate; ++i) before[i] = e_.load(e_.v_f32, sum_place(out, i), 4);
    Value* factor = s_.global_offset >= 0 ? e_.load_broadcast(DType::f32, e_.at(scales, s_.global_offset)) : nullptr;
    // Where scales are at hand, each becomes the format's own: its code's value times the tensor's.
    const bool global = factor && !scales_;
    if (!global) of_tensor_ = factor;
    Values sums = products(a, w, scales, count, global ? zero : before);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (global) sums[i] = e_.fma(sums[i], factor, before[i]);
      e_.store(sums[i], sum_place(out, i), 4);
    }
  }

 private:
  // From the first row of A to row r.
  Value* row_offset(int r, Value* offsets) {
    if (window_ && window_->plane) return e_.num(window_->plane->row_offsets[static_cast<size_t>(r)]);
    if (window_) return r ? e_.load(e_.i64, e_.at(offsets, int64_t{r} * 8), 8) : e_.num(0);
    if (s_.a_by_columns) return e_.num(int64_t{r} * 4);
    return s_.a_row_bytes ? e_.num(r * s_.a_row_bytes) : e_.times(a_bytes_told_, r);
  }

  Value* sum_place(Value* out, size_t i) const {
    const auto vectors = static_cast<size_t>(s_.vectors);
    return e_.at(
        out, static_cast<int64_t>(i / vectors) * s_.sums_row_bytes + static_cast<int64_t>(i % vectors) * e_.lanes * 4);
  }

  Values products(Value* a, Value* w, Value* scales, Value* count, const Values& before) {
    if (window_) return joined(segments(a, w, count, split(before)));
    if (scales_) {
      Value* groups = e_.b.CreateUDiv(count, e_.num(scales_->group));
      return scaled(a, w, e_.at(scales, e_.times(groups, s_.panel_vectors * scales_->vector_bytes)), before);
    }
    return joined(product(a, w, s_.k ? nullptr : count, s_.k, split(before)));
  }

  llvm::Value* zero_sum() const { return llvm::Constant::getNullValue(quads() ? e_.v_i32 : e_.v_f32); }
  int64_t a_bytes() const { return size_bytes(s_.a); }
  int64_t row_bytes() const { return int64_t{s_.panel_vectors} * e_.lanes * 4; }
  // Where a vector of columns starts in a row of panels.
  int64_t place(int v) const { return v / s_.panel_vectors * s_.panel_bytes + v % s_.panel_vectors * e_.lanes * 4; }
  const PlainPanels* plain() const { return std::get_if<PlainPanels>(&s_.w); }
  const QuadPanels* quads() const { return std::get_if<QuadPanels>(&s_.w); }
  bool begins_with_offsets() const { return quads() && quads()->offset; }
  bool pairs() const { return plain() ? plain()->type == PanelType::pairs : std::holds_alternative<ScaledPairs>(s_.w); }
  bool single() const { return plain() && !pairs() && s_.a == DType::f32; }
  bool dot() const { return s_.unit == ProductUnit::bf16; }

  Values split(Values sums) const {
    sums.resize(static_cast<size_t>(sums_ * splits_), zero_sum());
    return sums;
  }
  Values joined(Values chains) {
    for (int width = splits_; width > 1; width = (width + 1) / 2)
      for (int i = (width + 1) / 2; i < width; ++i)
        for (int j = 0; j < sums_; ++j) {
          Value*& low = chains[static_cast<size_t>((i - (width + 1) / 2) * sums_ + j)];
          Value* high = chains[static_cast<size_t>(i * sums_ + j)];
          low = quads() ? e_.b.CreateAdd(low, high) : e_.b.CreateFAdd(low, high);
        }
    chains.resize(static_cast<size_t>(sums_));
    return chains;
  }

  Values segments(Value* a, Value* w, Value* count, Values sums) {
    const int64_t segment = window_->segment, rows = pairs() ? (segment + 1) / 2 : quads() ? segment / 4 : segment;
    const int64_t w_step = rows * row_bytes();
    Value* down = window_->plane ? e_.num(window_->plane->a_step_y) : a_bytes_told_;
    std::vector<X86Emitter::Moving> outer{{a, down}, {w, window_->segments_x * w_step}};
    if (fetched_) {
      fetched_bytes_ = e_.b.CreateUDiv(fetched_bytes_, e_.num(s_.k / segment));
      outer.emplace_back(fetched_, e_.times(fetched_bytes_, window_->segments_x));
    }
    return e_.walk(count, outer, sums, [&](const Values& p, const Values& before) {
      std::vector<X86Emitter::Moving> inner{{p[0], window_->a_step_x}, {p[1], w_step}};
      if (fetched_) inner.emplace_back(p[2], fetched_bytes_);
      return e_.walk(segments_x_, inner, before, [&](const Values& q, const Values& now) {
        if (fetched_) fetched_ = q[2];
        return product(q[0], q[1], nullptr, segment, now);
      });
    });
  }

  // Adds scale * (sum over the group) for one group after the other.
  Values scaled(Value* a, Value* w, Value* scales, Values sums) {
    const int64_t group = scales_->group, whole = s_.k / group, rest = s_.k % group;
    const int64_t rows = codec_ ? chunks(group) * codec_->chunk_rows() : group / 2;
    const int64_t a_step = group * a_bytes(), w_step = rows * row_bytes();
    const int64_t s_step = s_.panel_vectors * scales_->vector_bytes;
    // The next group's pointers come before this one's sums are scaled: behind that, Zen 5 reads a row of weights 6 %
    // slower.
    Values state = sums;
    state.insert(state.end(), {a, w, scales});
    state = e_.loop(e_.num(0), e_.num(whole), 1, state, [&](Value*, const Values& now) {
      const size_t kept = now.size() - 3;
      Value* scales0 = now[kept + 2];
      for (int v = 0; v < s_.vectors && fetches_scales(); ++v)
        e_.prefetch(e_.at(scales0, scale_place(v) + ceil_div(ahead_, w_step) * s_step));
      const Values chains = chains_of_group(now[kept], now[kept + 1], scales0, group);
      const Values next{e_.at(now[kept], a_step), e_.at(now[kept + 1], w_step), e_.at(scales0, s_step)};
      Values out = add_scaled(chains, scales0, Values(now.begin(), now.end() - 3));
      out.insert(out.end(), next.begin(), next.end());
      return out;
    });
    sums.assign(state.begin(), state.end() - 3);
    if (!rest) return sums;
    Value* last_scales = e_.at(scales, whole * s_step);
    return add_scaled(chains_of_group(e_.at(a, whole * a_step), e_.at(w, whole * w_step), last_scales, rest),
                      last_scales, sums);
  }
  // Where each vector of them fills a line, and they come from one panel.
  bool fetches_scales() const { return ahead_ > 0 && scales_->vector_bytes >= 64 && s_.vectors == s_.panel_vectors; }
  int64_t chunks(int64_t k) const { return ceil_div(k, int64_t{codec_->chunk_k()}); }
  // Where the scales of a vector of columns start in a row of them.
  int64_t scale_place(int v) const {
    return v / s_.panel_vectors * s_.panel_bytes + v % s_.panel_vectors * scales_->vector_bytes;
  }
  Value* first_lane(Value* x) {  // in every lane
    return scales_->shared ? e_.splat(e_.b.CreateExtractElement(x, uint64_t{0})) : x;
  }
  Values chains_of_group(Value* a, Value* w, Value* scales, int64_t k) {
    const Values zero(static_cast<size_t>(sums_), llvm::Constant::getNullValue(e_.v_f32));
    zero_points_.assign(static_cast<size_t>(s_.vectors), nullptr);
    for (int v = 0; v < s_.vectors && codec_ && codec_->zero_point_bytes; ++v)
      zero_points_[static_cast<size_t>(v)] =
          first_lane(decoder_->zero_points(e_.at(scales, scale_place(v) + scales_->zero_points_offset)));
    return product(a, w, nullptr, k, split(zero));
  }
  Values add_scaled(const Values& chains, Value* scales, Values sums) {
    const Values group = joined(chains);
    for (int v = 0; v < s_.vectors; ++v) {
      Value* scale = first_lane(decoder_->scales(e_.at(scales, scale_place(v)), of_tensor_));
      for (int r = 0; r < s_.rows; ++r) {
        const size_t i = static_cast<size_t>(r * s_.vectors + v);
        sums[i] = e_.fma(group[i], scale, sums[i]);
      }
    }
    return sums;
  }

  // Adds the products of k consecutive elements; `count` instead of k when it is known at run time only.
  Values product(Value* a, Value* w, Value* count, int64_t k, Values sums) {
    if (quads()) return steps(a, w, nullptr, round_up(k, 4), 4, std::max(splits_, 2), sums);
    if (codec_) {
      // Two chunks a turn where there is little else, and where one has too few steps for all chains.
      const bool two = e_.avx512 && (s_.rows == 1 || codec_->chunk_k() / 2 % splits_ != 0);
      return steps(a, w, nullptr, k, codec_->chunk_k(), two ? 2 : 1, sums);
    }
    // Runs of a convolution are short: two steps a turn halve what its loops cost.
    return steps(a, w, count, k, single() ? 1 : 2, window_ ? std::max(splits_, 2) : splits_, sums);
  }

  // Steps of `step` k each, `unroll` of them in the loop's body, what is left over after it.
  Values steps(Value* a, Value* w, Value* count, int64_t k, int64_t step, int64_t unroll, Values sums) {
    const bool is_row = single() || pairs() || quads();
    const int64_t rows = codec_ ? codec_->chunk_rows() : is_row ? 1 : 2;
    const int64_t w_step = rows * row_bytes();
    const int64_t a_step = step * a_bytes();
    if (count) {
      const auto walk = [&](Value* a0, Value* w0, Value* times, int64_t each, const Values& before) {
        const X86Emitter::Moving along =
            s_.a_by_columns ? X86Emitter::Moving{a0, a_bytes_told_} : X86Emitter::Moving{a0, a_step};
        const X86Emitter::Moving moving[] = {along, {w0, w_step}};
        return e_.walk(times, moving, before, [&](const Values& p, Values now) {
          chain_ = 0;
          one_step(p[0], p[1], each, now);
          return now;
        });
      };
      if (step == 1) return walk(a, w, count, 1, sums);
      Value* whole = e_.b.CreateLShr(count, e_.num(1));
      sums = walk(a, w, whole, 2, sums);
      return walk(e_.at(a, e_.times(whole, a_step)), e_.at(w, e_.times(whole, w_step)),
                  e_.b.CreateAnd(count, e_.num(1)), 1, sums);
    }
    const int64_t whole = k / step;
    unroll = std::max<int64_t>(1, std::min(unroll, whole));
    const int64_t trips = whole / unroll, kept_step = step * row_bytes();
    Value* const kept = kept_;
    const auto one = [&](Value* a0, Value* w0, Value* kept0, int64_t i, int64_t each, Values& now) {
      if (kept) kept_ = e_.at(kept0, i * kept_step);
      one_step(e_.at(a0, i * a_step), e_.at(w0, i * w_step), each, now);
    };
    std::vector<X86Emitter::Moving> moving{{a, unroll * a_step}, {w, unroll * w_step}};
    if (kept) moving.emplace_back(kept, unroll * kept_step);
    if (fetched_) moving.emplace_back(fetched_, e_.b.CreateUDiv(fetched_bytes_, e_.num(trips)));
    sums = e_.walk(e_.num(trips), moving, sums, [&](const Values& p, Values now) {
      chain_ = 0;
      if (fetched_) e_.prefetch(p.back());
      for (int64_t i = 0; i < unroll; ++i) one(p[0], p[1], kept ? p[2] : nullptr, i, step, now);
      return now;
    });
    chain_ = 0;
    for (int64_t i = trips * unroll; i < whole; ++i) one(a, w, kept, i, step, sums);
    if (k % step) one(a, w, kept, whole, k % step, sums);
    return sums;
  }

  void one_step(Value* a, Value* w, int64_t k, Values& sums) {
    if (codec_) return code_step(a, w, k, sums);
    if (quads()) return quad_step(a, w, sums);
    if (single()) return single_step(a, w, sums);
    std::vector<WeightStep> step(static_cast<size_t>(s_.vectors));
    for (int v = 0; v < s_.vectors; ++v) {
      Value* p = e_.at(w, place(v));
      WeightStep& x = step[static_cast<size_t>(v)];
      if (pairs()) {
        x = operand(e_.load(e_.v_i32, p, e_.lanes * 4));
      } else {
        x.low = e_.load(e_.v_f32, p, e_.lanes * 4);
        if (k == 2) x.high = e_.load(e_.v_f32, e_.at(p, row_bytes()), e_.lanes * 4);
      }
      if (kept_) e_.store(x.low, e_.at(kept_, place(v)), e_.lanes * 4);
      if (kept_ && k == 2) e_.store(x.high, e_.at(kept_, row_bytes() + place(v)), e_.lanes * 4);
    }
    pair_step(a, k == 1, step, sums);
  }

  void single_step(Value* a, Value* w, Values& sums) {
    Values weights;
    for (int v = 0; v < s_.vectors; ++v) weights.push_back(e_.load(e_.v_f32, e_.at(w, place(v)), e_.lanes * 4));
    for (int r = 0; r < s_.rows; ++r) {
      Value* x = e_.splat(e_.load(e_.f32, e_.at(a, row_offset_[static_cast<size_t>(r)]), 4));
      for (int v = 0; v < s_.vectors; ++v) add(sums, r, v, chain_, x, weights[static_cast<size_t>(v)]);
    }
    ++chain_;
  }

  // Four k of codes: as bytes, or as words, even ones and then odd ones, so that few registers hold W.
  void quad_step(Value* a, Value* w, Values& sums) {
    const bool bytes = s_.unit == ProductUnit::int8;
    Values quads;
    for (int v = 0; v < s_.vectors; ++v) quads.push_back(e_.load(e_.v_i32, e_.at(w, place(v)), e_.lanes * 4));
    for (int half = 0; half < (bytes ? 1 : 2); ++half) {
      Values weights = quads;
      for (Value*& weight : weights) {
        if (bytes) break;
        const auto [even, odd] = e_.split_bytes(weight, true);
        weight = half ? odd : even;
      }
      for (int r = 0; r < s_.rows; ++r) {
        Value* x = e_.splat(e_.load(e_.i32, e_.at(e_.at(a, row_offset_[static_cast<size_t>(r)]), half * 4), 4));
        for (int v = 0; v < s_.vectors; ++v) {
          Value*& sum = sums[index(r, v, chain_)];
          Value* weight = weights[static_cast<size_t>(v)];
          sum = bytes ? e_.dot_bytes(sum, x, weight) : e_.dot_words(sum, x, weight);
        }
      }
    }
    ++chain_;
  }

  // One chunk of codes. Each pair of k is decoded where it is used: registers hold one step at a time. With one row of
  // codes that are looked up, the upper byte of each half comes by a load from one byte on (past the last row that
  // reads a byte of what follows: scales, or the spare bytes of panel_memory).
  void code_step(Value* a, Value* w, int64_t k, Values& sums) {
    std::vector<ChunkLanes> codes(static_cast<size_t>(s_.vectors));
    for (int v = 0; v < s_.vectors && ahead_ > 0; ++v)  // before all loads, which don't pass them
      for (int r = 0; r < codec_->chunk_rows(); ++r) e_.prefetch(e_.at(w, place(v) + r * row_bytes() + ahead_));
    for (int v = 0; v < s_.vectors; ++v) {
      ChunkLanes& lanes = codes[static_cast<size_t>(v)];
      lanes.rows = chunk_rows(e_.at(w, place(v)), e_.lanes * 4);
      if (looks_up_one_row(s_)) lanes.upper = chunk_rows(e_.at(w, place(v) + 1), 1);
    }
    for (int j = 0; 2 * j < k; ++j) {
      std::vector<WeightStep> step;
      for (int v = 0; v < s_.vectors; ++v) {
        const ChunkLanes& lanes = codes[static_cast<size_t>(v)];
        Value* zero = zero_points_.empty() ? nullptr : zero_points_[static_cast<size_t>(v)];
        step.push_back(
            dot() ? WeightStep{decoder_->pair(lanes, j, zero)}
                  : WeightStep{nullptr, decoder_->value(lanes, 2 * j, zero), decoder_->value(lanes, 2 * j + 1, zero)});
      }
      pair_step(e_.at(a, int64_t{2} * j * a_bytes()), k == 2 * j + 1, step, sums);
    }
  }
  Values chunk_rows(Value* w, int alignment) {
    Values rows;
    for (int r = 0; r < codec_->chunk_rows(); ++r)
      rows.push_back(e_.load(e_.v_i32, e_.at(w, r * row_bytes()), alignment));
    return rows;
  }

  WeightStep operand(Value* pair) {
    if (dot()) return {pair};
    const auto [low, high] = e_.split_pair(pair);
    return {nullptr, low, high};
  }

  // Two k, or only the first of them (`half`): nothing behind the last element of a row is read.
  void pair_step(Value* a, bool half, const std::vector<WeightStep>& w, Values& sums) {
    for (int r = 0; r < s_.rows; ++r) {
      Value* row = e_.at(a, row_offset_[static_cast<size_t>(r)]);
      if (s_.a == DType::f32) {
        Value* low = e_.splat(e_.load(e_.f32, row, 4));
        Value* high = half ? nullptr : e_.splat(e_.load(e_.f32, e_.at(row, 4), 4));
        add_split(sums, r, low, high, w);
        continue;
      }
      Value* pair = e_.splat(half ? e_.b.CreateZExt(e_.load(e_.i16, row, 2), e_.i32) : e_.load(e_.i32, row, 2));
      if (dot()) {
        for (int v = 0; v < s_.vectors; ++v) {
          Value*& sum = sums[index(r, v, chain_)];
          sum = e_.dot_bf16(sum, pair, w[static_cast<size_t>(v)].pair);
        }
      } else {
        const auto [low, high] = e_.split_pair(pair);
        add_split(sums, r, low, half ? nullptr : high, w);
      }
    }
    chain_ += dot() || half ? 1 : 2;
  }
  void add_split(Values& sums, int r, Value* low, Value* high, const std::vector<WeightStep>& w) {
    for (int v = 0; v < s_.vectors; ++v) add(sums, r, v, chain_, low, w[static_cast<size_t>(v)].low);
    if (!high) return;
    for (int v = 0; v < s_.vectors; ++v) add(sums, r, v, chain_ + 1, high, w[static_cast<size_t>(v)].high);
  }

  size_t index(int r, int v, int chain) const {
    return static_cast<size_t>((chain % splits_) * sums_ + r * s_.vectors + v);
  }
  void add(Values& sums, int r, int v, int chain, Value* x, Value* y) {
    Value*& sum = sums[index(r, v, chain)];
    sum = e_.fma(x, y, sum);
  }

  X86Emitter& e_;
  const TileSpec& s_;
  const GroupScales* const scales_;     // null: none in the loop
  const TileWindow* const window_;      // null: one run of k
  const WeightCodec* codec_ = nullptr;  // of codes that are decoded here
  int64_t ahead_ = 0;
  Value* const a_bytes_told_;  // by the call: from row to row, from k to k or from run to run of A
  const int sums_, splits_;
  int chain_ = 0;
  Values row_offset_, zero_points_;
  Value* segments_x_ = nullptr;
  Value* kept_ = nullptr;                                // where the next step leaves W
  Value *fetched_ = nullptr, *fetched_bytes_ = nullptr;  // by one run of k, from where it is
  Value* of_tensor_ = nullptr;  // what every scale is multiplied by, where it is not the sums that are
  std::optional<WeightDecoder> decoder_;
};

}  // namespace

TileSpec tile_spec(const GemmShape& shape, const Format* format, int rows, int panels) {
  TileSpec t;
  t.rows = rows, t.vectors = shape.vectors * panels;
  t.panel_vectors = shape.vectors, t.panel_bytes = shape.panel_bytes();
  t.chains = shape.chains;
  t.unit = shape.unit, t.a = shape.a;
  t.k = shape.from<ActivationPanels>() && shape.adds_blocks() ? 0 : shape.block_k();
  t.accumulate = shape.adds_blocks(), t.fetches = shape.fetches_next();
  t.sums_row_bytes = shape.row_bytes() * panels;
  std::optional<GroupScales> scales;
  if (shape.scale_in_loop())
    scales = {shape.group, shape.scale_vector_bytes(), shape.zero_points_offset(), shape.slots == 1};
  if (const auto* codes = shape.from<StreamedCodes>())
    t.w = CodePanels{shape.codec.get(), format, scales, codes->ahead};
  else if (scales) t.w = ScaledPairs{shape.codec.get(), format, *scales};
  else if (shape.integers()) t.w = QuadPanels{shape.code_form() == CodeForm::offset_bytes};
  else t.w = PlainPanels{shape.panel()};
  if (shape.global_in_sums()) t.global_offset = shape.global_offset() - shape.scales_offset();
  return t;
}

llvm::Function* emit_tile(X86Emitter& e, const std::string& symbol, const TileSpec& spec) {
  const auto* plain = std::get_if<PlainPanels>(&spec.w);
  const bool quads = std::holds_alternative<QuadPanels>(spec.w);
  CHECK(quads == is_integer(spec.unit));
  CHECK(spec.k || (plain && !spec.window && spec.chains == 1));
  CHECK(!spec.a_by_columns || (plain && plain->type == PanelType::f32 && !spec.k && spec.a == DType::f32));
  CHECK(!spec.window || plain || quads);
  CHECK(!spec.window || spec.window->plane || spec.global_offset < 0);
  CHECK(!quads || (!spec.accumulate && (!spec.window || (spec.window->plane && spec.window->segment % 4 == 0))));
  CHECK(!plain || !plain->keeps ||
        (spec.k && plain->type == PanelType::pairs && spec.unit == ProductUnit::f32 && !spec.window));
  CHECK(!spec.fetches || (spec.k && (plain || quads)));
  std::vector<llvm::Type*> params{e.ptr, e.ptr, e.ptr, e.ptr, e.i64, e.i64};
  if (spec.fetches) params.insert(params.end(), {e.ptr, e.i64});
  if (spec.window && spec.window->counts_segments) params.push_back(e.i64);
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  // The scheduler's model of units, not of the machine at hand: its order keeps lookups, shifts and dot products of
  // this loop more evenly apart (4 % faster); loops that look bytes up spill under it.
  if (looks_up_one_row(spec)) f->addFnAttr("tune-cpu", "znver4");
  TileBody body(e, spec, f);
  body.run(f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(5));
  e.end_function();
  return f;
}

}  // namespace hone
