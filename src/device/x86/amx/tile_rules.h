// When tile registers multiply, and how much at a time: what matrix products, convolutions and attention ask when they
// choose their shapes.
#pragma once

#include "device/x86/amx/tile_sizes.h"
#include "device/x86/block_gemm/plan.h"
#include "device/x86/conv/plan.h"
#include "device/x86/gemm/plan.h"
#include "device/x86/target.h"
#include "kernels/attention/plan.h"

namespace hone {

struct BlockGemmShape;
struct GemmShape;

// Whether `by_tiles` is of use to a plan; of a convolution that of its product, as a direct one.
bool fits_tiles(X86GemmPlan plan, const X86Target& target);
bool fits_tiles(X86ConvPlan plan, const X86Target& target);
bool fits_tiles(X86BlockGemmPlan plan, const X86Target& target);
bool fits_tiles(const AttentionPlan& plan, const X86Target& target);

// Decoding a block of a panel of codes with scales takes as long as multiplying it by some 20 rows in vectors does.
constexpr int64_t kLeastTileRows = 24;

int tile_vectors(int64_t columns, int lanes);  // of a panel, where there are so many columns; 0: any number
// Whether what has been chosen for a product can be multiplied so; a gemm's W are pairs.
bool tiles_can(const GemmShape& shape);
bool tiles_can(const BlockGemmShape& shape, const X86Target& target);
int64_t choose_tile_block(const GemmShape& shape);                          // k of a dense panel at a time
int64_t choose_tile_rows(const GemmShape& shape, const X86Target& target);  // rows of A in an item

}  // namespace hone
