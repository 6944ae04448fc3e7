// Kernels, whatever computes them. A kernel class is a folder of kernels/: the plain struct that describes one
// kernel of the class (its plan: everything that is constant in its code), and one KernelDef, which says what follows
// from a plan without generating code. What may change between calls (pointers, extents, strides) is in KernelArgs,
// described per plan. How a target makes code from a plan is that target's own table, keyed by the KernelDef
// (device/x86/emit_def.h).
//
// Every kernel covers work items [begin, end); items are independent, so any scheduler may hand them out in any pieces,
// and the result has the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/peaks.h"
#include "ir/op_def.h"
#include "ir/tensor.h"
#include "kernels/fields.h"
#include "kernels/panel_memory.h"
#include "kernels/target.h"

namespace hone {

using KernelDims = std::array<int64_t, 48>;
struct KernelArgs {
  std::array<void*, 16> pointers{};
  KernelDims dims{};
};
using KernelFn = void (*)(const KernelArgs* args, int64_t begin, int64_t end, std::byte* scratch);

// What a call takes.
struct Launch {
  int64_t items = 0;
  int64_t items_per_chunk = 1;  // about 20 us of work
  int64_t scratch_bytes = 0;    // per thread, 64-byte aligned
};

struct KernelDef;

inline bool is_one_of(const OpDef& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op.name) != names.end();
}

// A plan of any class, by value.
class KernelPlan {
 public:
  template <HasFields Plan>
  KernelPlan(Plan plan)  // NOLINT: a plan of a class is a plan
      : def_(&Plan::kernel()), text_(&text_of<Plan>), plan_(std::make_shared<const Plan>(std::move(plan))) {}

  const KernelDef& kernel() const { return *def_; }
  template <HasFields Plan>
  const Plan* as() const {  // null when it is of another class
    return def_ == &Plan::kernel() ? static_cast<const Plan*>(plan_.get()) : nullptr;
  }
  template <HasFields Plan>
  const Plan& get() const {
    const Plan* plan = as<Plan>();
    CHECK(plan != nullptr, "the plan is of another class");
    return *plan;
  }
  const void* identity() const { return plan_.get(); }     // that copies share
  std::string text() const { return text_(plan_.get()); }  // the class and all fields: equal plans have equal text
  bool operator==(const KernelPlan& other) const { return def_ == other.def_ && text() == other.text(); }

 private:
  template <class Plan>
  static std::string text_of(const void* plan);

  const KernelDef* def_;
  std::string (*text_)(const void*);
  std::shared_ptr<const void> plan_;
};

// How constants are laid out for the kernels of a class.
struct Prepacking {
  // What the layout depends on, as text: plans that differ in nothing else share one copy.
  std::string (*key)(const KernelPlan& plan, const Target& target) = nullptr;
  int64_t (*bytes)(const KernelPlan& plan, const Target& target) = nullptr;
  // On up to `threads` threads, at 2 GB/s or better; pages of a mapped source are dropped behind the reader. `out` are
  // so many bytes of panel_memory(): zeros, or what was laid out there before for an equal key.
  void (*lay_out)(const KernelPlan& plan, const Target& target, const Tensor& weights, int threads,
                  std::byte* out) = nullptr;
};

// Positions in KernelArgs::pointers of a table of which not all rows are read, and of the numbers of those that are.
struct RowNumbers {
  int table, numbers;
};

// Operands whose values generated code trusts: whoever runs a kernel asks for a fault of them first.
struct OperandNames {
  std::string name, label;  // of its value, as texts of graphs and files have it
};
using OperandAt = std::function<OperandNames(int position)>;
struct TrustedOperands {
  std::array<int, 2> positions{-1, -1};  // in KernelArgs::pointers; -1: none
  // What is wrong; empty where nothing is.
  std::string (*fault)(const KernelPlan&, const KernelArgs&, const OperandAt&) = nullptr;
};

// Shares of the peak of its unit that kernels of a class reach: the best and worst seen over the models of
// bench/predicted_speed.py. Winograd's algorithm exceeds the peak in terms of the products it saves.
struct KernelSpeed {
  double best = 0.9, worst = 0.05;
  ProductUnit unit = ProductUnit::f32;
};

