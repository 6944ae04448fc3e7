// Bodies of the templates in emit.h.
#pragma once

#include "device/llvm/emitter.h"

namespace hone {

template <class Body>
Values Emitter::loop(llvm::Value* lo, llvm::Value* hi, int64_t step, Values carried, Body body, bool at_least_once) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(lo), *last = llvm::dyn_cast<llvm::ConstantInt>(hi);
  if (first && last && first->getSExtValue() >= last->getSExtValue()) return carried;
  if (first && last && first->getSExtValue() + step >= last->getSExtValue())
    return body(lo, carried);  // one trip: no loop
  const bool guarded = !(first && last) && !at_least_once;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(context, "loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "done", function);
  if (guarded) b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, after);
  else b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(i64, 2);
  index->addIncoming(lo, before);
  std::vector<llvm::PHINode*> phis;
  Values current;
  for (llvm::Value* value : carried) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    current.push_back(phis.back());
  }
  Values next = body(static_cast<llvm::Value*>(index), current);
  llvm::BasicBlock* end = b.GetInsertBlock();
  llvm::Value* next_index = b.CreateAdd(index, num(step), "", true, true);
  index->addIncoming(next_index, end);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], end);
  b.CreateCondBr(b.CreateICmpSLT(next_index, hi), head, after);
  b.SetInsertPoint(after);
  if (!guarded) return next;
  Values out;
  for (size_t i = 0; i < phis.size(); ++i) {
    llvm::PHINode* merged = b.CreatePHI(carried[i]->getType(), 2);
    merged->addIncoming(carried[i], before);
    merged->addIncoming(next[i], end);
    out.push_back(merged);
  }
  return out;
}

template <class Body>
Values Emitter::walk(llvm::Value* count, std::span<const Moving> pointers, Values carried, Body body,
                     bool at_least_once) {
  const size_t kept = carried.size();
  const std::vector<Moving> moving(pointers.begin(), pointers.end());
  for (const Moving& m : moving) carried.push_back(m.pointer);
  Values out = loop(
      num(0), count, 1, carried,
      [&](llvm::Value*, const Values& values) {
        const Values here(values.begin() + static_cast<ptrdiff_t>(kept), values.end());
        Values next = body(here, Values(values.begin(), values.begin() + static_cast<ptrdiff_t>(kept)));
        for (size_t i = 0; i < moving.size(); ++i)
          next.push_back(moving[i].known_when_called ? at(here[i], moving[i].known_when_called)
                                                     : at(here[i], moving[i].step));
        return next;
      },
      at_least_once);
  out.resize(kept);
  return out;
}

template <class Then>
void Emitter::when(llvm::Value* condition, Then then) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(context, "then", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function);
  b.CreateCondBr(condition, yes, after);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

template <class Then, class Else>
Values Emitter::choose(llvm::Value* condition, Then then, Else otherwise) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* blocks[2] = {llvm::BasicBlock::Create(context, "then", function),
                                 llvm::BasicBlock::Create(context, "else", function)};
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function);
  b.CreateCondBr(condition, blocks[0], blocks[1]);
  Values made[2];
  for (int i = 0; i < 2; ++i) {
    b.SetInsertPoint(blocks[i]);
    made[i] = i == 0 ? then() : otherwise();
    blocks[i] = b.GetInsertBlock();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
  Values out;
  for (size_t k = 0; k < made[0].size(); ++k) {
    llvm::PHINode* merged = b.CreatePHI(made[0][k]->getType(), 2);
    for (int i = 0; i < 2; ++i) merged->addIncoming(made[i][k], blocks[i]);
    out.push_back(merged);
  }
  return out;
}

template <class Combine>
llvm::Value* Emitter::reduce(llvm::Value* vector, Combine combine) {
  unsigned count = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  for (count /= 2; count > 0; count /= 2) {
    std::vector<int> low, high;
    for (unsigned i = 0; i < count; ++i)
      low.push_back(static_cast<int>(i)), high.push_back(static_cast<int>(i + count));
    vector = combine(b.CreateShuffleVector(vector, low), b.CreateShuffleVector(vector, high));
  }
  return b.CreateExtractElement(vector, uint64_t{0});
}

}  // namespace hone
