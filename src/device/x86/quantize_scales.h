// The scales of all groups of a block at once, chosen from a format's candidates, and what elements read of them.
#pragma once

#include "device/x86/quantize_loops.h"
#include "device/x86/quantize_reductions.h"

namespace hone {

class QuantizeScales {
 public:
  QuantizeScales(QuantizeLoops& walk, QuantizeReductions& reductions);

  void choose(const QuantizeLoops::Block& block);  // from the reductions, into the slots

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
  Values candidate(const QuantizeReductions::OfGroups& g, size_t index);
  void store_candidate(const Values& out);
  llvm::Value* squared_errors(const QuantizeLoops::Block& block, size_t candidate);

  QuantizeLoops& loops_;
  QuantizeReductions& reductions_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
  const QuantizePrograms& programs_;
  Values values_, codes_, errors_;
};

}  // namespace hone
