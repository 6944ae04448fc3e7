// An operand of a product as it lies in global memory: rows of A, or columns of an activation W, by k.
#pragma once

#include "device/cuda/emitter.h"

namespace hone {

class Operand {
 public:
  virtual ~Operand() = default;

  struct Place {
    llvm::Value* pointer;
    llvm::Value* is_there;  // i1: an element of the operand; else it is zero, and the pointer means nothing
  };
  virtual Place place(llvm::Value* row, llvm::Value* k) = 0;  // i32

  DType dtype = DType::f32;
  bool by_columns = false;      // elements of one k lie together, else those of one row
  llvm::Value* safe = nullptr;  // the address of an element that is there, aligned as `whole` says
  // i1: whether 16 bytes that begin at a multiple of so many elements are aligned, and are elements of the operand all
  // or none. Null: they are not.
  llvm::Value* whole = nullptr;
};

// With one stride between its lines.
class StridedOperand : public Operand {
 public:
  StridedOperand(CudaEmitter& e, DType type, bool columns, llvm::Value* base, llvm::Value* stride, llvm::Value* rows,
                 llvm::Value* k);
  Place place(llvm::Value* row, llvm::Value* k) override;

 private:
  CudaEmitter& e_;
  llvm::Value *stride_bytes_, *rows_, *k_;
};

}  // namespace hone
