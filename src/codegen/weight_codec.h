// How the codes and scales of a packed weight lie in prepacked memory and become numbers in a kernel. Everything is
// derived from the format's own tables (code_values, scale_value): no format is named here, so a new one needs no code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "codegen/target.h"
#include "expr/program.h"
#include "formats/format.h"

namespace hone {

struct WeightCodec {
  enum class Decode : uint8_t {
    words,       // up to 6 bits: a table of bf16, looked up by permutes
    mirrored,    // sign bit and 7 bits of magnitude: two byte tables of 128 entries (VBMI)
    bytes256,    // 8 bits without symmetry: two byte tables of 256 entries (VBMI)
    integer,     // value = unit * integer
    minifloat,   // sign, exponent and mantissa fields: integer arithmetic on the f32 pattern
    table,       // f32 table in memory, gathered
    expression,  // more than 8 bits and neither of these: the format's own decode expression
    restored,    // the format's own expression of a code and its scale's code
    signs,       // bit l is the sign of the l-th scale: a value is their sum
  };
  static constexpr uint32_t kNoNan = ~uint32_t{0};
  Decode decode = Decode::words;
  int code_bits = 0;             // as the format has them
  int bits = 0;                  // as they are stored
  std::vector<int> planes;       // widths that add up to `bits`: the lowest bits of all codes of a chunk, then the next
  bool pairs = false;            // every value is exact in bf16 without subnormals: decodes to bf16 pairs
  std::vector<uint8_t> recode;   // code -> stored code (up to 8 bits)
  std::vector<float> values;     // of each stored code (up to 8 bits; unused ones are 0)
  int zero_code = -1;            // stored code of value 0 (-1: none)
  float lone_value = 0;          // mirrored: value of stored code 0x80 when it is not -0 (0: it is)
  bool is_signed = true;         // integer
  float unit = 1;                // integer
  int mantissa_bits = 0;         // minifloat
  uint32_t exponent_offset = 0;  // minifloat: added to the magnitude at its place in the f32 pattern
  uint32_t nan_from = kNoNan;    // minifloat: magnitudes from here on are NaN

  enum class Order : uint8_t {
    natural,     // a 32-bit lane of a plane holds consecutive k, lowest bits first
    halves,      // even k in the low 16 bits, odd k in the high ones: a shift leaves a pair of indices
    fields,      // so too, but field_bits of each byte are an index, and what bytes have left over makes further words
    interleaved  // bytes of four neighbouring columns as a byte unpack of two tables' results wants them
  };
  Order order = Order::natural;
  int field_bits = 0;                                 // fields: one code, or two of three bits
  int chunk_k() const { return 32 / planes.back(); }  // k in the lanes of a chunk: its narrowest plane has one row
  int chunk_rows() const { return chunk_k() * bits / 32; }

  enum class Scale : uint8_t {
    none,
    code,  // of up to 8 bits, as the format has it: Decode::restored
    e8m0,
    minifloat,  // 8 bits, times the tensor's global scale where there is one
    f16,
    bf16,
    f32
  };
  Scale scale = Scale::none;
  int levels = 1;                     // scales of a group
  std::vector<uint8_t> scale_recode;  // scale code of the format -> stored one (8 bits)
  bool folds_into_pairs = false;      // value times scale (without the global one) is exact in bf16, but for subnormals
  int scale_mantissa_bits = 0;        // minifloat, and what its f32 pattern is multiplied by
  float scale_unit = 1;
  bool has_global = false;
  int zero_point_bytes = 0;    // 0: none; else the value of an integer code is (code - zero point) * scale
  bool zero_in_index = false;  // words: looked up is code - zero point + 2^bits
  int scale_bytes() const {
    return scale == Scale::none ? 0 : scale <= Scale::minifloat ? 1 : scale == Scale::f32 ? 4 : 2;
  }
};

// Order::fields: the words of a chunk that have no lane of their own, bit by bit from what the bytes of its rows have
// left over. Bits [from, from + bits) of both bytes of a half in `row` are bits [to, to + bits) of `word`; words count
// on from the rows.
struct FieldPiece {
  int word, row, from, bits, to;
};
std::vector<FieldPiece> field_pieces(int field_bits);

// One scale for `rows` outputs x `columns` inputs of a matrix; 0: for all of them. `flat`: for `columns` consecutive
// elements, which may go on in the next row.
struct ScaleGrid {
  int64_t rows = 0, columns = 0;
  bool flat = false;
};
ScaleGrid scale_grid(const Format& format);

// Values that are neither code times scale nor that of a code less a zero point, nor signed scales.
bool is_restored(const Format& format);
// Of a code (u32, argument 0) and its scale's code (u32, argument 1): the value, f32. Only where is_restored().
Program restored_value(const Format& format);
// Whether weights [N,K] in this format can be laid out.
Refusal prepackable(const Format& format);
// Computed once per format and features, then shared.
std::shared_ptr<const WeightCodec> weight_codec(const Format& format, const Target& target);

}  // namespace hone
