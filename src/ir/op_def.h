// What an op is. The definitions live in ops/, one constinit OpDef each; nodes hold `const OpDef*`.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "ir/attributes.h"

namespace hone {

class Graph;
using NodeId = int32_t;
using ValueId = int32_t;
constexpr int32_t kNone = -1;  // an absent operand

// Arguments of a pointwise op: one Expr per operand, plus the node's attributes.
struct PointwiseArgs {
  std::span<const Expr> operands;
  const Attributes& attributes;
  std::span<const DType> dtypes;  // of the operands
  const Expr& operator[](size_t i) const { return operands[i]; }
};
using Args = const PointwiseArgs&;

// What a shape rule sees. Operand types may be absent (nullptr); constants are given where they are known: when a graph
// whose shapes depend on data runs, that is all operands.
struct InferArgs {
  std::span<const TensorType* const> operands;
  std::span<const Tensor* const> constants;  // nullptr where the operand is absent or not a constant
  const Attributes& attributes;
  const std::vector<Graph>* subgraphs = nullptr;
  const TensorType& operator[](size_t i) const { return *operands[i]; }
  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
};

// What a reference evaluation sees: concrete tensors (nullptr where absent; packed ones as they are) and concrete
// result types.
struct EvalArgs {
  std::span<const Tensor* const> operands;
  const Attributes& attributes;
  std::span<const TensorType> results;  // constant shapes, but for sizes that only the evaluation itself finds out
  const std::vector<Graph>* subgraphs = nullptr;
  const Bindings* bindings = nullptr;  // of the symbols around; for the bodies
  const Tensor& operator[](size_t i) const { return *operands[i]; }
  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
};

// What a gradient rule sees: it emits nodes into the graph and returns one value per operand (kNone where there is no
// gradient).
struct GradientArgs {
  Graph& graph;
  NodeId node;
  std::span<const ValueId> d_results;  // gradient of each result; kNone where it is zero
};

enum class AttributeKind : uint8_t {
  integer,
  number,
  string,
  integers,
  numbers,
  strings,
  dim,
  shape,
  dtype,
  format,
  tensor
};
struct AttributeSpec {
  const char* name;
  AttributeKind kind;
  bool required = false;
  const char* doc = "";
};

// A row op works on each run along the last axis: reductions in order, then one expression per result. With k operands,
// the expressions read arg(i) = element of operand i, arg(k) = the row's length (f32), arg(k + 1 + j) = value of
// reduction j, and arg(k + 1 + r + j) = the element that reduction j stored where `keep` is set (r reductions in all).
struct Reduction {
  enum class Kind : uint8_t { sum, max, min } kind = Kind::sum;
  Expr element;
  bool keep = false;  // store the element so that later expressions need not compute it again
};
struct RowRule {
  std::vector<Reduction> reductions;
  std::vector<Expr> results;
};

struct OpDef {
  const char* name;
  const char* doc;                         // formula, shapes, conventions in one to three sentences
  int min_operands = 1, max_operands = 1;  // max -1: any number
  std::span<const AttributeSpec> attributes = {};
  int results = 1;                                               // -1: as many as the shape rule gives
  Expr (*pointwise)(Args) = nullptr;                             // then infer, eval, gradient and code follow from it
  std::vector<TensorType> (*infer)(const InferArgs&) = nullptr;  // throws Error saying what does not fit
  std::vector<Tensor> (*eval)(const EvalArgs&) = nullptr;        // slow, obvious, double accumulation: the oracle
  std::vector<ValueId> (*gradient)(const GradientArgs&) = nullptr;
  bool view = false;      // the result is the memory of the first operand in another shape
  bool moves = false;     // each element of a result is an element of an operand
  int bodies = 0;         // graphs that each node owns: of if, loop, scan
  bool any_rank = false;  // the shape rule takes operands of unknown rank; else such a node's results get unknown rank
  bool containers = false;                                          // operands may be sequences and optionals
  std::optional<Tensor> (*from_types)(const InferArgs&) = nullptr;  // the result, where the operands' types decide it
  RowRule (*row)(Args) = nullptr;  // of row ops: operands are as wide as the row, or vectors along it
  Dim (*flops)(const InferArgs&) =
      nullptr;  // null: one per result element and expression instruction for pointwise, else 0
};

}  // namespace hone
