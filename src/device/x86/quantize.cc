// Kernels of number formats: elements rounded to a format, turned into its codes, or made from them.
//
// A work item is a block of `lanes` groups, so that the expressions of scales run on full vectors: first the reductions
// of one group after the other (quantize_reductions.h), then all their scales at once (quantize_scales.h), then the
// elements of one group after the other, which are still in the first-level cache. What a group's elements read lies in
// arrays on the stack in between.
#include <algorithm>
#include <cmath>

#include "base/multiples.h"
#include "device/llvm/code_numbers.h"
#include "device/llvm/code_stream.h"
#include "device/llvm/expr_emit.h"
#include "device/x86/element_cost.h"
#include "device/x86/quantize_bytes.h"
#include "device/x86/quantize_loops.h"
#include "device/x86/quantize_parts.h"
#include "device/x86/quantize_reductions.h"
#include "device/x86/quantize_scales.h"
#include "device/x86/x86_kernel.h"
#include "formats/group_scales.h"
#include "formats/packed.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/lowering.h"
#include "kernels/quantize/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = QuantizeArgs;

// The codes of a tensor in memory: of residual formats a plane of single bits for each level.
class StoredCodes {
 public:
  StoredCodes(QuantizeLoops& walk, Value* first)
      : loops_(walk),
        e_(walk.e),
        b_(walk.b),
        first_(first),
        planes_(is_residual(walk.format) ? walk.programs.levels : 1),
        bits_(walk.format.element.bits / planes_) {}

  // Where the codes of group `j` of a block start, and those of a segment whose first element is `place`.
  Value* of_group(const QuantizeLoops::Block& block, Value* j) {
    Value* line = e_.at(first_, b_.CreateMul(block.line, loops_.size<&A::line_bytes>()));
    return e_.at(line, e_.times(b_.CreateAdd(block.first_group, j), loops_.group * bits_ / 8));
  }
  Value* of_segment(Value* place) { return at(first_, place, 0); }

  // A vector of codes from element `index` behind `codes` on; mask and stored: QuantizeLoops::vectors.
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
    if (mask && (loops_.group == 0 || planes_ > 1)) code = b_.CreateSelect(mask, code, e_.c_i32(0));
    for (int plane = 0; plane < planes_; ++plane) {
      Value* own = code;
      if (planes_ > 1) own = b_.CreateAnd(b_.CreateLShr(code, e_.c_i32(static_cast<uint32_t>(plane))), e_.c_i32(1));
      store_codes(e_, own, at(codes, index, plane), bits_, stored);
    }
  }

 private:
  Value* at(Value* codes, Value* index, int plane) {
    Value* first = e_.at(codes, b_.CreateLShr(e_.times(index, bits_), e_.num(3)));
    return plane ? e_.at(first, e_.times(loops_.size<&A::plane_bytes>(), plane)) : first;
  }

  QuantizeLoops& loops_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
  Value* const first_;
  const int planes_, bits_;
};

// Tasks `round` and `encode`.
class Quantizer {
 public:
  explicit Quantizer(QuantizeLoops& walk)
      : loops_(walk), e_(walk.e), b_(walk.b), codes_(walk, walk.pointer<&A::out>()) {}

  void run() {
    if (loops_.spans == QuantizeSpans::whole) run_segments();
    else run_blocks();
    if (loops_.plan.counts) add_counts();
  }

 private:
  void run_blocks() {
    reductions_.load_global();
    loops_.blocks([&](Value*, const QuantizeLoops::Block& block) {
      loops_.groups(block, [&](Value* j, Value* place, Value* n) { reductions_.reduce_group(j, place, n); });
      scales_.choose(block);
      loops_.groups(block, [&](Value* j, Value* place, Value* n) {
        if (!loops_.rounds()) scales_.store(j, loops_.number(block, j));
        quantize_group(j, place, n, loops_.rounds() ? nullptr : codes_.of_group(block, j));
      });
    });
  }

  void run_segments() {
    reductions_.load_whole();
    scales_.choose({});
    loops_.segments([&](Value* item, Value* place, Value* n) {
      if (!loops_.rounds() && loops_.programs.levels > 0)
        e_.when(b_.CreateICmpEQ(item, e_.num(0)), [&] { scales_.store(e_.num(0), e_.num(0)); });
      quantize_group(e_.num(0), place, n, loops_.rounds() ? nullptr : codes_.of_segment(place));
    });
  }

