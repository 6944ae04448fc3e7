// What the codes of a format mean, and those of its scales: found by running the format's own expressions, and checked
// against them code by code. No format is named here, so a new one needs no code. Whatever reads codes builds on this:
// weights that are laid out for kernels (weight_codec.h), rows of tables, tensors that are unpacked.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "expr/program.h"
#include "formats/format.h"

namespace hone {

struct ScaleMeaning {
  enum class By : uint8_t {
    none,
    code,          // what the format's expression of a value reads: CodeMeaning::By::group_expression
    power_of_two,  // up to 8 bits: 2^-127 to 2^127, or NaN
    minifloat,     // 8 bits: unit * the f32 whose exponent and mantissa they are; 0x7f and 0xff are NaN
    f16,
    bf16,
    f32,
    unknown
  };
  By by = By::none;
  int bits = 0;
  std::vector<float> values;   // of all codes, up to 8 bits
  bool powers_of_two = false;  // all values but NaN are
  int mantissa_bits = 0;       // minifloat
  float unit = 1;              // minifloat
};

struct CodeMeaning {
  enum class By : uint8_t {
    integer,          // unit * the code as an integer
    minifloat,        // sign, exponent and mantissa fields
    table,            // neither, up to 8 bits: one of `values`
    expression,       // neither, more bits: the format's decode expression
    signs,            // bit l is the sign of the l-th scale: a value is their sum
    group_expression  // the format's expression of a code and its group: group_value()
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  By by = By::expression;
  int bits = 0;
  std::vector<float> values;     // of all codes, up to 8 bits; none of signs and group_expression ones
  bool exact_in_bf16 = false;    // every value (up to 8 bits), and none is a subnormal of it
  bool is_signed = true;         // integer
  float unit = 1;                // integer
  int mantissa_bits = 0;         // minifloat
  uint32_t exponent_offset = 0;  // minifloat: added to the magnitude at its place in the f32 pattern
  uint32_t infinity = kNone;     // minifloat: the magnitude that is infinite
  uint32_t nan_from = kNone;     // minifloat: magnitudes from here on are NaN

  ScaleMeaning scale;
  int levels = 1;            // scales of a group
  bool has_global = false;   // every scale is multiplied by a number of the tensor
  int zero_point_bytes = 0;  // 0: none; else a value is (that of the code - zero point) * scale
};

// Computed once for each format and kept.
const CodeMeaning& code_meaning(const Format& format);

// Whether generated code can decode it: weights in this format can be laid out, rows of tables can be read.
Support prepackable(const Format& format);

// The value of a code without scale, as generated code computes it; of integer, minifloat and table.
float number_of(const CodeMeaning& meaning, uint32_t code);

// Of a code (argument 0), the codes of its scales, the first level first, and the zero point where there is one, all
// u32: the value, f32. By::group_expression.
Program group_value(const Format& format);

bool exact_in_bf16(double value);  // and no subnormal of it

}  // namespace hone
