// What an op is. The definitions live in ops/, one constinit OpDef each; nodes hold `const OpDef*`.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "ir/attributes.h"
#include "ir/permutation.h"

namespace hone {

class Graph;
struct OpDef;
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

// An operand by its name. Those that may be absent follow those that may not; what there are several of comes last.
struct OperandSpec {
  enum class Count : uint8_t { one, optional, several, any_number };  // several: at least one

  const char* name = "";
  Count count = Count::one;
  bool factor = false;    // products of its elements with those of the other factors are summed: the op is a layer
  bool argument = false;  // its values say what the op does, as attributes do
  bool weight = false;    // a constant here is a weight: its elements may be stored in another format, by rows
  bool bias = false;      // added to each row of the sums
  bool indices = false;   // its elements say which rows of the first operand are read

  constexpr OperandSpec() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that definitions list names
  constexpr OperandSpec(const char* called) : name(called) {}
  constexpr bool repeats() const { return count == Count::several || count == Count::any_number; }
};
constexpr OperandSpec optional(OperandSpec spec) { return spec.count = OperandSpec::Count::optional, spec; }
constexpr OperandSpec computed(OperandSpec spec) {
  return spec.argument = true, optional(spec);
}  // an attribute that is not known
constexpr OperandSpec several(OperandSpec spec) { return spec.count = OperandSpec::Count::several, spec; }
constexpr OperandSpec any_number(OperandSpec spec) { return spec.count = OperandSpec::Count::any_number, spec; }
constexpr OperandSpec factor(OperandSpec spec) { return spec.factor = true, spec; }
constexpr OperandSpec weight(OperandSpec spec) { return spec.weight = true, spec; }
constexpr OperandSpec bias(OperandSpec spec) { return spec.bias = true, spec; }
constexpr OperandSpec indices(OperandSpec spec) { return spec.indices = true, spec; }

class OperandSpecs {
 public:
  static constexpr size_t kMost = 12;
  constexpr OperandSpecs(std::initializer_list<OperandSpec> specs) : size_(specs.size()) {
    std::copy(specs.begin(), specs.end(), specs_.begin());  // a longer list does not compile
  }
  constexpr const OperandSpec* begin() const { return specs_.data(); }
  constexpr const OperandSpec* end() const { return specs_.data() + size_; }
  constexpr size_t size() const { return size_; }
  const OperandSpec& of(size_t operand) const { return specs_[std::min(operand, size_ - (size_ > 0))]; }  // of a node

  int least() const;  // operands of a node
  int most() const;   // -1: any number
  int factors() const;

 private:
  std::array<OperandSpec, kMost> specs_;
  size_t size_;
};

// What an op sees that is asked how it stands to the order of axes: its operands are transposed by `perm`.
struct TransposeArgs {
  const OpDef& op;
  std::span<const TensorType* const> operands;  // as they are, after the transposes; nullptr where absent
  const TensorType& result;                     // the first one
  const Attributes& attributes;
  const Permutation& perm;
  const TensorType& operator[](size_t i) const { return *operands[i]; }
};
// The same from the sources of the transposes: this op on them, and its results transposed by `result`.
struct Transposed {
  const OpDef* op;
  Attributes attributes;
  Permutation result;
};

struct Move;
struct MoveArgs;

struct OpDef {
  const char* name;
  const char* doc;  // formula, shapes, conventions in one to three sentences
  OperandSpecs operands = {"x"};
  std::span<const AttributeSpec> attributes = {};
  int results = 1;                                               // -1: as many as the shape rule gives
  Expr (*pointwise)(Args) = nullptr;                             // then infer, eval, gradient and code follow from it
  std::vector<TensorType> (*infer)(const InferArgs&) = nullptr;  // throws Error saying what does not fit
  std::vector<Tensor> (*eval)(const EvalArgs&) = nullptr;        // slow, obvious, double accumulation: the oracle
  int64_t (*summed_axis)(const Attributes&, size_t operand) = nullptr;      // of a factor; null: the last one
  std::optional<Transposed> (*transposed)(const TransposeArgs&) = nullptr;  // rules are in ops/transposed.h
  // Whether the shape rule holds for all sizes, since what it compares is equal as formulas. Null: it is to be asked
  // again for each run's sizes, unless the op is pointwise, a row op or a view.
  bool (*fits_all_sizes)(const InferArgs&, const TensorType& result) = nullptr;
  bool view = false;   // the result is the memory of the first operand in another shape
  bool moves = false;  // each element of a result is an element of an operand
  // Which one: ops/moves.h. None where it depends on values that are not given, or is no regular pattern. Null of a
  // transpose.
  std::optional<std::vector<Move>> (*move_map)(const MoveArgs&) = nullptr;
  int bodies = 0;         // graphs that each node owns: of if, loop, scan
  bool any_rank = false;  // the shape rule takes operands of unknown rank; else such a node's results get unknown rank
  bool containers = false;                                          // operands may be sequences and optionals
  std::optional<Tensor> (*from_types)(const InferArgs&) = nullptr;  // the result, where the operands' types decide it
  const char* no_gradient =
      nullptr;                     // why the op has none, in a sentence; else it is pointwise or gradients/ has a rule
  RowRule (*row)(Args) = nullptr;  // of row ops: operands are as wide as the row, or vectors along it
  Dim (*flops)(const InferArgs&) =
      nullptr;  // null: one per result element and expression instruction for pointwise, else 0

  int64_t axis_of_sums(const Attributes& attributes, size_t operand) const {
    return summed_axis ? summed_axis(attributes, operand) : -1;
  }
};

}  // namespace hone
