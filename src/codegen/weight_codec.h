// How the codes and scales of a packed weight lie in prepacked memory and become numbers in a kernel. Everything is
// derived from the format's own tables (code_values, scale_value): no format is named here, so a new one needs no code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "formats/format.h"

namespace hone {

struct WeightCodec {
  enum class Decode : uint8_t {
    words,       // up to 4 bits: a 16-entry table of bf16, looked up by permutes
    bytes64,     // 6 bits: two byte tables of 64 entries (VBMI)
    mirrored,    // sign bit and 7 bits of magnitude: two byte tables of 128 entries (VBMI)
    bytes256,    // 8 bits without symmetry: two byte tables of 256 entries (VBMI)
    integer,     // value = unit * integer
    minifloat,   // sign, exponent and mantissa fields: integer arithmetic on the f32 pattern
    table,       // f32 table in memory, gathered
    expression,  // more than 8 bits: the format's own decode expression
  };
  Decode decode = Decode::words;
  int code_bits = 0;
  int stored_bits = 0;           // 1, 2, 4, 8, 16 or 32
  bool pairs = false;            // every value is exact in bf16 without subnormals: decodes to bf16 pairs
  std::vector<uint8_t> recode;   // code -> stored code (up to 8 bits; empty: unchanged)
  std::vector<float> values;     // of each stored code (up to 8 bits; unused ones are 0)
  int zero_code = -1;            // stored code of value 0 (-1: none)
  float lone_value = 0;          // mirrored: value of stored code 0x80 when it is not -0 (0: it is)
  bool is_signed = true;         // integer
  float unit = 1;                // integer
  int mantissa_bits = 0;         // minifloat
  uint32_t exponent_offset = 0;  // minifloat: added to the magnitude at its place in the f32 pattern
  uint32_t nan_from = 128;       // minifloat: magnitudes from here on are NaN

  enum class Order : uint8_t {
    natural,     // a 32-bit lane holds consecutive k, lowest bits first
    halves,      // even k in the low 16 bits, odd k in the high ones: a shift leaves a pair of indices
    interleaved  // bytes of four neighbouring columns as a byte unpack of two tables' results wants them
  };
  Order order = Order::natural;
  int chunk_k() const { return 32 / stored_bits; }  // k in one 32-bit lane

  enum class Scale : uint8_t { none, e8m0, f32 };
  Scale scale = Scale::none;
  std::vector<uint8_t> scale_recode;  // e8m0: scale code of the format -> E8M0
  int scale_bytes() const { return scale == Scale::none ? 0 : scale == Scale::e8m0 ? 1 : 4; }
};

// Whether weights [N,K] in this format can be laid out: one scale per group of consecutive k, per output, or one in
// all.
Refusal prepackable(const Format& format);
// k per scale: the group's, or 0 for one scale over the whole of K (also without scales).
int64_t scale_group(const Format& format);
// Computed once per format and level, then shared.
std::shared_ptr<const WeightCodec> weight_codec(const Format& format, IsaLevel isa);

}  // namespace hone
