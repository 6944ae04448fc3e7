#include "device/x86/panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/x86/copy.h"
#include "device/x86/decode.h"
#include "device/x86/square.h"
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

class Packer {
 public:
  Packer(X86Emitter& e, const PackSpec& spec, llvm::Function* f)
      : e_(e),
        s_(spec),
        w_(f->getArg(0)),
        row_bytes_(f->getArg(1)),
        k_(f->getArg(2)),
        columns_(f->getArg(3)),
        out_(f->getArg(4)) {}

  // Rows of W are rows of the panel.
  void run_kn() {
    const int64_t columns = int64_t{s_.vectors} * e_.lanes;
    e_.when(e_.b.CreateICmpSGE(columns_, e_.num(columns)),
            [&] { kn_rows(Values(static_cast<size_t>(s_.vectors), nullptr)); });
    e_.when(e_.b.CreateICmpSLT(columns_, e_.num(columns)), [&] {
      Values masks;
      for (int v = 0; v < s_.vectors; ++v)
        masks.push_back(e_.tail_mask(e_.b.CreateSub(columns_, e_.num(int64_t{v} * e_.lanes))));
      kn_rows(masks);
    });
  }

  // Rows of W are columns of the panel: squares of lanes x lanes 32-bit elements are transposed in registers, what does
  // not fill a square goes element by element.
  void run_nk() {
    e_.loop(e_.num(0), e_.num(s_.vectors), 1, {}, [&](Value* v, const Values&) {
      Value* first = e_.times(v, e_.lanes);
      Value* rows = e_.at(w_, e_.b.CreateMul(first, row_bytes_));
      Value* out = e_.at(out_, e_.times(v, vector_bytes()));
      Value* left = e_.b.CreateSub(columns_, first);
      Value* squares = e_.b.CreateSelect(e_.b.CreateICmpSGE(left, e_.num(e_.lanes)),
                                         e_.b.CreateUDiv(k_, e_.num(square_k())), e_.num(0));
      e_.loop(e_.num(0), squares, 1, {}, [&](Value* i, const Values&) {
        square(e_.at(rows, e_.times(i, e_.lanes * 4)), e_.at(out, e_.times(i, square_rows() * row_bytes())));
        return Values{};
      });
      nk_elements(rows, out, e_.times(squares, square_k()), left);
      return Values{};
    });
  }

 private:
  int64_t vector_bytes() const { return int64_t{e_.lanes} * 4; }
  int64_t row_bytes() const { return s_.vectors * vector_bytes(); }
  bool pairs() const { return s_.panel == PanelType::pairs; }
  int64_t square_k() const { return e_.lanes * (s_.w == DType::bf16 ? 2 : 1); }  // k in a square
  int64_t square_rows() const { return pairs() ? e_.lanes : square_k(); }        // panel rows it becomes

  void kn_rows(const Values& masks) {
    if (!pairs()) {
      e_.loop(e_.num(0), k_, 1, {}, [&](Value* k, const Values&) {
        for (int v = 0; v < s_.vectors; ++v) store_row(k, v, kn_vector(k, v, masks));
        return Values{};
      });
      return;
    }
    Value* whole = e_.b.CreateLShr(k_, e_.num(1));
    e_.loop(e_.num(0), whole, 1, {}, [&](Value* pair, const Values&) {
      Value* k = e_.b.CreateShl(pair, e_.num(1));
      for (int v = 0; v < s_.vectors; ++v) {
        Value* high = kn_vector(e_.b.CreateAdd(k, e_.num(1)), v, masks);
        store_row(pair, v, e_.join_pair(kn_vector(k, v, masks), high));
      }
      return Values{};
    });
    e_.when(e_.b.CreateICmpNE(e_.b.CreateAnd(k_, e_.num(1)), e_.num(0)), [&] {
      for (int v = 0; v < s_.vectors; ++v)
        store_row(whole, v, e_.join_pair(kn_vector(e_.b.CreateShl(whole, e_.num(1)), v, masks), e_.c_f32(0)));
    });
  }
  Value* kn_vector(Value* k, int v, const Values& masks) {
    Value* p = e_.at(e_.at(w_, e_.b.CreateMul(k, row_bytes_)), int64_t{v} * e_.lanes * size_bytes(s_.w));
    return e_.load_elements(s_.w, p, masks[static_cast<size_t>(v)]);
  }
  void store_row(Value* row, int v, Value* x) {
    e_.store(e_.as(x, e_.v_i32), e_.at(e_.at(out_, e_.times(row, row_bytes())), v * vector_bytes()), e_.lanes * 4);
  }

