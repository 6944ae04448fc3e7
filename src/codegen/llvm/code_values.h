// Codes to numbers, whatever the format: by arithmetic or a table that is checked, code by code, against the format's
// own decode expression; otherwise by that expression.
#pragma once

#include <vector>

#include "codegen/kernels/quantise/programs.h"
#include "codegen/llvm/emit.h"
#include "formats/format.h"

namespace hone {

// What the codes of a format mean without scale.
struct CodeMeaning {
  enum class By : uint8_t {
    integer,    // unit * the code as an integer
    half,       // sign, exponent and mantissa fields put at their places in an f16; times unit
    table,      // of all codes
    expression  // the decode expression
  };
  By by = By::expression;
  std::vector<float> values;  // of all codes; empty by expression
  float unit = 1;
  bool is_signed = true;           // integer
  int mantissa_bits = 0;           // half
  uint32_t nan_from = 0x7fffffff;  // half: magnitudes from here on are NaN
};
CodeMeaning code_meaning(const Format& format);

class CodeValues {
 public:
  // Of a group: its scales and zero point (null where there is none) in every lane, as f32. NaN scales are 0x7fc00000.
  CodeValues(Emitter& e, const Format& format, const CodeMeaning& meaning, const QuantisePrograms& programs,
             const Values& scales, llvm::Value* zero_point);

  // The values of codes (32-bit lanes), stored as `dtype` (f32, bf16, f16).
  void store(llvm::Value* codes, DType dtype, llvm::Value* pointer, llvm::Value* mask);

 private:
  llvm::Value* value(llvm::Value* codes);  // without scale, f32
  llvm::Value* halves(llvm::Value* codes);
  llvm::Value* times_unit(llvm::Value* number);

  Emitter& e_;
  const CodeMeaning& meaning_;
  const QuantisePrograms& p_;
  const int code_bits_;
  Program decode_;                // arg 0: code; f64
  Values group_;                  // as f64, for programs that restore a value
  llvm::Value* scale_ = nullptr;  // of values that are multiplied by it; the unit too, if unit_in_scale_
  bool unit_in_scale_ = false;
};

}  // namespace hone
