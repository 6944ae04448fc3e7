// How the codes and scales of a packed weight lie in prepacked memory: what codes mean (code_meaning.h), and what
// follows from it and from the target for their layout and for how kernels decode them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "device/x86/target.h"
#include "formats/format.h"
#include "kernels/code_meaning.h"
#include "kernels/packed_rows.h"

namespace hone {

struct WeightCodec : CodeMeaning {
  enum class Decode : uint8_t {
    words,     // up to 6 bits: a table of bf16, looked up by permutes
    mirrored,  // sign bit and 7 bits of magnitude: two byte tables of 128 entries (VBMI)
    bytes256,  // 8 bits without symmetry: two byte tables of 256 entries (VBMI)
    lanes      // one code in a lane, as its meaning says
  };
  Decode decode = Decode::lanes;
  int stored_bits = 0;          // of a code
  std::vector<int> planes;      // widths that add up to them: the lowest bits of all codes of a chunk, then the next
  bool pairs = false;           // decodes to bf16 pairs
  std::vector<uint8_t> recode;  // code -> stored code (up to 8 bits)
  int zero_code = -1;           // stored code of value 0 (-1: none)
  float lone_value = 0;         // mirrored: value of stored code 0x80 when it is not -0 (0: it is)
  // Cheap enough to be done again for each strip of a few rows.
  bool decodes_in_loop() const { return decode != Decode::lanes || by <= By::table; }

  enum class Order : uint8_t {
    natural,     // a 32-bit lane of a plane holds consecutive k, lowest bits first
    halves,      // even k in the low 16 bits, odd k in the high ones: a shift leaves a pair of indices
    fields,      // so too, but field_bits of each byte are an index, and what bytes have left over makes further words
    interleaved  // bytes of four neighbouring columns as a byte unpack of two tables' results wants them
  };
  Order order = Order::natural;
  int field_bits = 0;                                 // fields: one code, or two of three bits
  int chunk_k() const { return 32 / planes.back(); }  // k in the lanes of a chunk: its narrowest plane has one row
  int chunk_rows() const { return chunk_k() * stored_bits / 32; }

  std::vector<uint8_t> scale_recode;  // scale code of the format -> stored one (power_of_two: the biased exponent)
  bool folds_into_pairs = false;      // value times scale (without the global one) is exact in bf16, but for subnormals
  bool zero_in_index = false;         // words: looked up is code - zero point + 2^bits
  int scale_bytes() const { return scale.by == ScaleMeaning::By::none ? 0 : std::max(1, scale.bits / 8); }
};

// Order::fields: the words of a chunk that have no lane of their own, bit by bit from what the bytes of its rows have
// left over. Bits [from, from + bits) of both bytes of a half in `row` are bits [to, to + bits) of `word`; words count
// on from the rows.
struct FieldPiece {
  int word, row, from, bits, to;
};
std::vector<FieldPiece> field_pieces(int field_bits);

// Computed once per format and features, then shared.
std::shared_ptr<const WeightCodec> weight_codec(const Format& format, const X86Target& target);

}  // namespace hone
