#include "device/x86/amx/pending_strip.h"

#include "device/x86/amx/tile_registers.h"
#include "device/x86/tile.h"

namespace hone {

using llvm::Function;
using llvm::Value;

namespace {

Value* is_there(X86Emitter& e, Value* pointer) {
  return e.b.CreateICmpNE(pointer, llvm::ConstantPointerNull::get(e.b.getPtrTy()));
}

}  // namespace

Value* state_field(X86Emitter& e, Value* state, size_t offset) { return e.at(state, static_cast<int64_t>(offset)); }

Value* tile_state(X86Emitter& e) {
  Value* state = e.stack(e.i8, sizeof(TileState));
  for (size_t field : {offsetof(TileState, half_rows), offsetof(TileState, first), offsetof(TileState, second),
                       offsetof(TileState, rows)})
    e.store(e.num(0), state_field(e, state, field), 8);
  return state;
}

Function* emit_next_rows(X86Emitter& e, const std::string& symbol, Function* epilogue, int64_t row_bytes) {
  llvm::Type* const params[] = {e.ptr, e.i64};
  Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  const auto field = [&](size_t offset) { return state_field(e, f->getArg(0), offset); };
  const auto number = [&](size_t offset) { return e.load(e.i64, field(offset), 8); };
  Value *left = number(offsetof(TileState, rows)), *rows = e.smaller(left, f->getArg(1));
  Value *sums = e.load(e.ptr, field(offsetof(TileState, sums)), 8), *row = number(offsetof(TileState, row));
  e.store(e.b.CreateSub(left, rows), field(offsetof(TileState, rows)), 8);
  e.store(e.at(sums, e.times(rows, row_bytes)), field(offsetof(TileState, sums)), 8);
  e.store(e.b.CreateAdd(row, rows), field(offsetof(TileState, row)), 8);
  Value* const operands[] = {e.load(e.ptr, field(offsetof(TileState, args)), 8),
                             sums,
                             row,
                             number(offsetof(TileState, column)),
                             rows,
                             number(offsetof(TileState, result_offset)),
                             number(offsetof(TileState, batch))};
  e.b.CreateCall(epilogue, operands);
  e.end_function();
  return f;
}

Function* emit_flush(X86Emitter& e, const std::string& symbol, Function* next_rows, int64_t row_bytes) {
  llvm::Type* const params[] = {e.ptr};
  Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  const size_t places[] = {offsetof(TileState, first), offsetof(TileState, second)};
  for (int half : {0, 1}) {
    Value* cell = state_field(e, f->getArg(0), places[half]);
    Value* place = e.load(e.ptr, cell, 8);
    for (int c = 0; c < row_bytes / TileConfig::kRowBytes; ++c) store_pending(e, place, half, c, row_bytes);
    e.store(e.num(0), cell, 8);
  }
  Value* left = e.load(e.i64, state_field(e, f->getArg(0), offsetof(TileState, rows)), 8);
  e.when(e.b.CreateICmpNE(left, e.num(0)), [&] { e.b.CreateCall(next_rows, {f->getArg(0), left}); });
  e.end_function();
  return f;
}

void store_pending(X86Emitter& e, Value* place, int half, int c, int64_t row_bytes) {
  e.when(is_there(e, place), [&] {
    TileRegisters(e).store(kSumTiles[half][c], e.at(place, int64_t{c} * TileConfig::kRowBytes), e.num(row_bytes));
  });
}

void finish_later(X86Emitter& e, Value* state, const StripResult& strip) {
  const auto set = [&](size_t offset, Value* value) { e.store(value, state_field(e, state, offset), 8); };
  set(offsetof(TileState, sums), e.load(e.ptr, state_field(e, state, offsetof(TileState, first)), 8));
  set(offsetof(TileState, args), strip.args);
  set(offsetof(TileState, row), strip.row);
  set(offsetof(TileState, column), strip.column);
  set(offsetof(TileState, rows), strip.rows);
  set(offsetof(TileState, result_offset), strip.result_offset);
  set(offsetof(TileState, batch), strip.batch);
}

}  // namespace hone
