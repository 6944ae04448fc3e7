// Rows of one head of keys or values as they lie in an operand of attention: numbers, or codes that are decoded in
// registers, with the bits that unpack() gives; one behind the other, or in pages that a table names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/llvm/code_numbers.h"
#include "device/llvm/emitter.h"
#include "ops/head_rows.h"

namespace hone {

class HeadReader {
 public:
  struct Pages {
    int64_t rows = 0;  // of one; 0: there are none
    DType table = DType::i64;
  };
  // Of `heads` heads of `columns`; an empty `format` means numbers of `dtype`.
  HeadReader(Emitter& e, DType dtype, const std::string& format, int64_t heads, int64_t columns, Pages pages);

  // Rows from a first one on: where it is, and the bytes from one row of numbers to the next. In pages the pointers are
  // those of page 0, and `table` is a sequence's row of the table, `first` and `last` rows of the sequence, `count` the
  // number of pages, by which page numbers below 0 are larger.
  struct Rows {
    llvm::Value *codes, *scales, *zeros, *row_bytes;
    llvm::Value *table = nullptr, *first = nullptr, *last = nullptr, *count = nullptr;
  };
  // As arguments of a function.
  std::vector<llvm::Type*> types() const;
  Rows from_arguments(llvm::Function* f, unsigned first) const;
  std::vector<llvm::Value*> arguments(const Rows& rows) const;

  Rows head(Rows operand, llvm::Value* head) const;  // of the operand's planes
  Rows from(Rows rows, llvm::Value* number) const;   // beginning at another row
  Rows row(Rows rows, llvm::Value* number) const;    // that row alone
  llvm::Value* stride(const Rows& rows) const;       // bytes of codes or numbers from row to row, of a page
  int64_t head_bytes() const;                        // of one row
  // Columns [c, c + lanes) of the first row as f32, of which `count` exist.
  llvm::Value* load(const Rows& rows, llvm::Value* c, int64_t count) const;
  bool is_packed() const { return packed_.has_value(); }
  bool is_paged() const { return pages_.rows > 0; }

 private:
  Rows moved(Rows rows, llvm::Value* number) const;
  llvm::Value* scale(llvm::Value* pointer) const;
  llvm::Value* zero(llvm::Value* pointer) const;

  Emitter& e_;
  const DType dtype_;
  const int64_t columns_;
  const Pages pages_;
  std::optional<HeadRows> packed_;
  std::optional<Format> format_;
  const CodeMeaning* meaning_ = nullptr;
  mutable std::optional<CodeNumbers> numbers_;
  mutable llvm::Value* table_ = nullptr;  // of scales of 8 bits
};

}  // namespace hone
