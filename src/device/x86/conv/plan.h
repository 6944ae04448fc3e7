// What x86 decides of a convolution beside its class.
#pragma once

#include <cstdint>

#include "device/x86/gemm/plan.h"
#include "kernels/conv/plan.h"

namespace hone {

struct X86ConvPlan : ConvPlan {
  using Extends = ConvPlan;
  enum class Method : uint8_t { direct, winograd2, winograd4 };  // F(2x2,3x3), F(4x4,3x3)
  Method method = Method::direct;
  bool by_tiles = false;  // the product of a direct one: X86GemmPlan
  // Of any plane: taps outside it are left out, and x is read where it lies. Bits are those of the sum without them.
  bool inside_only = false;
  static constexpr auto fields() {
    using P = X86ConvPlan;
    return std::tuple_cat(ConvPlan::fields(), std::tuple(field("method", &P::method), field("by_tiles", &P::by_tiles),
                                                         field("inside_only", &P::inside_only)));
  }
};

}  // namespace hone