  // Elements of group `j`; their codes, if any, start at `codes`.
  void quantize_group(Value* j, Value* place, Value* n, Value* codes) {
    const QuantizePrograms& programs = loops_.programs;
    const DType result = loops_.plan.result;
    const QuantizeScales::OfGroup group = scales_.of_group(j, loops_.rounds()      ? programs.rounded
                                                              : loops_.plan.counts ? programs.counted
                                                                                   : programs.code);
    Value* nonfinite = reductions_.is_nonfinite(j);
    Value* of_nonfinite = loops_.rounds() ? static_cast<Value*>(e_.c_f32(std::nan(""))) : e_.c_i32(0);
    loops_.elements(place, n, {}, [&](Value* at, Value* index, Value* mask, Value* stored, const Values&) {
      Value* x = loops_.load_x(at, mask);
      const Values made = scales_.element(x, group);
      if (loops_.plan.counts) count_losses(x, made, mask, nonfinite);
      Value* y = nonfinite ? b_.CreateSelect(nonfinite, of_nonfinite, made[0]) : made[0];
      if (loops_.rounds())
        e_.store_elements(y, result, e_.at(loops_.pointer<&A::out>(), e_.times(at, size_bytes(result))), mask);
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

  void count_losses(Value* x, const Values& lost, Value* mask, Value* nonfinite) {
    count(0, b_.CreateFCmpUNO(x, x), mask);
    count(1, b_.CreateICmpEQ(reductions_.magnitudes(x), e_.c_i32(QuantizeReductions::kInfinity)), mask);
    for (int i = 1; i < 3; ++i) {
      Value* of_clean = lost[static_cast<size_t>(i)];
      count(1 + i, nonfinite ? b_.CreateAnd(of_clean, b_.CreateNot(nonfinite)) : of_clean, mask);
    }
  }

  Value* cleared_counts() {
    Value* counts = loops_.slot(e_.i64);
    e_.store(llvm::Constant::getNullValue(e_.vec(e_.i64, 4)), counts, 64);
    return counts;
  }

  void add_counts() {
    for (int which = 0; which < 4; ++which)
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.at(loops_.pointer<&A::counts>(), 8 * which),
                         e_.load(e_.i64, e_.at(counts_, 8 * which), 8), llvm::MaybeAlign(8),
                         llvm::AtomicOrdering::Monotonic);
  }

  QuantizeLoops& loops_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
  StoredCodes codes_;
  Value* const counts_ = loops_.plan.counts ? cleared_counts() : nullptr;
  QuantizeReductions reductions_{loops_};
  QuantizeScales scales_{loops_, reductions_};
};

// Task `unpack`.
class Unpacker {
 public:
  explicit Unpacker(QuantizeLoops& walk) : loops_(walk), e_(walk.e), b_(walk.b), codes_(walk, walk.pointer<&A::x>()) {
    if (meaning_.by == CodeMeaning::By::group_expression)
      decode_ = flatten(decoded(walk.format, Expr::arg(0, Scalar::u32), group_args(walk.format)));
  }

  void run() {
    if (loops_.spans == QuantizeSpans::whole)
      return loops_.segments(
          [&](Value*, Value* place, Value* n) { unpack_group(e_.num(0), place, n, codes_.of_segment(place)); });
    loops_.blocks([&](Value*, const QuantizeLoops::Block& block) {
      loops_.groups(block, [&](Value* j, Value* place, Value* n) {
        unpack_group(loops_.number(block, j), place, n, codes_.of_group(block, j));
      });
    });
  }

 private:
  void unpack_group(Value* number, Value* place, Value* n, Value* codes) {
    const int levels = loops_.programs.levels;
    const auto number_at = [&](Value* numbers, DType dtype, Value* entry) {
      return e_.load_broadcast(dtype, e_.at(numbers, e_.times(entry, 4)));
    };
    Values scales;
    for (int l = 0; l < levels; ++l)
      scales.push_back(
          number_at(loops_.pointer<&A::scales>(), DType::f32, b_.CreateAdd(e_.times(number, levels), e_.num(l))));
    Value* zero =
        loops_.programs.has_zero_point ? number_at(loops_.pointer<&A::zero_points>(), DType::u32, number) : nullptr;
    const CodeNumbers::Group group = numbers_.group(scales, numbers_.zero_point(zero));
    loops_.vectors(n, {}, [&](Value* i, Value* mask, Value* stored, const Values&) {
      Value* code = codes_.load(codes, i, stored);
      store(decode_.code.empty() ? numbers_.value(code, group) : group_expression(code, group), b_.CreateAdd(place, i),
            mask);
      return Values{};
    });
  }

  // By the format's own expression, from its scales' values.
  Value* group_expression(Value* code, const CodeNumbers::Group& group) {
    Values args{code};
    for (Value* scale : group.scales) args.push_back(b_.CreateFPExt(scale, e_.vec(e_.f64)));
    if (group.zero) args.push_back(b_.CreateUIToFP(group.zero, e_.vec(e_.f64)));
    return emit_program(e_, decode_, args, nullptr)[0];
  }

  void store(Value* x, Value* at, Value* mask) {
    const DType result = loops_.plan.result;
    Value* pointer = e_.at(loops_.pointer<&A::out>(), e_.times(at, size_bytes(result)));
    if (result != DType::bf16 || meaning_.by == CodeMeaning::By::expression || !decode_.code.empty())
      return e_.store_elements(x, result, pointer, mask);
    // Rounding needs no look at NaN: the low half of each that comes up here is 0.
    Value* bits = e_.as(x, e_.v_i32);
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, e_.c_i32(16)), e_.c_i32(1));
    bits = b_.CreateAdd(bits, b_.CreateAdd(odd, e_.c_i32(0x7fff)));
    e_.masked_store(b_.CreateTrunc(b_.CreateLShr(bits, e_.c_i32(16)), e_.vec(e_.i16)), pointer, mask);
  }

