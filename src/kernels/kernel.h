// Kernels, whatever computes them. A kernel class is a folder of kernels/: the plain struct that describes one kernel
// of the class (its plan: everything that is constant in its code), and one KernelDef, which says what follows from a
// graph. It names no device: how a device computes a plan is that device's own table (device/implementation.h), keyed
// by the KernelDef.
//
// Every kernel covers work items [begin, end); items are independent, so any scheduler may hand them out in any pieces,
// and the result has the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "device/given.h"
#include "device/plan.h"
#include "ir/op_def.h"
#include "ir/tensor.h"

namespace hone {

inline bool is_one_of(const OpDef& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op.name) != names.end();
}

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
  std::optional<RowNumbers> row_numbers;  // none where no operand numbers rows
  TrustedOperands trusted = {};
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
  std::optional<RowNumbers> row_numbers = {};
  std::array<int, 2> trusts = {-1, -1};  // TrustedOperands
  Given<std::string(const Plan&, const KernelArgs&, const OperandAt&)> fault = {};
  using PlanType = Plan;
};

//   constexpr KernelClass<GemmPlan> gemm{…};  extern constinit const KernelDef gemm_kernel_def = kernel_def<gemm>();
template <const auto& Class>
constexpr KernelDef kernel_def() {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  static_assert(Class.takes.is_given && Class.lower.is_given, "a class says when it applies");
  static_assert(names_every_member<Plan>(), "fields() of a plan names each of its members once");
  static_assert((Class.trusts[0] >= 0) == Class.fault.is_given, "a class that trusts operands finds their faults");
  KernelDef def{.name = Class.name,
                .doc = Class.doc,
                .takes = Class.takes.call,
                .precedence = Class.precedence,
                .suits = Class.suits,
                .group = Class.group,
                .lower = Class.lower.call,
                .row_numbers = Class.row_numbers};
  if constexpr (Class.fault.is_given)
    def.trusted = {.positions = Class.trusts,
                   .fault = [](const KernelPlan& p, const KernelArgs& a, const OperandAt& at) {
                     return Class.fault.call(p.get<Plan>(), a, at);
                   }};
  return def;
}

}  // namespace hone
