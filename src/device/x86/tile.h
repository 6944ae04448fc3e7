// One tile of a matrix product: the sums of rows x (vectors * lanes) results over K, held in registers.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"
#include "formats/format.h"

namespace hone {

// What a tile reads W from.
struct PlainPanels {  // of f32, or of pairs, which the unit of bf16 multiplies or which are split for f32
  PanelType type = PanelType::f32;
  bool keeps = false;  // pairs are left as a panel of f32 at the call's `scales`
};
// Codes of A are laid out as emit_code_rows() does. `offset`: sums begin with what the call's `scales` points to.
struct QuadPanels {
  bool offset = false;
};
// Sums of `group` k are scaled before they are added up.
struct GroupScales {
  int64_t group = 0;
  int64_t vector_bytes = 0;        // of one vector of columns in a row of scales
  int64_t zero_points_offset = 0;  // behind them
  bool shared = false;             // one scale is for all columns of a vector
};
struct ScaledPairs {  // decoded before, for the unit of bf16
  const WeightCodec* codec;
  const Format* format;
  GroupScales scales;
};
struct CodePanels {  // decoded here
  const WeightCodec* codec;
  const Format* format;
  std::optional<GroupScales> scales;
  int64_t ahead = 0;  // fetched so many bytes before they are read
};

// K in runs of `segment` elements of A that lie together, for convolutions: `segments_x` of them a_step_x bytes apart,
// and that again as often as the call's last argument says, a_step_y bytes apart.
struct TileWindow {
  int64_t segment = 0, segments_x = 1, a_step_x = 0;
  struct Plane {
    int64_t a_step_y = 0;
    std::vector<int64_t> row_offsets;  // bytes from a to each row
  };
  // None for any plane: the call's `scales` are the bytes from a to each row (i64), a_row_bytes is a_step_y.
  std::optional<Plane> plane;
  bool counts_segments = false;  // the call says how many of each segments_x are there; W has them all
};

struct TileSpec {
  int rows = 1, vectors = 1;
  int chains = 1;         // each sum is that of so many, whose products lie as far apart in k
  int panel_vectors = 1;  // of one panel; the tile goes over vectors / panel_vectors of them, one behind the other
  int64_t panel_bytes = 0;
  ProductUnit unit = ProductUnit::f32;  // int16 and int8 for quads, no others; bf16 for pairs
  DType a = DType::f32;                 // as it is multiplied
  std::variant<PlainPanels, QuadPanels, ScaledPairs, CodePanels> w;
  int64_t k = 0;              // 0: given when called (plain panels without a window only)
  int64_t a_row_bytes = 0;    // 0: given when called
  bool a_by_columns = false;  // A is [K, rows] of f32: what is given is from k to k (k is given when called, too)
  std::optional<TileWindow> window;  // of plain panels and quads; none: one run of k
  int64_t sums_row_bytes = 0;
  bool accumulate = false;     // adds to the sums that are there
  bool fetches = false;        // brings into the second-level cache what it is told to, a little with every step
  int64_t global_offset = -1;  // from the scales to the tensor's global one, where sums are multiplied by it
};

TileSpec tile_spec(const GemmShape& shape, const Format* format, int rows, int panels = 1);

// Adds a local function
//   void(a, w, scales, sums, a_row_bytes, count[, fetched, fetched_bytes][, segments])   pointers, then i64
// count: k where the spec has none; of the outer runs of segments; or, where scales are read, of the k before w.
// that stores the sums as f32 rows. It has its own frame and no memory but its arguments: in a larger function,
// constants that the surroundings need would be kept in registers across this loop and spill it (2 to 3 times slower).
//
// Rounding: sums are accumulated in f32, in an order that the number of chains decides and nothing else. The CPU's bf16
// dot product treats subnormal operands as 0 and flushes subnormal results; everything else keeps them.
llvm::Function* emit_tile(X86Emitter& e, const std::string& symbol, const TileSpec& spec);

}  // namespace hone
