#include "device/llvm/reduction.h"

#include <llvm/IR/Intrinsics.h>

#include "base/error.h"

namespace hone {

using llvm::Value;

Value* reduction_identity(Emitter& e, Reduction::Kind kind, Scalar type) {
  llvm::Type* vec = e.vec(e.scalar_type(type));
  if (kind == Reduction::Kind::sum) return llvm::Constant::getNullValue(vec);
  const bool largest = kind == Reduction::Kind::min;
  if (is_float(type)) return llvm::ConstantFP::getInfinity(vec, !largest);
  const auto bits = static_cast<unsigned>(width_bits(type));
  const llvm::APInt value =
      is_signed(type) ? (largest ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits))
                      : (largest ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getMinValue(bits));
  return llvm::ConstantInt::get(vec, value);
}

Value* emit_reduction(Emitter& e, Reduction::Kind kind, Scalar type, Value* x, Value* y) {
  namespace Intrinsic = llvm::Intrinsic;
  if (kind == Reduction::Kind::sum) return is_float(type) ? e.b.CreateFAdd(x, y) : e.b.CreateAdd(x, y);
  const bool max = kind == Reduction::Kind::max;
  if (!is_float(type)) {
    const llvm::Intrinsic::ID id =
        is_signed(type) ? (max ? Intrinsic::smax : Intrinsic::smin) : (max ? Intrinsic::umax : Intrinsic::umin);
    return e.b.CreateBinaryIntrinsic(id, x, y);
  }
  // The order of zeros would double the instructions.
  llvm::IRBuilderBase::FastMathFlagGuard guard(e.b);
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  e.b.setFastMathFlags(flags);
  return e.b.CreateBinaryIntrinsic(max ? Intrinsic::maximum : Intrinsic::minimum, x, y);
}

}  // namespace hone
