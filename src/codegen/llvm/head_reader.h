// Rows of one head of keys or values as they lie in an operand of attention: numbers, or codes that are decoded in
// registers, with the bits that unpack() gives.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "codegen/llvm/code_numbers.h"
#include "codegen/llvm/emit.h"
#include "ops/head_rows.h"

namespace hone {

class HeadReader {
 public:
  // Of `heads` heads of `columns`; an empty `format` means numbers of `dtype`.
  HeadReader(Emitter& e, DType dtype, const std::string& format, int64_t heads, int64_t columns);

  // Of what is read of an operand. As arguments of a function: pointers that begin at `head` of the first row, the
  // first row, and the bytes from one row of numbers to the next.
  struct Rows {
    llvm::Value *codes, *scales, *zeros, *row_bytes;
  };
  static constexpr int kArguments = 4;
  static std::array<llvm::Type*, kArguments> types(Emitter& e) { return {e.ptr, e.ptr, e.ptr, e.i64}; }
  static Rows from_arguments(llvm::Function* f, unsigned first);

  Rows head(Rows operand, llvm::Value* head) const;  // of the operand's planes
  Rows row(Rows rows, llvm::Value* number) const;    // beginning there
  llvm::Value* stride(const Rows& rows) const;       // bytes of codes or numbers from row to row
  int64_t head_bytes() const;                        // of one row
  // Columns [c, c + lanes) of the first row as f32, of which `count` exist.
  llvm::Value* load(const Rows& rows, llvm::Value* c, int64_t count) const;
  bool is_packed() const { return packed_.has_value(); }

 private:
  llvm::Value* scale(llvm::Value* pointer) const;
  llvm::Value* zero(llvm::Value* pointer) const;

  Emitter& e_;
  const DType dtype_;
  const int64_t columns_;
  std::optional<HeadRows> packed_;
  std::optional<Format> format_;
  const CodeMeaning* meaning_ = nullptr;
  mutable std::optional<CodeNumbers> numbers_;
  mutable llvm::Value* table_ = nullptr;  // of scales of 8 bits
};

}  // namespace hone
