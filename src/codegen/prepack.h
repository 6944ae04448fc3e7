// Lays a constant weight [N,K] out once for the kernel that will read it. The layout depends on the plan and the level
// only.
#pragma once

#include "codegen/panel_memory.h"
#include "codegen/plan.h"
#include "codegen/target.h"
#include "ir/tensor.h"

namespace hone {

// What the layout depends on, as text: plans that differ only in hints (m_hint, m_remainder, epilogue) have equal keys.
std::string prepack_key(const GemmPlan& plan, const Target& target);
int64_t prepacked_bytes(const GemmPlan& plan, const Target& target);
// `weights` is f32 or bf16 [N,K] (as plan.w) or packed in plan.w_format. Runs on up to `threads` threads, at 2 GB/s or
// better; pages of a mapped source are dropped behind the reader. The result lies in `pool`.
Buffer prepack(const GemmPlan& plan, const Target& target, const Tensor& weights, int threads, PanelPool& pool);
Buffer prepack(const GemmPlan& plan, const Target& target, const Tensor& weights, int threads);  // in memory of its own

// The same for a convolution's weights [groups * n, k], or plain [groups * n, channels, height, width], one group's
// panels behind the other's.
std::string prepack_key(const ConvPlan& plan, const Target& target);
int64_t prepacked_bytes(const ConvPlan& plan, const Target& target);
Buffer prepack(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, PanelPool& pool);

// Plain weights [C, taps] become f32 [taps, window_weight_pitch(C)], packed ones the panels of window_weights().
std::string prepack_key(const WindowPlan& plan, const Target& target);
int64_t prepacked_bytes(const WindowPlan& plan, const Target& target);
Buffer prepack(const WindowPlan& plan, const Target& target, const Tensor& weights, int threads, PanelPool& pool);
int64_t window_weight_pitch(int64_t channels);
GemmPlan window_weights(const WindowPlan& plan);  // whose panels, decoded one beside the other, are the plain weights

}  // namespace hone
