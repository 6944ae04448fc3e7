#include "device/x86/unpack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/x86/copy.h"
#include "device/x86/decode.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Value;

class Unpacker {
 public:
  Unpacker(X86Emitter& e, const GemmShape& shape, const Format& format, int64_t out_row_bytes)
      : e_(e), s_(shape), out_row_bytes_(out_row_bytes), decoder_(e, *shape.codec, format) {}

  void run(Value* panel, Value* first, Value* scratch) {
    if (s_.codec->has_global && !s_.global_in_sums())
      global_ = e_.load_broadcast(DType::f32, e_.at(panel, s_.global_offset()));
    Value* chunks = e_.b.CreateUDiv(first, e_.num(s_.codec->chunk_k()));
    Value* codes = e_.at(panel, e_.times(chunks, s_.codec->chunk_rows() * s_.row_bytes()));
    Value* groups = e_.b.CreateUDiv(first, e_.num(s_.group));
    Value* scales = e_.at(e_.at(panel, s_.scales_offset()), e_.times(groups, s_.scale_row_bytes()));
    const X86Emitter::Moving moving[] = {{codes, int64_t{s_.lanes} * 4},
                                         {scales, s_.scale_vector_bytes()},
                                         {e_.at(panel, s_.numbers_offset()), int64_t{s_.lanes} * 4},
                                         {scratch, int64_t{s_.lanes} * 4}};
    e_.walk(e_.num(s_.vectors), moving, {}, [&](const Values& p, const Values&) {
      if (s_.indexes_scales()) numbers_ = e_.load(e_.v_i32, p[2], 4);
      if (s_.unaligned_groups()) ungrouped_vector(p[0], p[1], p[3]);
      else column_vector(p[0], p[1], p[3]);
      return Values{};
    });
  }

 private:
  static constexpr int64_t kUnrolled = 32;  // k in a turn of the loop over short chunks

  struct Group : CodeNumbers::Group {  // of one vector of columns; no scales where they are not folded in
    Value* exponent = nullptr;         // of the scale, as it is added to both halves of a pair
  };

  // Rows of lanes that k elements make in scratch.
  int64_t rows_of(int64_t k) const { return s_.pairs() ? (k + 1) / 2 : k; }
  bool folds() const { return s_.codec->scale.by != ScaleMeaning::By::none && !s_.scale_in_loop(); }

  Group group_at(Value* scales) {
    Group group;
    for (int level = 0; level < s_.codec->levels && folds(); ++level)
      group.scales.push_back(of_columns(decoder_.scales(e_.at(scales, level * s_.level_bytes()), global_)));
    if (s_.codec->zero_point_bytes)
      group.zero = of_columns(decoder_.zero_points(e_.at(scales, s_.zero_points_offset())));
    return group;
  }
  // What lies in slots, for each column.
  Value* of_columns(Value* slots) {
    if (s_.slots == s_.lanes) return slots;
    if (s_.slots == 1) return e_.splat(e_.b.CreateExtractElement(slots, uint64_t{0}));
    return e_.permute(slots, numbers_);
  }

  void column_vector(Value* codes, Value* scales, Value* out) {
    const int64_t whole = s_.block_k() / s_.group, rest = s_.block_k() % s_.group;
    const int64_t from = s_.code_rows(s_.group) * s_.row_bytes(), to = rows_of(s_.group) * out_row_bytes_;
    const X86Emitter::Moving moving[] = {{codes, from}, {scales, s_.scale_row_bytes()}, {out, to}};
    e_.walk(e_.num(whole), moving, {}, [&](const Values& p, const Values&) {
      group_chunks(p[0], p[2], s_.group, group_at(p[1]));
      return Values{};
    });
    if (rest)
      group_chunks(e_.at(codes, whole * from), e_.at(out, whole * to), rest,
                   group_at(e_.at(scales, whole * s_.scale_row_bytes())));
  }

