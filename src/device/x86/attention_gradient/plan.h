// What x86 decides of attention's gradients beside their class.
#pragma once

#include <cstdint>

#include "kernels/attention_gradient/plan.h"

namespace hone {

struct X86AttentionGradientPlan : AttentionGradientPlan {
  using Extends = AttentionGradientPlan;
  int64_t max_length = 0;  // bound of T, for which scratch is made
  static constexpr auto fields() {
    return std::tuple_cat(AttentionGradientPlan::fields(),
                          std::tuple(field("max_length", &X86AttentionGradientPlan::max_length)));
  }
};

}  // namespace hone
