// Codes in lanes to numbers in lanes, by what the codes of a format mean (kernels/code_meaning.h): for weights, rows of
// tables and whole tensors alike. Where a place has faster instructions (decode.h looks pairs and bytes up), they
// take the place of number().
#pragma once

#include "device/llvm/emitter.h"
#include "kernels/code_meaning.h"

namespace hone {

class CodeNumbers {
 public:
  // What the elements of a group read, in every lane or lane by lane; made outside their loop.
  struct Group {
    Values scales;                // of all levels, f32 (group_expression: their codes); none: numbers without scale
    llvm::Value* zero = nullptr;  // from zero_point()
    bool unit_in_scale = false;
  };

  CodeNumbers(Emitter& e, const CodeMeaning& meaning, const Format& format);  // `meaning` outlives this

  llvm::Value* zero_point(llvm::Value* integers);  // 32-bit lanes, as it is subtracted; null when null
  // A group whose scales may be multiplied by what all numbers are.
  Group group(Values scales, llvm::Value* zero) const;

  // Codes have zeros above them in 32-bit lanes. f32: the value of each without scale, less the zero point where there
  // is one; and what the format's decode rule makes of it in its group.
  llvm::Value* number(llvm::Value* codes, llvm::Value* zero) { return number(codes, zero, false); }
  llvm::Value* value(llvm::Value* codes, const Group& group);

 private:
  bool zero_is_offset() const;
  llvm::Value* offset(llvm::Value* integers);
  llvm::Value* number(llvm::Value* codes, llvm::Value* zero, bool unit_in_scale);
  llvm::Value* integer(llvm::Value* codes, bool unit_in_scale);
  llvm::Value* minifloat(llvm::Value* codes);
  llvm::Value* signed_sum(llvm::Value* codes, const Values& scales);

  Emitter& e_;
  const CodeMeaning& m_;
  Program program_;  // of expression and group_expression
};

}  // namespace hone