  void square(Value* in, Value* out) {
    Values rows;
    for (int r = 0; r < e_.lanes; ++r) rows.push_back(e_.load(e_.v_i32, e_.at(in, e_.times(row_bytes_, r))));
    rows = transpose_square(e_, std::move(rows));
    for (int r = 0; r < e_.lanes; ++r) {
      Value* row = rows[static_cast<size_t>(r)];
      if (s_.w == DType::bf16 && !pairs()) {
        const auto [first, second] = e_.split_pair(row);
        e_.store(first, e_.at(out, 2 * r * row_bytes()), e_.lanes * 4);
        e_.store(second, e_.at(out, (2 * r + 1) * row_bytes()), e_.lanes * 4);
      } else {
        e_.store(row, e_.at(out, r * row_bytes()), e_.lanes * 4);
      }
    }
  }

  // Elements [from, k) of the `lanes` columns at `rows`, of which `left` are valid.
  void nk_elements(Value* rows, Value* out, Value* from, Value* left) {
    const int64_t size = size_bytes(s_.w);
    Value* bound = pairs() ? e_.b.CreateAnd(e_.b.CreateAdd(k_, e_.num(1)), e_.num(~int64_t{1})) : k_;
    e_.loop(from, bound, 1, {}, [&](Value* k, const Values&) {
      e_.loop(
          e_.num(0), e_.num(e_.lanes), 1, {},
          [&](Value* n, const Values&) {
            Value* row = pairs() ? e_.b.CreateLShr(k, e_.num(1)) : k;
            Value* to = e_.at(e_.at(out, e_.times(row, row_bytes())), e_.times(n, 4));
            if (pairs()) to = e_.at(to, e_.times(e_.b.CreateAnd(k, e_.num(1)), 2));
            Value* valid = e_.b.CreateAnd(e_.b.CreateICmpSLT(n, left), e_.b.CreateICmpSLT(k, k_));
            e_.store(llvm::Constant::getNullValue(pairs() ? e_.i16 : e_.i32), to, 2);
            e_.when(valid, [&] {
              Value* p = e_.at(e_.at(rows, e_.b.CreateMul(n, row_bytes_)), e_.times(k, size));
              Value* x = e_.load(size == 2 ? e_.i16 : e_.i32, p, static_cast<int>(size));
              if (size == 2 && !pairs()) x = e_.b.CreateShl(e_.b.CreateZExt(x, e_.i32), 16);
              e_.store(x, to, 2);
            });
            return Values{};
          },
          true);
      return Values{};
    });
  }

  X86Emitter& e_;
  const PackSpec& s_;
  Value *w_, *row_bytes_, *k_, *columns_, *out_;
};

llvm::Function* begin_pack(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  CHECK(spec.panel == PanelType::f32 || spec.w == DType::bf16);
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  return f;
}

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

llvm::Function* emit_widen_rows(X86Emitter& e, const std::string& symbol) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  Value *k = f->getArg(3), *vectors = e.b.CreateUDiv(k, e.num(e.lanes)), *done = e.times(vectors, e.lanes);
  const X86Emitter::Moving rows[] = {{f->getArg(0), f->getArg(1)}, {f->getArg(4), e.times(k, 4)}};
  e.walk(f->getArg(2), rows, {}, [&](const Values& row, const Values&) {
    const X86Emitter::Moving elements[] = {{row[0], int64_t{e.lanes} * 2}, {row[1], int64_t{e.lanes} * 4}};
    e.walk(vectors, elements, {}, [&](const Values& p, const Values&) {
      e.store(e.load_elements(DType::bf16, p[0]), p[1]);
      return Values{};
    });
    e.loop(done, k, 1, {}, [&](Value* i, const Values&) {
      e.store(e.widen(DType::bf16, e.load(e.i16, e.at(row[0], e.times(i, 2)), 2)), e.at(row[1], e.times(i, 4)), 4);
      return Values{};
    });
    return Values{};
  });
  e.end_function();
  return f;
}

