#include "device/x86/left_rows.h"

#include <algorithm>
#include <utility>

#include "device/x86/copy.h"
#include "device/x86/square.h"

namespace hone {
namespace {

using llvm::Value;

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

}  // namespace hone
