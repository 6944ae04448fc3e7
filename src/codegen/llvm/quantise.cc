// Kernels of number formats: elements rounded to a format, turned into its codes, or made from them.
//
// A work item is a block of `lanes` groups, so that the expressions of scales run on full vectors: first the reductions
// of one group after the other (quantise_reductions.h), then all their scales at once (quantise_scales.h), then the
// elements of one group after the other, which are still in the first-level cache. What a group's elements read lies in
// arrays on the stack in between.
#include <cmath>

#include "base/multiples.h"
#include "codegen/element_cost.h"
#include "codegen/elements.h"
#include "codegen/kernels/quantise/plan.h"
#include "codegen/llvm/code_numbers.h"
#include "codegen/llvm/code_stream.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/expr_emit.h"
#include "codegen/llvm/quantise_reductions.h"
#include "codegen/llvm/quantise_scales.h"
#include "codegen/llvm/quantise_walk.h"
#include "formats/group_scales.h"
#include "formats/packed.h"

namespace hone {
namespace {

using llvm::Value;

// The codes of a tensor in memory: of residual formats a plane of single bits for each level.
class StoredCodes {
 public:
  StoredCodes(QuantiseWalk& walk, Value* first)
      : walk_(walk),
        e_(walk.e),
        b_(walk.b),
        first_(first),
        planes_(is_residual(walk.format) ? walk.programs.levels : 1),
        bits_(walk.format.element.bits / planes_) {}

  // Where the codes of group `j` of a block start, and those of a segment whose first element is `place`.
  Value* of_group(const QuantiseWalk::Block& block, Value* j) {
    Value* line = e_.at(first_, b_.CreateMul(block.line, walk_.dims[4]));
    return e_.at(line, e_.times(b_.CreateAdd(block.first_group, j), walk_.group * bits_ / 8));
  }
  Value* of_segment(Value* place) { return at(first_, place, 0); }

  // A vector of codes from element `index` behind `codes` on; mask and stored: QuantiseWalk::vectors.
  Value* load(Value* codes, Value* index, Value* stored) {
    Value* code = nullptr;
    for (int plane = 0; plane < planes_; ++plane) {
      Value* bits = load_codes(e_, at(codes, index, plane), bits_, stored);
      if (plane) bits = b_.CreateOr(code, b_.CreateShl(bits, e_.c_i32(static_cast<uint32_t>(plane))));
      code = bits;
    }
    return code;
  }
  void store(Value* code, Value* codes, Value* index, Value* mask, Value* stored) {
    // What is encoded as 0 is the padding that formats ask for, but for residual signs.
    if (mask && (walk_.group == 0 || planes_ > 1)) code = b_.CreateSelect(mask, code, e_.c_i32(0));
    for (int plane = 0; plane < planes_; ++plane) {
      Value* own = code;
      if (planes_ > 1) own = b_.CreateAnd(b_.CreateLShr(code, e_.c_i32(static_cast<uint32_t>(plane))), e_.c_i32(1));
      store_codes(e_, own, at(codes, index, plane), bits_, stored);
    }
  }

 private:
  Value* at(Value* codes, Value* index, int plane) {
    Value* first = e_.at(codes, b_.CreateLShr(e_.times(index, bits_), e_.num(3)));
    return plane ? e_.at(first, e_.times(walk_.dims[7], plane)) : first;
  }

  QuantiseWalk& walk_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  Value* const first_;
  const int planes_, bits_;
};

// Tasks `round` and `encode`.
class Quantiser {
 public:
  explicit Quantiser(QuantiseWalk& walk) : walk_(walk), e_(walk.e), b_(walk.b), codes_(walk, walk.pointers[1]) {}

  void run() {
    if (walk_.spans == QuantiseSpans::whole) run_segments();
    else run_blocks();
    if (walk_.plan.counts) add_counts();
  }

 private:
  void run_blocks() {
    reductions_.load_global();
    walk_.blocks([&](Value*, const QuantiseWalk::Block& block) {
      walk_.groups(block, [&](Value* j, Value* place, Value* n) { reductions_.reduce_group(j, place, n); });
      scales_.choose(block);
      walk_.groups(block, [&](Value* j, Value* place, Value* n) {
        if (!walk_.rounds()) scales_.store(j, walk_.number(block, j));
        quantise_group(j, place, n, walk_.rounds() ? nullptr : codes_.of_group(block, j));
      });
    });
  }

