// The scales of all groups of a block at once, chosen from a format's candidates, and what elements read of them.
#pragma once

#include "codegen/llvm/quantise_reductions.h"
#include "codegen/llvm/quantise_walk.h"

namespace hone {

class QuantiseScales {
 public:
  QuantiseScales(QuantiseWalk& walk, QuantiseReductions& reductions);

  void choose(const QuantiseWalk::Block& block);  // from the reductions, into the slots

  // The scale codes of group `j` and its zero point, as they are, to entry `number`.
  void store(llvm::Value* j, llvm::Value* number);

  // What a program reads of a group, in every lane; the first position is the element's.
  struct OfGroup {
    const Program& program;
    Values args, known;  // emit_program()
  };
  OfGroup of_group(llvm::Value* j, const Program& program);
  Values element(llvm::Value* x, OfGroup group);

 private:
  Values candidate(const QuantiseReductions::OfGroups& g, size_t index);
  void store_candidate(const Values& out);
  llvm::Value* squared_errors(const QuantiseWalk::Block& block, size_t candidate);

  QuantiseWalk& walk_;
  QuantiseReductions& reductions_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const QuantisePrograms& programs_;
  Values values_, codes_, errors_;
};

}  // namespace hone