namespace {

// As many codes as fill a vector, four to a lane, as they are multiplied.
Value* multiplied_codes(X86Emitter& e, CodeForm form, DType from, Value* codes) {
  if (form == CodeForm::bytes) return codes;
  if (form == CodeForm::offset_bytes) return e.b.CreateXor(codes, e.c_i32(0x80808080));
  const auto [even, odd] = e.split_bytes(codes, from == DType::i8);
  std::vector<int> in_turn;
  for (int i = 0; i < e.lanes; ++i) in_turn.push_back(i), in_turn.push_back(e.lanes + i);
  return e.b.CreateShuffleVector(e.as(even, e.v_i32), e.as(odd, e.v_i32), in_turn);
}

int64_t bytes_of_code(CodeForm form) { return form == CodeForm::words ? 2 : 1; }

// Where element i of a row of codes goes.
int64_t place_of_code(CodeForm form, int64_t i) {
  return form == CodeForm::words ? (i & ~3) * 2 + ((i & 1) * 2 + (i >> 1 & 1)) * 2 : i;
}

// 128 for each of the first bytes of a vector.
Value* offsets_of(X86Emitter& e, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(e.lanes) * 4, 0);
  std::fill_n(bytes.begin(), count, uint8_t{0x80});
  return e.as(llvm::ConstantDataVector::get(e.context, bytes), e.v_i32);
}

// The last `count` of a row, fewer than a vector of bytes, and the zeros that fill up its `room`.
void last_codes(X86Emitter& e, CodeForm form, Value* from, Value* to, int64_t count, int64_t room) {
  Value* codes = load_first(e, from, e.num(count));
  if (form == CodeForm::offset_bytes) codes = e.b.CreateXor(codes, offsets_of(e, count));
  e.masked_store(codes, to, room / 4 < e.lanes ? e.tail_mask(e.num(room / 4)) : nullptr);
}

}  // namespace

Value* multiplied_code(X86Emitter& e, CodeForm form, DType from, Value* code) {
  if (form == CodeForm::bytes) return code;
  if (form == CodeForm::offset_bytes) return e.b.CreateXor(code, e.b.getInt8(0x80));
  return from == DType::i8 ? e.b.CreateSExt(code, e.i16) : e.b.CreateZExt(code, e.i16);
}

llvm::Function* emit_code_rows(X86Emitter& e, const std::string& symbol, const CodeRows& s) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  const int64_t size = bytes_of_code(s.form), block = int64_t{e.lanes} * 4, done = s.k / block * block,
                quad = s.k / 4 * 4;
  const X86Emitter::Moving rows[] = {{f->getArg(0), f->getArg(1)}, {f->getArg(4), s.row_bytes}};
  e.walk(f->getArg(2), rows, {}, [&](const Values& row, const Values&) {
    const X86Emitter::Moving codes[] = {{row[0], block}, {row[1], block * size}};
    e.walk(e.num(done / block), codes, {}, [&](const Values& p, const Values&) {
      e.store(multiplied_codes(e, s.form, s.from, e.load(e.v_i32, p[0])), p[1], 4);
      return Values{};
    });
    if (e.avx512 && s.form != CodeForm::words) {
      if (done < s.k) last_codes(e, s.form, e.at(row[0], done), e.at(row[1], done), s.k - done, s.row_bytes - done);
      return Values{};
    }
    emit_zero(e, e.at(row[1], quad * size), s.row_bytes - quad * size);
    for (int64_t i = done; i < s.k; ++i)
      e.store(multiplied_code(e, s.form, s.from, e.load(e.i8, e.at(row[0], i))), e.at(row[1], place_of_code(s.form, i)),
              static_cast<int>(size));
    return Values{};
  });
  e.end_function();
  return f;
}

llvm::Function* emit_code_run(X86Emitter& e, const std::string& symbol, CodeForm form, DType from) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.i64};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  const int64_t size = bytes_of_code(form), block = int64_t{e.lanes} * 4;
  Value *quads = f->getArg(2), *whole = e.b.CreateUDiv(quads, e.num(e.lanes)), *done = e.times(whole, e.lanes);
  const X86Emitter::Moving codes[] = {{f->getArg(0), block}, {f->getArg(1), block * size}};
  e.walk(whole, codes, {}, [&](const Values& p, const Values&) {
    e.store(multiplied_codes(e, form, from, e.load(e.v_i32, p[0])), p[1], 4);
    return Values{};
  });
  e.loop(done, quads, 1, {}, [&](Value* quad, const Values&) {
    for (int64_t i = 0; i < 4; ++i)
      e.store(multiplied_code(e, form, from, e.load(e.i8, e.at(e.at(f->getArg(0), e.times(quad, 4)), i))),
              e.at(e.at(f->getArg(1), e.times(quad, 4 * size)), place_of_code(form, i)), static_cast<int>(size));
    return Values{};
  });
  e.end_function();
  return f;
}

