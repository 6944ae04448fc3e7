#pragma once
#include <llvm/IR/IntrinsicsX86.h>
inline auto nearest() { return llvm::Intrinsic::x86_sse2_cvtps2dq; }
