// One of two ways to make values.
#pragma once

#include "device/llvm/emitter.h"

namespace hone {

// then() where `condition` holds, else otherwise(): each returns as many values, of the same types.
template <class Then, class Otherwise>
Values either(Emitter& e, llvm::Value* condition, Then then, Otherwise otherwise) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(e.context, "yes", function);
  llvm::BasicBlock* no = llvm::BasicBlock::Create(e.context, "no", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.context, "after", function);
  e.b.CreateCondBr(condition, yes, no);
  e.b.SetInsertPoint(yes);
  const Values first = then();
  llvm::BasicBlock* yes_end = e.b.GetInsertBlock();
  e.b.CreateBr(after);
  e.b.SetInsertPoint(no);
  const Values second = otherwise();
  llvm::BasicBlock* no_end = e.b.GetInsertBlock();
  e.b.CreateBr(after);
  e.b.SetInsertPoint(after);
  Values merged;
  for (size_t i = 0; i < first.size(); ++i) {
    llvm::PHINode* phi = e.b.CreatePHI(first[i]->getType(), 2);
    phi->addIncoming(first[i], yes_end);
    phi->addIncoming(second[i], no_end);
    merged.push_back(phi);
  }
  return merged;
}

}  // namespace hone