  // A power of two is added to exponents unless some value times it would leave bf16's normal numbers.
  void group_chunks(Value* codes, Value* out, int64_t k, Group group) {
    if (group.scales.empty() || !s_.pairs() || s_.codec->scale.by != ScaleMeaning::By::power_of_two)
      return chunks(codes, out, k, group);
    const auto [least, most] = exponents();
    if (most - least > 253) return chunks(codes, out, k, group);
    Value* biased = e_.b.CreateLShr(e_.as(group.scales[0], e_.v_i32), e_.c_i32(23));
    Value* above = e_.b.CreateSub(biased, e_.c_i32(static_cast<uint32_t>(128 - least)));
    Value* fits = e_.b.CreateAndReduce(e_.b.CreateICmpULE(above, e_.c_i32(static_cast<uint32_t>(253 + least - most))));
    e_.when(e_.b.CreateNot(fits), [&] { chunks(codes, out, k, group); });
    Value* exponent = e_.b.CreateShl(e_.b.CreateSub(biased, e_.c_i32(127)), e_.c_i32(7));
    Value* low = e_.b.CreateAnd(exponent, e_.c_i32(0xffff));
    group.exponent = e_.as(e_.b.CreateOr(low, e_.b.CreateShl(exponent, e_.c_i32(16))), halves());
    e_.when(fits, [&] { chunks(codes, out, k, group); });
  }

  // Exponent fields of the values of codes, the least and the most.
  std::pair<int, int> exponents() const {
    int least = 254, most = 1;
    for (float v : s_.codec->values) {
      if (v == 0 || !std::isfinite(v)) continue;
      least = std::min(least, std::ilogb(v) + 127), most = std::max(most, std::ilogb(v) + 127);
    }
    return {least, most};
  }
  llvm::Type* halves() const { return e_.vec(e_.i16, 2 * e_.lanes); }

  void chunks(Value* codes, Value* out, int64_t k, const Group& group) {
    const int64_t chunk = s_.codec->chunk_k(), step = k % kUnrolled == 0 ? std::max<int64_t>(kUnrolled, chunk) : chunk;
    const int64_t from = s_.codec->chunk_rows() * s_.row_bytes(), to = rows_of(chunk) * out_row_bytes_;
    const X86Emitter::Moving moving[] = {{codes, step / chunk * from}, {out, step / chunk * to}};
    e_.walk(e_.num(k / step), moving, {}, [&](const Values& p, const Values&) {
      for (int64_t i = 0; i < step / chunk; ++i) decode_chunk(e_.at(p[0], i * from), e_.at(p[1], i * to), chunk, group);
      return Values{};
    });
    const int64_t done = k / step * step / chunk;
    if (k % step) decode_chunk(e_.at(codes, done * from), e_.at(out, done * to), k % step, group);
  }

  ChunkLanes chunk_lanes(Value* codes) {
    ChunkLanes lanes;
    for (int r = 0; r < s_.codec->chunk_rows(); ++r)
      lanes.rows.push_back(e_.load(e_.v_i32, e_.at(codes, r * s_.row_bytes()), s_.lanes * 4));
    return lanes;
  }

  // What the next call decodes: it arrives while this one's block is multiplied (past the last it is not used).
  void prefetch(Value* codes) {
    for (int r = 0; r < s_.codec->chunk_rows(); ++r) e_.prefetch(e_.at(codes, r * s_.row_bytes()));
  }

  void decode_chunk(Value* codes, Value* out, int64_t k, const Group& group) {
    const ChunkLanes lanes = chunk_lanes(codes);
    if (s_.adds_blocks()) prefetch(e_.at(codes, s_.code_rows(s_.block_k()) * s_.row_bytes()));
    if (const auto* own = s_.from<UnpackedCodes>(); own && own->ahead > 0) prefetch(e_.at(codes, own->ahead));
    for (int64_t row = 0; row < rows_of(k); ++row) {
      const int i = static_cast<int>(row);
      Value* x = s_.pairs() ? pair(lanes, i, group) : decoder_.value(lanes, i, group);
      e_.store(x, e_.at(out, row * out_row_bytes_), s_.lanes * 4);
    }
  }

