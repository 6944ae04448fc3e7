#include "device/x86/strips.h"

namespace hone {

using llvm::Value;

Value* tile_of(X86Emitter& e, const TilesByHeight& tiles, Value* height) {
  Value* chosen = tiles.begin()->second;
  for (const auto& [rows, tile] : tiles)
    if (tile != tiles.begin()->second) chosen = e.b.CreateSelect(e.b.CreateICmpEQ(height, e.num(rows)), tile, chosen);
  return chosen;
}

Value* tallest(X86Emitter& e, const TileStrips& strips) {
  return e.b.CreateSelect(e.b.CreateICmpSGT(strips.taller, e.num(0)), strips.tall, strips.low);
}

TileStrips cut_into_strips(X86Emitter& e, Value* rows, int most, const std::function<Value*(Value*)>& tile) {
  Value* count = e.b.CreateUDiv(e.b.CreateAdd(rows, e.num(most - 1)), e.num(most));
  Value *low = e.b.CreateUDiv(rows, count), *tall = e.b.CreateAdd(low, e.num(1));
  return {count, e.b.CreateURem(rows, count), tall, low, tile(tall), tile(low)};
}

TileStrips cut_into_strips(X86Emitter& e, Value* rows, int most, const TilesByHeight& tiles) {
  return cut_into_strips(e, rows, most, [&](Value* height) { return tile_of(e, tiles, height); });
}

TileStrips select_strips(X86Emitter& e, Value* condition, const TileStrips& yes, const TileStrips& no) {
  const auto of = [&](Value* TileStrips::*part) {
    return yes.*part == no.*part ? yes.*part : e.b.CreateSelect(condition, yes.*part, no.*part);
  };
  return {of(&TileStrips::count), of(&TileStrips::taller),    of(&TileStrips::tall),
          of(&TileStrips::low),   of(&TileStrips::tall_tile), of(&TileStrips::low_tile)};
}

void for_each_strip(X86Emitter& e, const TileStrips& s, const std::function<void(Value*, Value*, Value*)>& strip,
                    Value* done) {
  const auto of = [&](Value* i, Value* tall, Value* low) {
    return tall == low ? low : e.b.CreateSelect(e.b.CreateICmpSLT(i, s.taller), tall, low);
  };
  Value* covered = done ? e.b.CreateMul(done, of(e.num(0), s.tall, s.low)) : e.num(0);
  e.loop(done ? done : e.num(0), s.count, 1, {covered}, [&](Value* i, const Values& at) {
    Value* height = of(i, s.tall, s.low);
    strip(of(i, s.tall_tile, s.low_tile), height, at[0]);
    return Values{e.b.CreateAdd(at[0], height)};
  });
}

}  // namespace hone
