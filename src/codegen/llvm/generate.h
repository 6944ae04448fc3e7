// One generator per kind of plan. std::visit over KernelPlan picks the overload; compiler.cc and plan.cc are the
// callers.
//   supports  whether code can be generated on this level, and why not
//   needs     scratch and a good chunk of work, from the plan alone
//   items     number of work items of a call (plan.h says what an item is)
//   emit      adds the external function `symbol` (a KernelFn) and its local ones to the emitter's module. `shrink`
//   counts the
//             attempts before this one whose code spilled registers: with each, a generator that has tiles chooses a
//             smaller one; `can_shrink` says whether attempt `shrink` differs from the one before. Packed data keeps
//             its layout.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "codegen/plan.h"
#include "codegen/target.h"

namespace hone {

class Emitter;

struct KernelNeeds {
  int64_t scratch_bytes = 0;    // per thread
  int64_t items_per_chunk = 1;  // about 20 us of work
};

namespace kernels {

Refusal supports(const PointwisePlan& plan, const Target& target);
Refusal supports(const RowPlan& plan, const Target& target);
Refusal supports(const GemmPlan& plan, const Target& target);
Refusal supports(const ConvPlan& plan, const Target& target);
Refusal supports(const AttentionPlan& plan, const Target& target);
Refusal supports(const GatherPlan& plan, const Target& target);
Refusal supports(const WindowPlan& plan, const Target& target);
Refusal supports(const TransposePlan& plan, const Target& target);
Refusal supports(const ResizePlan& plan, const Target& target);
Refusal supports(const QuantisePlan& plan, const Target& target);

KernelNeeds needs(const PointwisePlan& plan, const Target& target);
KernelNeeds needs(const RowPlan& plan, const Target& target);
KernelNeeds needs(const GemmPlan& plan, const Target& target);
KernelNeeds needs(const ConvPlan& plan, const Target& target);
KernelNeeds needs(const AttentionPlan& plan, const Target& target);
KernelNeeds needs(const GatherPlan& plan, const Target& target);
KernelNeeds needs(const WindowPlan& plan, const Target& target);
KernelNeeds needs(const TransposePlan& plan, const Target& target);
KernelNeeds needs(const ResizePlan& plan, const Target& target);
KernelNeeds needs(const QuantisePlan& plan, const Target& target);

int64_t items(const PointwisePlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const RowPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const GemmPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const ConvPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const AttentionPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const GatherPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const WindowPlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const TransposePlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const ResizePlan& plan, const Target& target, const KernelArgs& args);
int64_t items(const QuantisePlan& plan, const Target& target, const KernelArgs& args);

void emit(Emitter& e, const PointwisePlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const RowPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const GemmPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const ConvPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const AttentionPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const GatherPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const WindowPlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const TransposePlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const ResizePlan& plan, const std::string& symbol, int shrink);
void emit(Emitter& e, const QuantisePlan& plan, const std::string& symbol, int shrink);

inline bool can_shrink(const PointwisePlan&, const Target&, int) { return false; }
inline bool can_shrink(const RowPlan&, const Target&, int) { return false; }
inline bool can_shrink(const GatherPlan&, const Target&, int) { return false; }
inline bool can_shrink(const TransposePlan&, const Target&, int) { return false; }
inline bool can_shrink(const ResizePlan&, const Target&, int) { return false; }
inline bool can_shrink(const QuantisePlan&, const Target&, int) { return false; }
bool can_shrink(const GemmPlan& plan, const Target& target, int shrink);
bool can_shrink(const ConvPlan& plan, const Target& target, int shrink);
bool can_shrink(const AttentionPlan& plan, const Target& target, int shrink);
bool can_shrink(const WindowPlan& plan, const Target& target, int shrink);

}  // namespace kernels
}  // namespace hone
