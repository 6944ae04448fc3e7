// Rows of a product, cut into strips of nearly equal height that tiles of that height multiply: strips_of() of
// device/x86/gemm/shape.h, in generated code.
#pragma once

#include <functional>
#include <map>

#include "device/x86/emitter.h"

namespace hone {

using TilesByHeight = std::map<int64_t, llvm::Function*>;

// Of those, the one for `height` rows; some other where there is none.
llvm::Value* tile_of(X86Emitter& e, const TilesByHeight& tiles, llvm::Value* height);

// `count` strips of `low` rows, the first `taller` of `tall`, which is one more.
struct TileStrips {
  llvm::Value *count, *taller, *tall, *low, *tall_tile, *low_tile;
};
llvm::Value* tallest(X86Emitter& e, const TileStrips& strips);  // their height, which the first has
TileStrips cut_into_strips(X86Emitter& e, llvm::Value* rows, int most, const TilesByHeight& tiles);
// `tile` gives the tile of a height.
TileStrips cut_into_strips(X86Emitter& e, llvm::Value* rows, int most,
                           const std::function<llvm::Value*(llvm::Value*)>& tile);
TileStrips select_strips(X86Emitter& e, llvm::Value* condition, const TileStrips& yes, const TileStrips& no);

// Calls `strip` with a tile, its height and the row where it starts until all rows are covered; `done` strips are.
void for_each_strip(X86Emitter& e, const TileStrips& strips,
                    const std::function<void(llvm::Value*, llvm::Value*, llvm::Value*)>& strip,
                    llvm::Value* done = nullptr);

}  // namespace hone