  QuantizeLoops& loops_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
  StoredCodes codes_;
  const CodeMeaning& meaning_ = code_meaning(loops_.format);
  CodeNumbers numbers_{e_, meaning_, loops_.format};
  Program decode_;  // group_expression
};

// Task `reduce`.
void reduce(QuantizeLoops& walk) {
  QuantizeReductions reductions(walk);
  if (walk.spans == QuantizeSpans::whole) return reductions.reduce_segments();
  walk.blocks([&](Value* item, const QuantizeLoops::Block& block) {
    walk.groups(block, [&](Value* j, Value* place, Value* n) { reductions.reduce_group(j, place, n); });
    reductions.store_global_part(item, block);
  });
}

void emit(X86Emitter& e, const QuantizePlan& plan, const std::string& symbol, int) {
  QuantizeLoops walk(e, plan, symbol);
  if (walk.reduces()) reduce(walk);
  else if (walk.unpacks()) Unpacker(walk).run();
  else if (packs_bytes(walk)) emit_pack_bytes(walk);
  else Quantizer(walk).run();
  e.end_function();
}

// Each work item of a kernel that reduces leaves a part.
Support adapt(const X86Device& device, const Lowering&, Prepared& prepared) {
  const StepDraft& first = prepared.step();
  const QuantizePlan& plan = first.plan->get<QuantizePlan>();
  if (plan.task != QuantizePlan::Task::reduce) return {};
  auto args = first.args<A>();
  const QuantizeParts parts = quantize_parts(plan, device.target(), args);
  args.part_count = parts.count;
  for (StepDraft& step : prepared.steps) step.set(args), step.shared_bytes = parts.bytes;
  return {};
}

Support supports(const QuantizePlan& plan, const X86Target&) {
  for (DType dtype : {plan.x, plan.result})
    if (compute_scalar(dtype) != Scalar::f32) return {fmt::format("elements of type {}", to_string(dtype))};
  return {};
}

Launch launch(const QuantizePlan& plan, const X86Target& target, QuantizeArgs& args) {
  const Format format = parse_format(plan.format);
  const QuantizePrograms programs = quantize_programs(format);
  double ns = plan.task == QuantizePlan::Task::unpack ? 0.4 : element_ns(programs.rounded, 2, target);
  for (const QuantizePrograms::Reduction& r : programs.reductions) ns += element_ns(r.term, 1, target);
  double elements = 4096;
  if (quantize_spans(format) == QuantizeSpans::whole) elements = static_cast<double>(quantize_segment(plan, programs));
  if (quantize_spans(format) == QuantizeSpans::groups)
    elements = static_cast<double>(target.lanes() * format.geometry.columns);
  return {quantize_items(plan, target, args), std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * elements + 10)))};
}

std::string describe(const QuantizePlan& plan, const X86Target&) {
  return plan.task == QuantizePlan::Task::reduce ? fmt::format("the scale of {}, in parts", plan.format)
                                                 : fmt::format("elements in {}", plan.format);
}

constexpr X86KernelClass<QuantizePlan, QuantizeArgs> kQuantize{
    .adapt = adapt, .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef quantize_on_x86_def = x86_kernel<kQuantize>();

}  // namespace hone