  void run_segments() {
    reductions_.load_whole();
    scales_.choose({});
    walk_.segments([&](Value* item, Value* place, Value* n) {
      if (!walk_.rounds() && walk_.programs.levels > 0)
        e_.when(b_.CreateICmpEQ(item, e_.num(0)), [&] { scales_.store(e_.num(0), e_.num(0)); });
      quantise_group(e_.num(0), place, n, walk_.rounds() ? nullptr : codes_.of_segment(place));
    });
  }

  // Elements of group `j`; their codes, if any, start at `codes`.
  void quantise_group(Value* j, Value* place, Value* n, Value* codes) {
    const QuantisePrograms& programs = walk_.programs;
    const DType result = walk_.plan.result;
    const QuantiseScales::OfGroup group = scales_.of_group(j, walk_.rounds()      ? programs.rounded
                                                              : walk_.plan.counts ? programs.counted
                                                                                  : programs.code);
    Value* dirty = reductions_.is_dirty(j);
    Value* of_dirty = walk_.rounds() ? static_cast<Value*>(e_.c_f32(std::nan(""))) : e_.c_i32(0);
    walk_.elements(place, n, {}, [&](Value* at, Value* index, Value* mask, Value* stored, const Values&) {
      Value* x = walk_.load_x(at, mask);
      const Values made = scales_.element(x, group);
      if (walk_.plan.counts) count_losses(x, made, mask, dirty);
      Value* y = dirty ? b_.CreateSelect(dirty, of_dirty, made[0]) : made[0];
      if (walk_.rounds())
        e_.store_elements(y, result, e_.at(walk_.pointers[1], e_.times(at, size_bytes(result))), mask);
      else codes_.store(y, codes, index, mask, stored);
      return Values{};
    });
  }

  // Lanes where `condition` holds, added to count `which` of this call.
  void count(int which, Value* condition, Value* mask) {
    if (mask) condition = b_.CreateAnd(condition, mask);
    Value* bits = b_.CreateBitCast(condition, b_.getIntNTy(static_cast<unsigned>(e_.lanes)));
    Value* lanes = b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), e_.i64);
    Value* at = e_.at(counts_, 8 * which);
    e_.store(b_.CreateAdd(e_.load(e_.i64, at, 8), lanes), at, 8);
  }

  void count_losses(Value* x, const Values& lost, Value* mask, Value* dirty) {
    count(0, b_.CreateFCmpUNO(x, x), mask);
    count(1, b_.CreateICmpEQ(reductions_.magnitudes(x), e_.c_i32(QuantiseReductions::kInfinity)), mask);
    for (int i = 1; i < 3; ++i) {
      Value* of_clean = lost[static_cast<size_t>(i)];
      count(1 + i, dirty ? b_.CreateAnd(of_clean, b_.CreateNot(dirty)) : of_clean, mask);
    }
  }

  Value* cleared_counts() {
    Value* counts = walk_.slot(e_.i64);
    e_.store(llvm::Constant::getNullValue(e_.vec(e_.i64, 4)), counts, 64);
    return counts;
  }

  void add_counts() {
    for (int which = 0; which < 4; ++which)
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.at(walk_.pointers[5], 8 * which),
                         e_.load(e_.i64, e_.at(counts_, 8 * which), 8), llvm::MaybeAlign(8),
                         llvm::AtomicOrdering::Monotonic);
  }

  QuantiseWalk& walk_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  StoredCodes codes_;
  Value* const counts_ = walk_.plan.counts ? cleared_counts() : nullptr;
  QuantiseReductions reductions_{walk_};
  QuantiseScales scales_{walk_, reductions_};
};

// Task `unpack`.
class Unpacker {
 public:
  explicit Unpacker(QuantiseWalk& walk) : walk_(walk), e_(walk.e), b_(walk.b), codes_(walk, walk.pointers[0]) {
    if (meaning_.by == CodeMeaning::By::restored)
      decode_ = flatten(decoded(walk.format, Expr::arg(0, Scalar::u32), group_args(walk.format)));
  }

