#include "codegen/llvm/strips.h"

namespace hone {

using llvm::Value;

Value* tile_of(Emitter& e, const TilesByHeight& tiles, Value* height) {
  Value* chosen = tiles.begin()->second;
  for (const auto& [rows, tile] : tiles)
    if (tile != tiles.begin()->second) chosen = e.b.CreateSelect(e.b.CreateICmpEQ(height, e.num(rows)), tile, chosen);
  return chosen;
}

TileStrips cut_into_strips(Emitter& e, Value* rows, int most, const TilesByHeight& tiles) {
  Value* count = e.b.CreateUDiv(e.b.CreateAdd(rows, e.num(most - 1)), e.num(most));
  Value *low = e.b.CreateUDiv(rows, count), *tall = e.b.CreateAdd(low, e.num(1));
  return {count, e.b.CreateURem(rows, count), tall, low, tile_of(e, tiles, tall), tile_of(e, tiles, low)};
}

void for_each_strip(Emitter& e, const TileStrips& s, const std::function<void(Value*, Value*, Value*)>& strip,
                    Value* done) {
  if (!done) done = e.num(0);
  e.loop(done, s.taller, 1, {}, [&](Value* i, const Values&) {
    strip(s.tall_tile, s.tall, e.b.CreateMul(i, s.tall));
    return Values{};
  });
  e.loop(e.larger(s.taller, done), s.count, 1, {}, [&](Value* i, const Values&) {
    strip(s.low_tile, s.low, e.b.CreateAdd(e.b.CreateMul(i, s.low), s.taller));
    return Values{};
  });
}

}  // namespace hone
