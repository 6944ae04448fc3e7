// The element codecs: how one number, already divided by its scale, becomes W bits and back (docs/FORMATS.md, section
// 5).
#pragma once

#include "formats/format.h"

namespace hone {

extern constinit const ElementCodec int_codec;        // two's complement or unsigned, optional fraction bits (5.4)
extern constinit const ElementCodec minifloat_codec;  // sign, exponent, mantissa with subnormals (5.1)
extern constinit const ElementCodec denorm_codec;     // the same without a hidden bit (5.2)
extern constinit const ElementCodec log_codec;        // signed powers of two and zero (5.5)
extern constinit const ElementCodec sign_codec;       // one bit, +1 or -1 (5.11)
extern constinit const ElementCodec binary32_codec;   // f32 itself (5.3)
extern constinit const ElementCodec table_codec;      // integers from a table (5.14)

ElementParams int_element(int bits, int fraction_bits, bool symmetric);
ElementParams uint_element(int bits, int fraction_bits);
// The default bias is 2^(E-1) - 1.
ElementParams minifloat_element(int exponent_bits, int mantissa_bits,
                                ElementParams::Top top = ElementParams::Top::finite);

ElementParams log_element(int bits, int bias);
ElementParams table_element(std::span<const int8_t> table);  // of 2^bits ascending integers, which live forever

// floor(log2(largest finite value)): emax of docs/FORMATS.md, section 2.
int top_exponent(const Format& format);
double lowest_value(const Format& format);  // the most negative finite value that encoding gives

}  // namespace hone
