// A packed table of rows as it is stored (docs/FORMATS.md, section 3.5): where the codes, scales and zero points of a
// row lie, and code that fetches one of them.
#pragma once

#include "device/llvm/code_numbers.h"
#include "formats/packed.h"
#include "kernels/gather/plan.h"

namespace hone {

// Where the codes and scales of a row lie.
struct RowLayout {
  bool together = false;        // in a run of bytes; else in `packed`
  bool across = false;          // lines run across the rows
  int64_t row_bytes = 0;        // of codes
  int64_t group = 0;            // codes per group; whole rows in geometries without groups
  int64_t groups = 0;           // per row
  int64_t scale_row_bits = 0;   // from one row's scales to the next's
  int64_t groups_from_row = 0;  // from one row's first group to the next's
  PackedLayout packed;
};
RowLayout row_layout(const Format& format, int64_t rows, int64_t columns);

class PackedTable {
 public:
  PackedTable(Emitter& e, const GatherPlan& plan);
  void bind(const KernelFrame& frame);  // its planes, from the arguments of a gather kernel

  const RowLayout& layout() const { return layout_; }
  const CodeMeaning& meaning() const { return meaning_; }
  CodeNumbers& numbers() { return numbers_; }
  llvm::Value* codes() const { return codes_; }
  llvm::Value* scales() const { return scales_; }

  // Wherever they lie: the code in a column of a row, the group that it is in, the code of one of the group's scales,
  // and its zero point; i32 each.
  llvm::Value* code(llvm::Value* row, llvm::Value* column);
  llvm::Value* group_of(llvm::Value* row, llvm::Value* column);
  llvm::Value* scale_code(llvm::Value* group, int level);
  llvm::Value* zero_code(llvm::Value* group);
  // `bits` bits of a plane from `bit` on, as an i32; no byte but those they lie in is read.
  llvm::Value* fetch(llvm::Value* plane, llvm::Value* bit, int bits);

  // What elements are multiplied by, from the codes of scales in lanes (By::code: the codes).
  llvm::Value* scale_of(llvm::Value* codes);
  llvm::Value* of_tensor(llvm::Value* scale);  // times the number of the tensor, where there is one

 private:
  Emitter& e_;
  const GatherPlan& plan_;
  const Format format_;
  const CodeMeaning& meaning_;
  CodeNumbers numbers_;
  const RowLayout layout_;
  llvm::Value *codes_ = nullptr, *scales_ = nullptr, *zeros_ = nullptr, *global_ = nullptr;
};

}  // namespace hone
