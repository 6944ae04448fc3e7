#include "device/x86/quantize_bytes.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace hone {
namespace {

using llvm::Value;

// What kernels/quantize/spans.h says of packs_in_f32().
class ByteGroups {
 public:
  explicit ByteGroups(QuantizeLoops& loops) : loops_(loops), e_(loops.e), b_(loops.b) {}

  void run() {
    loops_.blocks([&](Value*, const QuantizeLoops::Block& block) {
      Value* line = e_.at(loops_.pointer<&QuantizeArgs::out>(),
                          b_.CreateMul(block.line, loops_.size<&QuantizeArgs::line_bytes>()));
      loops_.groups(block, [&](Value* j, Value* place, Value* n) {
        Value* exponent = b_.CreateLShr(largest(place, n), b_.getInt32(23));
        const int bytes = loops_.plan.scale_bytes;
        e_.store(b_.CreateTrunc(exponent, b_.getIntNTy(static_cast<unsigned>(bytes) * 8)),
                 e_.at(loops_.pointer<&QuantizeArgs::scales>(), e_.times(loops_.number(block, j), bytes)));
        Value* codes = e_.at(line, e_.times(b_.CreateAdd(block.first_group, j), loops_.group));
        store_codes(exponent, place, n, codes);
      });
    });
  }

 private:
  // The bits of the largest magnitude, which order like it; NaN is above all.
  Value* largest(Value* place, Value* n) {
    const auto larger = [&](Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); };
    const Values most =
        loops_.elements(place, n, {e_.c_i32(0)}, [&](Value* at, Value*, Value* mask, Value*, Values now) {
          Value* magnitude = b_.CreateAnd(e_.as(loops_.load_x(at, mask), e_.v_i32), e_.c_i32(0x7fffffff));
          return Values{larger(now[0], magnitude)};
        });
    return e_.reduce(most[0], larger);
  }

  void store_codes(Value* exponent, Value* place, Value* n, Value* codes) {
    const int fraction = loops_.format.element.fraction_bits;
    Value* up = b_.CreateSub(b_.getInt32(static_cast<uint32_t>(fraction + 127)), exponent);
    Value* half = b_.CreateAShr(up, b_.getInt32(1));
    const auto power = [&](Value* exponent_of) {
      Value* bits = b_.CreateShl(b_.CreateAdd(exponent_of, b_.getInt32(127)), b_.getInt32(23));
      return e_.splat(e_.as(bits, e_.f32));
    };
    Value *first = power(half), *second = power(b_.CreateSub(up, half));
    Value* is_finite = b_.CreateICmpNE(exponent, b_.getInt32(255));
    Value* keeps = e_.splat(b_.CreateSExt(is_finite, e_.i32));
    loops_.elements(place, n, {}, [&](Value* at, Value* index, Value* mask, Value*, const Values&) {
      Value* x = b_.CreateFMul(b_.CreateFMul(loops_.load_x(at, mask), first), second);
      Value* code = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, to_nearest(x), e_.c_i32(127));
      code = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, code, e_.c_i32(static_cast<uint32_t>(-127)));
      e_.store(b_.CreateTrunc(b_.CreateAnd(code, keeps), e_.vec(e_.i8)), e_.at(codes, index));
      return Values{};
    });
  }

  // Whatever NaN and infinity become.
  Value* to_nearest(Value* x) {
    if (!e_.avx512) return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvt_ps2dq_256, {}, {x});
    constexpr int kCurrentDirection = 4;
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
                              {x, e_.c_i32(0), b_.getInt16(0xffff), b_.getInt32(kCurrentDirection)});
  }

  QuantizeLoops& loops_;
  X86Emitter& e_;
  llvm::IRBuilder<>& b_;
};

}  // namespace

bool packs_bytes(const QuantizeLoops& loops) {
  return loops.plan.task == QuantizePlan::Task::pack && !loops.plan.counts && packs_in_f32(loops.format) &&
         loops.group % loops.e.lanes == 0;
}

void emit_pack_bytes(QuantizeLoops& loops) { ByteGroups(loops).run(); }

}  // namespace hone