llvm::Function* emit_turn_rows(X86Emitter& e, const std::string& symbol, DType type, int64_t out_row_bytes) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  Value *a = f->getArg(0), *k_bytes = f->getArg(1), *rows = f->getArg(2), *k = f->getArg(3), *out = f->getArg(4);
  const bool pairs = type == DType::bf16;
  const int64_t square_k = e.lanes * (pairs ? 2 : 1);
  e.loop(e.num(0), rows, e.lanes, {}, [&](Value* row, const Values&) {
    Value *from = e.at(a, e.times(row, 2)), *to = e.at(out, e.times(row, out_row_bytes));
    Value *mask = e.tail_mask(e.b.CreateSub(rows, row)), *squares = e.b.CreateUDiv(k, e.num(square_k));
    const auto column = [&](Value* at) {
      return e.load_elements(DType::bf16, e.at(from, e.b.CreateMul(at, k_bytes)), mask);
    };
    e.loop(e.num(0), squares, 1, {}, [&](Value* s, const Values&) {
      Values square;
      for (int i = 0; i < e.lanes; ++i) {
        Value* first = e.b.CreateAdd(e.times(s, square_k), e.num(int64_t{i} * (pairs ? 2 : 1)));
        square.push_back(pairs ? e.join_pair(column(first), column(e.b.CreateAdd(first, e.num(1))))
                               : e.as(column(first), e.v_i32));
      }
      square = transpose_square(e, std::move(square));
      for (int r = 0; r < e.lanes; ++r)
        e.store(square[static_cast<size_t>(r)], e.at(e.at(to, r * out_row_bytes), e.times(s, int64_t{e.lanes} * 4)), 4);
      return Values{};
    });
    e.loop(e.times(squares, square_k), k, 1, {}, [&](Value* at, const Values&) {
      e.loop(e.num(0), e.smaller(e.num(e.lanes), e.b.CreateSub(rows, row)), 1, {}, [&](Value* r, const Values&) {
        Value* x = e.load(e.i16, e.at(e.at(from, e.b.CreateMul(at, k_bytes)), e.times(r, 2)), 2);
        Value* place = e.at(e.at(to, e.times(r, out_row_bytes)), e.times(at, size_bytes(type)));
        if (pairs) e.store(x, place, 2);
        else e.store(e.widen(DType::bf16, x), place, 4);
        return Values{};
      });
      return Values{};
    });
    return Values{};
  });
  e.end_function();
  return f;
}

llvm::Value* copied_column_bytes(X86Emitter& e, llvm::Value* rows) {
  Value* whole = e.b.CreateAnd(e.b.CreateAdd(rows, e.num(e.lanes - 1)), e.num(-e.lanes));
  return e.b.CreateAdd(e.times(whole, 4), e.num(64));
}

llvm::Function* emit_copy_columns(X86Emitter& e, const std::string& symbol) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  Value *rows = f->getArg(2), *whole = e.b.CreateUDiv(rows, e.num(e.lanes)), *done = e.times(whole, e.lanes);
  Value *has_rest = e.b.CreateICmpSLT(done, rows), *mask = e.tail_mask(e.b.CreateSub(rows, done));
  const X86Emitter::Moving columns[] = {{f->getArg(0), f->getArg(1)}, {f->getArg(4), copied_column_bytes(e, rows)}};
  e.walk(f->getArg(3), columns, {}, [&](const Values& column, const Values&) {
    const X86Emitter::Moving vectors[] = {{column[0], int64_t{e.lanes} * 4}, {column[1], int64_t{e.lanes} * 4}};
    e.walk(whole, vectors, {}, [&](const Values& p, const Values&) {
      e.store(e.load(e.v_f32, p[0], 4), p[1], 4);
      return Values{};
    });
    e.when(has_rest, [&] {
      Value* rest = e.load_elements(DType::f32, e.at(column[0], e.times(done, 4)), mask);
      e.store(rest, e.at(column[1], e.times(done, 4)), 4);
    });
    return Values{};
  });
  e.end_function();
  return f;
}

llvm::Function* emit_pack_kn(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  llvm::Function* f = begin_pack(e, symbol, spec);
  Packer(e, spec, f).run_kn();
  e.end_function();
  return f;
}

llvm::Function* emit_pack_nk(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  llvm::Function* f = begin_pack(e, symbol, spec);
  Packer(e, spec, f).run_nk();
  e.end_function();
  return f;
}

}  // namespace hone