// What the groups of a class hold besides their anchor: pointwise nodes along its operands and results.
struct GroupRules {
  bool (*takes_users)(const Graph& graph, NodeId anchor) = nullptr;      // null: none
  bool (*takes_producers)(const Graph& graph, NodeId anchor) = nullptr;  // null: none
  // Whether an operand lies along the anchor's result, or a producer's along its operand. Null: any does.
  bool (*operand_fits)(const Shape& operand, const Shape& like) = nullptr;
  Support (*user_fits)(const Graph& graph, NodeId user) = nullptr;  // null: all that lie along do
  // Whether `other`, which reads what the group reads or makes, can be computed along with the anchor, in one pass.
  // Null: nothing can.
  bool (*joins)(const Graph& graph, NodeId anchor, NodeId other) = nullptr;
  // What is not pointwise, but may feed the group alone. Null: nothing.
  bool (*feeds)(const Graph& graph, NodeId anchor, NodeId producer) = nullptr;
  bool starts_last = false;  // groups of other classes may take such nodes in before
};

struct Lowering;
struct Prepared;

struct KernelDef {
  std::string_view name, doc;  // "gemm"
  // When it applies: the ops that such a kernel computes, with rules for what joins them; which of the classes that
  // take an op is asked first (the larger number); and a group as plans and arguments, or why it is none (lowering.h).
  bool (*takes)(const OpDef& op);
  int precedence = 0;
  bool (*suits)(const Graph& graph, NodeId node);  // null: any; where another class takes the op, it is asked first
  GroupRules group;
  Support (*lower)(const Lowering& lowering, Prepared& prepared);
  // Whether code can be generated for the plan, and why not.
  Support (*supports)(const KernelPlan& plan, const Target& target);
  // With the extents that args have, and writes into args.dims what follows from them (how work falls into items): code
  // for any extents and code for these ones do the same.
  Launch (*launch)(const KernelPlan& plan, const Target& target, KernelArgs& args);
  std::string (*describe)(const KernelPlan& plan, const Target& target);  // a line for people
  // Code that spills registers is generated again with smaller tiles: whether attempt `shrink` differs from the one
  // before it. Packed data keeps its layout.
  bool (*can_shrink)(const KernelPlan& plan, const Target& target, int shrink);
  KernelSpeed (*speed)(const KernelPlan& plan, const Target& target);
  Prepacking prepacking;                  // empty where kernels read constants as they lie
  std::optional<RowNumbers> row_numbers;  // none where no operand numbers rows
  TrustedOperands trusted = {};
};

// A function that a class gives or not. (Whether a plain pointer to one is null is no constant to GCC's sanitizers.)
template <class Signature>
struct Given {
  Signature* call = nullptr;
  bool is_given = false;
  constexpr Given() = default;
  constexpr Given(Signature* function) : call(function), is_given(true) {}  // NOLINT: a function is a given one
};

// A KernelDef as its class states it, of plans of its own type.
template <class Plan>
struct KernelClass {
  std::string_view name, doc;
  Given<bool(const OpDef& op)> takes;
  int precedence = 0;
  bool (*suits)(const Graph& graph, NodeId node) = nullptr;
  GroupRules group = {};
  Given<Support(const Lowering& lowering, Prepared& prepared)> lower;
  Given<Support(const Plan&, const Target&)> supports;
  Given<Launch(const Plan&, const Target&, KernelArgs&)> launch;
  Given<std::string(const Plan&, const Target&)> describe;
  Given<bool(const Plan&, const Target&, int)> can_shrink = {};
  Given<KernelSpeed(const Plan&, const Target&)> speed = {};
  std::optional<RowNumbers> row_numbers = {};
  std::array<int, 2> trusts = {-1, -1};  // TrustedOperands
  Given<std::string(const Plan&, const KernelArgs&, const OperandAt&)> fault = {};
  Given<std::string(const Plan&, const Target&)> prepack_key = {};
  Given<int64_t(const Plan&, const Target&)> prepacked_bytes = {};
  Given<void(const Plan&, const Target&, const Tensor&, int, std::byte*)> prepack = {};
  using PlanType = Plan;
};

