// Lowering by kind of group: one member function each, in kernels/<class>/lower.cc. Each either fills the step's plan,
// pointers and dims, or says why there is no kernel.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "codegen/epilogue.h"
#include "codegen/kernels/gemm/plan.h"
#include "codegen/kernels/pointwise/plan.h"
#include "codegen/kernels/resize/plan.h"
#include "codegen/lower.h"
#include "expr/program.h"
#include "ir/graph.h"
#include "ops/read_positions.h"

namespace hone {

using Plane = PointerBinding::Plane;

std::vector<int64_t> shape_of(const Graph& graph, ValueId v);
int64_t rows_of(const std::vector<int64_t>& shape);  // the product of all dimensions but the last

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
  Target target;
  bool exact;

  Refusal fill(std::vector<Step>& steps) const;  // from the first, which knows its group; moves may add more
  void finish(Step& step) const;                 // what follows from the group: name, reads, writes, flops, bytes

  Refusal pointwise(Step& step) const;
  Refusal move(std::vector<Step>& steps) const;
  Refusal transpose(Step& step) const;
  Refusal resize(Step& step, std::vector<ResizedAxis> resized) const;
  bool squares(Step& step, const std::vector<int64_t>& out, const std::vector<int64_t>& strides) const;
  Refusal row(Step& step) const;
  Refusal gemm(Step& step) const;
  Refusal conv(Step& step) const;
  Refusal attention(Step& step) const;
  Refusal gather(Step& step) const;
  Refusal quantise(std::vector<Step>& steps) const;
  Refusal window(Step& step) const;     // a pool or a depthwise convolution
  Refusal reduction(Step& step) const;  // over axes with others behind them: a window as large as its plane

  // A kernel over `extents` elements of values that lie along them with strides, from an offset on.
  struct Strided {
    std::vector<ValueId> values;  // several results lie alike; an operand is one
    std::vector<int64_t> strides;
    int64_t offset = 0;
  };
  Refusal elementwise(Step& step, PointwisePlan& plan, const std::vector<int64_t>& extents,
                      const std::vector<Strided>& operands, const Strided& results) const;
  // The weights of a product: a constant laid out for it, or an activation [n,k] (`transposed`) or [k,n].
  Refusal weights(GemmPlan& plan, ValueId w, bool transposed) const;
  // What follows `sum`, which reads the first `first_operand` arguments: the bias and the group's other nodes as the
  // program, their operands and the results bound. `batched`: results of several matrices, no operands per row.
  Refusal epilogue(Step& step, Epilogue& plan, Expr sum, int first_operand, ValueId bias, bool batched) const;

  std::vector<DType> dtypes(const std::vector<ValueId>& values) const;
  static void bind(Step& step, ValueId v, Plane plane = Plane::data, int64_t offset = 0);
  bool in_group(const Group& group, NodeId n) const;
  std::set<NodeId> behind_anchor(const Group& group) const;  // the anchor and what is computed from it
};

}  // namespace hone
