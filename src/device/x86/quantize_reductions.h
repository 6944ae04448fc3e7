// The reductions of a format's groups in a quantizing kernel: what scales are made from, and whether a group has NaN or
// infinity. Sums are added in the order of the elements, as the reference does it.
#pragma once

#include "device/x86/quantize_loops.h"

namespace hone {

class QuantizeReductions {
 public:
  explicit QuantizeReductions(QuantizeLoops& walk);

  void reduce_group(llvm::Value* j, llvm::Value* place, llvm::Value* n);  // group `j` of a block, into the slots

  // Kernels with task `reduce`, which leave parts of what is reduced over the whole tensor: of the global value, from
  // the clean groups of a block; or of the plan's stage, from a segment.
  void store_global_part(llvm::Value* item, const QuantizeLoops::Block& block);
  void reduce_segments();

  // What other kernels read of those parts: the global value, or all results of the one group.
  void load_global();
  void load_whole();

  // In a lane for each group.
  struct OfGroups {
    Values results;  // with the global value
    llvm::Value* nonfinite = nullptr;
  };
  OfGroups of_groups();

  // NaN and infinity make groups NaN, where there are groups and their elements are looked at.
  bool has_nonfinite() const {
    return !programs_.reductions.empty() && loops_.format.geometry.kind != Geometry::Kind::none;
  }
  llvm::Value* is_nonfinite(llvm::Value* j);  // group `j`, in every lane; null without has_nonfinite()
  llvm::Value* magnitudes(llvm::Value* x);    // bits of |x|
  static constexpr uint32_t kInfinity = 0x7f800000;

 private:
  using Combine = QuantizePrograms::Combine;
  using Reduction = QuantizePrograms::Reduction;
  // Of a stage over elements: scalars in f64, and whether one element was not finite (an i32), where that is found out
  // in this stage.
  struct StageResults {
    Values results;
    llvm::Value* nonfinite = nullptr;
  };
  StageResults reduce_stage(size_t first, size_t last, llvm::Value* place, llvm::Value* n, const Values& earlier);
  llvm::Value* add_elements(const Reduction& r, const Values& args, llvm::Value* mask, llvm::Value* sum);
  void finish(const Reduction& r, llvm::Value* sum, StageResults& out);
  bool watches(size_t first, size_t last) const;
  llvm::Value* identity(const Reduction& r);
  llvm::Constant* identity_of(Combine kind, llvm::Type* type);
  llvm::Value* combine(Combine kind, llvm::Value* x, llvm::Value* y);
  llvm::Value* largest(llvm::Value* x, llvm::Value* y);
  llvm::Value* is_infinite(llvm::Value* bits);
  llvm::Value* combine_parts(size_t slot, Combine kind);
  void set_global(const Values& combined);  // from all terms combined
  llvm::Value* parts() const { return loops_.size<&QuantizeArgs::part_count>(); }

  QuantizeLoops& loops_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
  const QuantizePrograms& programs_;
  Values results_;
  llvm::Value *nonfinite_ = nullptr, *global_ = nullptr;
};

}  // namespace hone