  void run() {
    if (walk_.spans == QuantiseSpans::whole)
      return walk_.segments(
          [&](Value*, Value* place, Value* n) { unpack_group(e_.num(0), place, n, codes_.of_segment(place)); });
    walk_.blocks([&](Value*, const QuantiseWalk::Block& block) {
      walk_.groups(block, [&](Value* j, Value* place, Value* n) {
        unpack_group(walk_.number(block, j), place, n, codes_.of_group(block, j));
      });
    });
  }

 private:
  void unpack_group(Value* number, Value* place, Value* n, Value* codes) {
    const int levels = walk_.programs.levels;
    const auto number_at = [&](int pointer, DType dtype, Value* entry) {
      return e_.load_broadcast(dtype, e_.at(walk_.pointers[static_cast<size_t>(pointer)], e_.times(entry, 4)));
    };
    Values scales;
    for (int l = 0; l < levels; ++l)
      scales.push_back(number_at(2, DType::f32, b_.CreateAdd(e_.times(number, levels), e_.num(l))));
    Value* zero = walk_.programs.has_zero_point ? number_at(3, DType::u32, number) : nullptr;
    const CodeNumbers::Group group = numbers_.group(scales, numbers_.zero_point(zero));
    walk_.vectors(n, {}, [&](Value* i, Value* mask, Value* stored, const Values&) {
      Value* code = codes_.load(codes, i, stored);
      store(decode_.code.empty() ? numbers_.value(code, group) : restored(code, group), b_.CreateAdd(place, i), mask);
      return Values{};
    });
  }

  // By the format's own expression, from its scales' values.
  Value* restored(Value* code, const CodeNumbers::Group& group) {
    Values args{code};
    for (Value* scale : group.scales) args.push_back(b_.CreateFPExt(scale, e_.vec(e_.f64)));
    if (group.zero) args.push_back(b_.CreateUIToFP(group.zero, e_.vec(e_.f64)));
    return emit_program(e_, decode_, args, nullptr)[0];
  }

  void store(Value* x, Value* at, Value* mask) {
    const DType result = walk_.plan.result;
    Value* pointer = e_.at(walk_.pointers[1], e_.times(at, size_bytes(result)));
    if (result != DType::bf16 || meaning_.by == CodeMeaning::By::expression || !decode_.code.empty())
      return e_.store_elements(x, result, pointer, mask);
    // Rounding needs no look at NaN: the low half of each that comes up here is 0.
    Value* bits = e_.as(x, e_.v_i32);
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, e_.c_i32(16)), e_.c_i32(1));
    bits = b_.CreateAdd(bits, b_.CreateAdd(odd, e_.c_i32(0x7fff)));
    e_.masked_store(b_.CreateTrunc(b_.CreateLShr(bits, e_.c_i32(16)), e_.vec(e_.i16)), pointer, mask);
  }

  QuantiseWalk& walk_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  StoredCodes codes_;
  const CodeMeaning& meaning_ = code_meaning(walk_.format);
  CodeNumbers numbers_{e_, meaning_, walk_.format};
  Program decode_;  // restored
};

// Task `reduce`.
void reduce(QuantiseWalk& walk) {
  QuantiseReductions reductions(walk);
  if (walk.spans == QuantiseSpans::whole) return reductions.reduce_segments();
  walk.blocks([&](Value* item, const QuantiseWalk::Block& block) {
    walk.groups(block, [&](Value* j, Value* place, Value* n) { reductions.reduce_group(j, place, n); });
    reductions.store_global_part(item, block);
  });
}

void emit(Emitter& e, const QuantisePlan& plan, const std::string& symbol, int) {
  QuantiseWalk walk(e, plan, symbol);
  if (walk.reduces()) reduce(walk);
  else if (walk.unpacks()) Unpacker(walk).run();
  else Quantiser(walk).run();
  e.end_function();
}

}  // namespace

extern constinit const EmitterDef quantise_emitter_def = emitter_def<QuantisePlan, emit>();

}  // namespace hone
