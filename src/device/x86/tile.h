// One tile of a matrix product: the sums of rows x (vectors * lanes) results over K, held in registers.
#pragma once

#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"
#include "formats/format.h"

namespace hone {

struct TileSpec {
  int rows = 1, vectors = 1;
  int chains = 1;         // each sum is that of so many, whose products lie as far apart in k
  int panel_vectors = 1;  // of one panel; the tile goes over vectors / panel_vectors of them, one behind the other
  int64_t panel_bytes = 0;
  DType a = DType::f32;
  PanelType panel = PanelType::f32;
  bool keeps = false;  // W is read as pairs and left as a panel of f32 at the call's `scales`
  bool dot = false;    // pairs of A and W meet in the CPU's bf16 dot product; else products are split into f32
  // Codes: A is u8 (dot: bytes meet in the CPU's dot product) or i16 (words do), laid out by emit_code_rows(); W quads,
  // sums i32. `offset`: they begin with what the call's `scales` points to.
  bool integers = false, offset = false;
  int64_t k = 0;              // 0: given when called (neither codes nor scales nor segments)
  int64_t a_row_bytes = 0;    // 0: given when called
  bool a_by_columns = false;  // A is [K, rows] of f32: what is given is from k to k (k is given when called, too)
  std::vector<int64_t> row_offsets = {};  // bytes from a to each row where they are not a_row_bytes apart
  // K in runs of `segment` elements of A that lie together, for convolutions: `segments_x` of them a_step_x bytes
  // apart, and that again as often as the call's last argument says, a_step_y bytes apart. 0: one run of k.
  int64_t segment = 0, segments_x = 1, a_step_x = 0, a_step_y = 0;
  // Of a convolution over any plane: the call's `scales` are the bytes from a to each row (i64), a_row_bytes is
  // a_step_y.
  bool steps_when_called = false;
  bool counts_segments = false;  // the call says how many of each segments_x are there; W has them all
  int64_t sums_row_bytes = 0;
  bool accumulate = false;  // adds to the sums that are there
  int64_t ahead = 0;        // codes are fetched so many bytes before they are read
  bool fetches = false;     // brings into the second-level cache what it is told to, a little with every step (k >= 64)
  const WeightCodec* codec =
      nullptr;  // set: w holds codes, decoded here (`panel` is then what is multiplied), or scales are read
  const Format* format = nullptr;
  bool codes = false;
  int64_t group = 0;  // k per scale
  bool scale_in_loop = false;
  // Of one vector of columns in a row of scales, where zero points lie behind them, and whether one scale is for all.
  int64_t scale_vector_bytes = 0, zero_points_offset = 0;
  bool shared_scale = false;
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
llvm::Function* emit_tile(Emitter& e, const std::string& symbol, const TileSpec& spec);

}  // namespace hone
