// What the lowerings of kernel classes share (kernels/<class>/lower.cc). A lowering makes a group ready for any sizes:
// shapes are formulas, and what does not depend on their values (programs, how operands lie, which memory pointers
// mean) is decided once. What does is left to a function that is called with the sizes of a run. A class whose code
// needs numbers refuses a group with open sizes; it is asked again for each run's sizes, which are constants then. The
// device's implementation adapts what a class has prepared (KernelImplementation::adapt).
//
// A step's pointers are bound in the order in which the class's arguments list them (plan.h): bind() appends the next.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "expr/program.h"
#include "ir/graph.h"
#include "kernels/epilogue.h"
#include "kernels/lower.h"
#include "kernels/run_sizes.h"

namespace hone {

using Plane = PointerBinding::Plane;

int64_t rows_of(const std::vector<int64_t>& shape);  // the product of all dimensions but the last

// A group made ready: its steps (mostly one), with their plans, and what completes the last for a run's sizes, whose
// dims the others get, too; null where all are complete.
struct StepDraft : StepFrame, StepCall {};
struct Prepared {
  std::vector<StepDraft> steps;
  std::function<Support(const RunSizes& sizes, StepCall& placed)> place;
  StepDraft& step() { return steps[0]; }
};

// The plans that one group has for different sizes, made once each and then shared.
template <class Key>
class PlanVariants {
 public:
  template <class Make>
  Support choose(const Key& key, const Device& device, StepCall& placed, const Make& make) {
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      const KernelPlan plan = make();
      if (Support support = supports(device, plan); !support.supported()) return support;
      found = plans_.emplace(key, plan).first;
    }
    placed.plan = found->second;
    placed.lasting = true;
    return {};
  }

 private:
  std::map<Key, KernelPlan> plans_;
};

// Builds one expression per value of a group, numbering the values read from outside as it meets them.
class ExprBuilderForGroup {
 public:
  ExprBuilderForGroup(const Graph& graph, int first_operand) : graph_(graph), first_operand_(first_operand) {}

  void define(ValueId v, Expr e) { exprs_.insert_or_assign(v, std::move(e)); }

  const Expr& get(ValueId v);
  void apply(NodeId n);  // a pointwise node

  const std::vector<ValueId>& operands() const { return operands_; }

 private:
  const Graph& graph_;
  int first_operand_;
  std::map<ValueId, Expr> exprs_;
  std::vector<ValueId> operands_;
};

Program program_of(ExprBuilderForGroup& builder, const Graph& graph, const std::vector<ValueId>& results);

struct Lowering {
  const Graph& graph;
  const Device& device;  // of no use to a class: for its implementation
  bool no_winograd;
  Formulas& formulas;               // of the graph
  const RunSizes* sizes = nullptr;  // of a run; null: open
  const ApartValues* apart = nullptr;
  mutable std::set<ValueId> asked = {};  // of those, the ones whose strides() were asked for

  Shape shape(ValueId v) const;                       // formulas, or the run's numbers
  std::vector<int64_t> fixed_shape(ValueId v) const;  // Bug unless constant
  // How the value lies. A lowering that binds one that lies apart without asking is taken not to know: it is refused.
  Shape strides(ValueId v) const;
  bool lies_apart(ValueId v) const { return apart && apart->contains(v); }
  // From one row of `length` elements, which lie together, to the next; none where that is not one number.
  std::optional<Dim> row_stride(ValueId v, const Dim& length) const;
  const Tensor* constant(ValueId v) const;  // of the graph, or known with the sizes
  // Whether a weight is laid out for products rather than read as it lies: constants once, parameters when they have
  // changed, codes of a packed format in each run. Those that this graph updates change with each run.
  bool is_laid_out(ValueId v) const;
  Attributes attributes(NodeId n) const;         // likewise
  Support open_sizes(const Group& group) const;  // accepted where all shapes of its nodes are numbers
  Extent extent(const Dim& dim) const { return formulas.extent(dim); }
  Extent count(const Shape& shape) const { return extent(element_count(shape)); }

  // What follows `sum`, which reads the first `first_operand` arguments: the bias and the group's other nodes as the
  // program, their operands and the results bound. `batched`: results of several matrices, no operands per row.
  Support epilogue(StepFrame& step, Epilogue& plan, Expr sum, int first_operand, ValueId bias, bool batched) const;

  std::vector<DType> dtypes(const std::vector<ValueId>& values) const;
  static void bind(StepFrame& step, ValueId v, Plane plane = Plane::data, int64_t offset = 0);
  static void bind_made(StepFrame& step, Tensor table);  // of constant sizes
  bool in_group(const Group& group, NodeId n) const;
  std::set<NodeId> behind_anchor(const Group& group) const;  // the anchor and what is computed from it
};

}  // namespace hone