//   constexpr KernelClass<GemmPlan> gemm{…};  extern constinit const KernelDef gemm_kernel_def = kernel_def<gemm>();
template <const auto& Class>
constexpr KernelDef kernel_def() {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  static_assert(Class.takes.is_given && Class.lower.is_given, "a class says when it applies");
  static_assert(Class.supports.is_given && Class.launch.is_given && Class.describe.is_given,
                "a class says all three of its plans");
  static_assert(names_every_member<Plan>(), "fields() of a plan names each of its members once");
  static_assert((Class.trusts[0] >= 0) == Class.fault.is_given, "a class that trusts operands finds their faults");
  static_assert(
      Class.prepack.is_given == Class.prepack_key.is_given && Class.prepack.is_given == Class.prepacked_bytes.is_given,
      "constants are laid out with all three of key, bytes and prepack, or not at all");
  KernelDef def{.name = Class.name,
                .doc = Class.doc,
                .takes = Class.takes.call,
                .precedence = Class.precedence,
                .suits = Class.suits,
                .group = Class.group,
                .lower = Class.lower.call,
                .supports = [](const KernelPlan& p, const Target& t) { return Class.supports.call(p.get<Plan>(), t); },
                .launch = [](const KernelPlan& p, const Target& t,
                             KernelArgs& a) { return Class.launch.call(p.get<Plan>(), t, a); },
                .describe = [](const KernelPlan& p, const Target& t) { return Class.describe.call(p.get<Plan>(), t); },
                .can_shrink = [](const KernelPlan&, const Target&, int) { return false; },
                .speed = [](const KernelPlan&, const Target&) { return KernelSpeed(); },
                .prepacking = {},
                .row_numbers = Class.row_numbers};
  if constexpr (Class.speed.is_given)
    def.speed = [](const KernelPlan& p, const Target& t) { return Class.speed.call(p.get<Plan>(), t); };
  if constexpr (Class.fault.is_given)
    def.trusted = {.positions = Class.trusts,
                   .fault = [](const KernelPlan& p, const KernelArgs& a, const OperandAt& at) {
                     return Class.fault.call(p.get<Plan>(), a, at);
                   }};
  if constexpr (Class.can_shrink.is_given)
    def.can_shrink = [](const KernelPlan& p, const Target& t, int shrink) {
      return Class.can_shrink.call(p.get<Plan>(), t, shrink);
    };
  if constexpr (Class.prepack.is_given)
    def.prepacking = {
        .key = [](const KernelPlan& p, const Target& t) { return Class.prepack_key.call(p.get<Plan>(), t); },
        .bytes = [](const KernelPlan& p, const Target& t) { return Class.prepacked_bytes.call(p.get<Plan>(), t); },
        .lay_out = [](const KernelPlan& p, const Target& t, const Tensor& weights, int threads,
                      std::byte* out) { Class.prepack.call(p.get<Plan>(), t, weights, threads, out); }};
  return def;
}

inline Support supports(const KernelPlan& plan, const Target& target) { return plan.kernel().supports(plan, target); }
inline Launch launch(const KernelPlan& plan, const Target& target, KernelArgs& args) {
  return plan.kernel().launch(plan, target, args);
}
inline Buffer lay_out(const KernelPlan& plan, const Target& target, const Tensor& weights, int threads,
                      const PanelMemory& memory) {  // of as many bytes
  plan.kernel().prepacking.lay_out(plan, target, weights, threads, memory.bytes.data());
  return Buffer(memory.owner, memory.bytes);
}
// In memory of its own, which goes with it: weights that lie in one stretch of a pool keep it for each other.
inline Buffer lay_out(const KernelPlan& plan, const Target& target, const Tensor& weights, int threads) {
  const int64_t bytes = plan.kernel().prepacking.bytes(plan, target);
  return lay_out(plan, target, weights, threads, panel_memory(static_cast<size_t>(bytes)));
}
inline std::string describe(const KernelPlan& plan, const Target& target) {
  return plan.kernel().describe(plan, target);
}

template <class Plan>
std::string KernelPlan::text_of(const void* plan) {
  std::string text(Plan::kernel().name);
  write_field(text, *static_cast<const Plan*>(plan));
  return text;
}

}  // namespace hone