  Value* pair(const ChunkLanes& lanes, int j, const Group& group) {
    Value* x = decoder_.pair(lanes, j, group.zero);
    if (group.scales.empty()) return x;
    if (group.exponent) return e_.as(scaled(e_.as(x, halves()), group.exponent), e_.v_i32);
    const auto [low, high] = e_.split_pair(x);
    return e_.join_pair(e_.b.CreateFMul(low, group.scales[0]), e_.b.CreateFMul(high, group.scales[0]));
  }
  Value* scaled(Value* x, Value* exponent) {
    const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(halves(), v); };
    Value* magnitude = e_.b.CreateAnd(x, constant(0x7fff));
    const bool finite = std::ranges::all_of(s_.codec->values, [](float v) { return std::isfinite(v); });
    Value* moves = finite ? e_.b.CreateICmpNE(magnitude, constant(0))
                          : e_.b.CreateICmpULT(e_.b.CreateSub(magnitude, constant(1)), constant(0x7f7f));
    return e_.b.CreateSelect(moves, e_.b.CreateAdd(x, exponent), x);
  }

  // Groups that end anywhere: each element looks for its own.
  void ungrouped_vector(Value* codes, Value* scales, Value* out) {
    CHECK(!s_.pairs());
    const int64_t chunk = s_.codec->chunk_k();
    const X86Emitter::Moving moving[] = {{codes, s_.codec->chunk_rows() * s_.row_bytes()},
                                         {out, chunk * out_row_bytes_}};
    const auto decode = [&](Value* from, Value* to, Value* first, int64_t k) {
      const ChunkLanes lanes = chunk_lanes(from);
      for (int i = 0; i < k; ++i) {
        Value* x = decoder_.value(lanes, i, group_of(scales, e_.b.CreateAdd(first, e_.num(i))));
        e_.store(x, e_.at(to, i * out_row_bytes_), s_.lanes * 4);
      }
    };
    const int64_t whole = s_.block_k() / chunk, rest = s_.block_k() % chunk;
    e_.walk(e_.num(whole), moving, {e_.num(0)}, [&](const Values& p, const Values& first) {
      decode(p[0], p[1], first[0], chunk);
      return Values{e_.b.CreateAdd(first[0], e_.num(chunk))};
    });
    if (rest)
      decode(e_.at(codes, whole * moving[0].step), e_.at(out, whole * moving[1].step), e_.num(whole * chunk), rest);
  }

  Group group_of(Value* scales, Value* k) {
    Value* row = e_.at(scales, e_.times(e_.b.CreateUDiv(k, e_.num(s_.group)), s_.scale_row_bytes()));
    Group group = group_at(row);
    if (!s_.crossing_groups()) return group;
    // A column's first group began as many elements earlier as its number says.
    Value* into = e_.splat(e_.b.CreateTrunc(e_.b.CreateURem(k, e_.num(s_.group)), e_.i32));
    Value* later = e_.b.CreateICmpUGE(e_.b.CreateAdd(into, numbers_), e_.c_i32(static_cast<uint32_t>(s_.group)));
    const Group next = group_at(e_.at(row, s_.scale_row_bytes()));
    for (size_t level = 0; level < group.scales.size(); ++level)
      group.scales[level] = e_.b.CreateSelect(later, next.scales[level], group.scales[level]);
    if (group.zero) group.zero = e_.b.CreateSelect(later, next.zero, group.zero);
    return group;
  }

  X86Emitter& e_;
  const GemmShape& s_;
  const int64_t out_row_bytes_;
  WeightDecoder decoder_;
  Value *global_ = nullptr, *numbers_ = nullptr;
};

}  // namespace

llvm::Function* emit_unpack(X86Emitter& e, const std::string& symbol, const GemmShape& shape, const Format& format,
                            int64_t out_row_bytes) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  Unpacker(e, shape, format, out_row_bytes).run(f->getArg(0), f->getArg(1), f->getArg(2));
  e.end_function();
  return f;
}

}  // namespace hone
