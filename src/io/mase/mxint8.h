// The kernel of mase-cuda that decodes MXINT8 to bf16, as its source has it: which bits go where, and which thread
// reads what. docs/FORMATS.md, section 7, compares it with hone's mxint8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// One element of it.
struct Mxint8Decoding {
  uint16_t sign = 0, exponent = 0, fraction = 0;  // where they stand in a bf16
  uint16_t packed = 0;                            // these three together
  bool dont_need_abs = false;                     // the kernel's name of bit 6 of the magnitude: the leading 1 is there
  uint16_t bias = 0;                              // taken off where it is not: sign and exponent, the leading 1 alone
  float value = 0;
};
Mxint8Decoding mxint8_decoding(uint8_t mantissa, uint8_t scale);

// mantissa / 64 * 2^(scale - 127), as a format of real numbers would have it; NaN for a scale of 255.
double mxint8_value(uint8_t mantissa, uint8_t scale);

// All 65,536 pairs: the kernel's value beside that of hone's mxint8.compat=mase-cuda, and beside the formula.
struct Mxint8Departure {
  std::string where;                // "mantissa -128", "scale 0", "scale 255"
  int64_t pairs = 0;                // that are not the formula's
  uint8_t mantissa = 0, scale = 0;  // the first of them
  double kernel = 0, formula = 0;
};
struct Mxint8Pairs {
  int64_t pairs = 0;
  int64_t same_bits = 0;   // the kernel and hone's format
  int64_t by_formula = 0;  // the kernel and the formula
  std::vector<Mxint8Departure> departures;
};
Mxint8Pairs compare_mxint8_pairs();

// How the kernel cuts groups x elements into blocks of 1,024 threads, each with one element: a tile is [elements of a
// group, groups], its first dimension contiguous.
struct Mxint8Tiling {
  int64_t tile_elements = 0, tile_groups = 0;  // cta_tiler
  int64_t grid_x = 0, grid_y = 0;
  int64_t shared_bytes = 0;  // mantissas and scales of a tile; those (layout_sX) have strides 1 and tile_elements
};
Mxint8Tiling mxint8_tiling(int64_t group, int64_t groups);  // both at least 1: Error

}  // namespace hone
