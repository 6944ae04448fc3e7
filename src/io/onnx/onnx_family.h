// How operators of ONNX become ops: one file per family (<family>/import.cc) holds a table of them, and an import
// function for each that emits nodes into the graph under construction.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace hone {

namespace onnx {
class NodeProto;
class AttributeProto;
}  // namespace onnx
class OnnxScope;

// An operator, or a use of it, that hone has no way to compute; everything else that is wrong with a file is an Error.
class Unsupported : public Error {
  using Error::Error;
};

// A node of a model as the import function of its operator sees it. Accessors throw Error that says what was found.
class OnnxNode {
 public:
  OnnxNode(OnnxScope& scope, const onnx::NodeProto& proto, int opset) : scope_(scope), proto_(proto), opset_(opset) {}

  const std::string& op_type() const;
  int opset() const { return opset_; }  // version of the node's domain
  int inputs() const;                   // as listed in the file
  int outputs() const;
  bool has(int input) const;     // given: not beyond the list, not the empty name
  bool wants(int output) const;  // likewise
  const std::string& output_name(int output) const;
  ValueId in(int input) const;
  ValueId in_or_none(int input) const;      // kNone when not given
  std::vector<ValueId> all_inputs() const;  // kNone for those with an empty name

  bool has_attribute(std::string_view name) const;
  // Without a fallback the attribute is required.
  int64_t integer(std::string_view name, std::optional<int64_t> fallback = {}) const;
  // Of an attribute that is to be 0 or 1, whether it is 1. ONNX Runtime takes other numbers for 0 at some operators,
  // for 1 at others, and refuses them at the rest; so do these three.
  bool is_one(std::string_view name, bool fallback) const;
  bool is_not_zero(std::string_view name, bool fallback) const;
  bool zero_or_one(std::string_view name, bool fallback) const;
  // At least 1 and, so that products of a few such numbers fit, at most 2^31: of heads, groups, blocks, windows.
  int64_t count(std::string_view name, std::optional<int64_t> fallback = {}) const;
  double number(std::string_view name, std::optional<double> fallback = {}) const;
  std::string text(std::string_view name, std::optional<std::string> fallback = {}) const;
  std::vector<int64_t> integers(std::string_view name, std::optional<std::vector<int64_t>> fallback = {}) const;
  Shape sizes(std::string_view name) const;  // a list of integers as dimensions, which take far more memory
  std::vector<double> numbers(std::string_view name, std::optional<std::vector<double>> fallback = {}) const;
  std::vector<std::string> texts(std::string_view name, std::optional<std::vector<std::string>> fallback = {}) const;
  Tensor tensor(std::string_view name) const;                                    // a sparse one as dense
  DType dtype(std::string_view name, std::optional<DType> fallback = {}) const;  // of ONNX's number of an element type
  TensorType type_attribute(std::string_view name) const;

  // What is known of a value.
  const TensorType& type(ValueId v) const;        // Error when it is kNone
  size_t rank(ValueId v) const;                   // Unsupported when it is not known
  Shape shape(ValueId v) const;                   // likewise
  Shape shape(ValueId v, size_t rank) const;      // Error when it has another number of dimensions
  const Tensor* constant(ValueId v) const;        // nullptr when computed
  const Tensor* plain_constant(ValueId v) const;  // of numbers or truth values; Error when it is a constant of others
  std::optional<Shape> dims(ValueId v) const;  // the elements of an integer scalar or vector as dimensions, where known
  std::optional<std::vector<int64_t>> known_integers(ValueId v) const;  // the same where all are constants

  // Emitting. What has constant operands and a small result is computed at once.
  ValueId emit(Call call) const;  // its only result
  std::vector<ValueId> emit_all(Call call) const;
  ValueId constant(Tensor value, std::string label = "") const;  // label: the name of a weight
  ValueId scalar(double value, DType dtype) const;               // rank 0
  ValueId constant_integers(std::vector<int64_t> values) const;  // i64[n]
  // Nothing is emitted when nothing changes.
  ValueId reshape(ValueId x, Shape shape) const;
  ValueId transpose(ValueId x, std::vector<int64_t> perm) const;
  ValueId cast(ValueId x, DType dtype) const;
  const Graph& graph() const;

  // A graph attribute as a body: it takes `inputs` by the names of its own inputs, and what it reads from around it is
  // appended to `captures`, which has a further input for each.
  Graph body(std::string_view name, const std::vector<TensorType>& inputs, std::vector<ValueId>& captures) const;
  int body_inputs(std::string_view name) const;
  // The same graph emitted here in place, its inputs standing for these values: its outputs.
  std::vector<ValueId> inline_body(std::string_view name, std::span<const ValueId> inputs = {}) const;

  [[noreturn]] void unsupported(const std::string& what) const { throw Unsupported(what); }

 private:
  const onnx::AttributeProto* find(std::string_view name, int type) const;
  const onnx::AttributeProto& required(std::string_view name, int type) const;
  OnnxScope& scope_;
  const onnx::NodeProto& proto_;
  int opset_;
};

// The entry of an operator with the largest `since` not above the model's version of the domain counts.
struct OnnxOperator {
  const char* name;
  int since;
  std::vector<ValueId> (*import)(OnnxNode&);  // one value per output; unwanted trailing ones may be missing
  const char* domain = "";
};

struct OnnxFamilyDef {
  const char* name;
  std::span<const OnnxOperator> operators;
};

}  // namespace hone
