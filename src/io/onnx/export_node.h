// How ops become operators of ONNX: one file per family (export_<family>.cc) holds a table of them, and a function for
// each that emits nodes into the model under construction. A pointwise op without an entry is spelled out from its
// expression (export_expression.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/onnx/onnx.pb.h"
#include "ir/graph.h"

namespace hone::onnx {

class ExportScope;

// What ONNX, or this version of it, can't say. Collected for all nodes.
class NotInOnnx : public Error {
  using Error::Error;
};
template <class... Args>
[[noreturn]] void not_in_onnx(fmt::format_string<Args...> format, Args&&... args) {
  throw NotInOnnx(fmt::format(format, std::forward<Args>(args)...));
}

using Names = std::vector<std::string>;  // of values in the model; "" where absent
using Bodies = std::vector<std::pair<const char*, GraphProto>>;

// An attribute as an op and an operator name it.
struct Renamed {
  Renamed(const char* both) : ours(both), theirs(both) {}  // NOLINT: most have one name
  Renamed(const char* ours, const char* theirs) : ours(ours), theirs(theirs) {}
  const char *ours, *theirs;
};

// A node of the graph as the function of its op sees it.
class ExportNode {
 public:
  ExportNode(ExportScope& scope, NodeId id);

  const Graph& graph() const;
  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  bool has(size_t operand) const;
  const TensorType& type(size_t operand) const;
  const TensorType& result_type(size_t result = 0) const;
  size_t rank(size_t operand) const;             // NotInOnnx when it is not known
  bool keeps_layouts() const;                    // OnnxExportOptions
  const Tensor* constant(size_t operand) const;  // nullptr when computed or absent
  int64_t integer(std::string_view name, int64_t fallback) const;
  Attributes take(std::initializer_list<Renamed> names) const;  // those that it has

  int opset() const;
  void needs(int opset, std::string_view what) const;  // the model gets it, or NotInOnnx: "`what` needs opset 21"

  // Operands by their names in the model.
  std::string in(size_t operand) const;  // decoded where it is a packed constant; "" when absent
  std::string in_as(size_t operand, DType dtype) const;
  Names all_in() const;
  // A weight in another shape and then order of axes.
  std::string rearranged(size_t operand, DType dtype, const Shape& shape, const std::vector<int64_t>& perm) const;
  // Sizes that are an attribute or an operand: i64[n].
  std::string sizes_argument(const char* attribute, size_t operand) const;
  std::string size_argument(const char* attribute, size_t operand) const;  // of rank 0

  // Emitting. The values get names of their own; what the function returns is renamed to the node's results.
  std::string emit(const char* op_type, const Names& inputs, const Attributes& attributes = {}) const;
  Names emit_all(const char* op_type, const Names& inputs, const Attributes& attributes, size_t results,
                 Bodies bodies = {}) const;
  std::string cast(const std::string& value, DType from, DType to) const;  // nothing emitted when nothing changes
  std::string constant(const Tensor& value) const;
  std::string number(double value, DType dtype) const;             // rank 0
  std::string integers(const std::vector<int64_t>& values) const;  // i64[n]
  std::string sizes(const Shape& shape) const;                     // i64[n], computed where symbolic
  // `to` may have one dimension of -1.
  std::string reshape(const std::string& value, const Shape& from, const Shape& to) const;
  std::string transpose(const std::string& value, std::vector<int64_t> perm) const;
  // Over axes that stay with length 1; they are an attribute of the operator or, later, an operand.
  std::string reduce(const char* op_type, const std::string& value, const std::vector<int64_t>& axes) const;
  std::string emit_of_type(const char* op_type, const TensorType& type) const;  // with the attribute "type"
  // A body of the node: its inputs are the first `own` of the body's; the others are the operands from `captures` on.
  GraphProto body(size_t index, size_t own, size_t captures) const;

 private:
  ExportScope& scope_;
  const Node& node_;
};

struct ExportRule {
  const char* op;
  Names (*write)(const ExportNode&);  // one name per result
};

// The tables.
std::span<const ExportRule> control_rules();
std::span<const ExportRule> image_rules();
std::span<const ExportRule> indexing_rules();
std::span<const ExportRule> pointwise_rules();
std::span<const ExportRule> product_rules();
std::span<const ExportRule> quantization_rules();
std::span<const ExportRule> random_rules();
std::span<const ExportRule> recurrent_rules();
std::span<const ExportRule> row_rules();
std::span<const ExportRule> sequence_rules();
std::span<const ExportRule> shape_rules();
std::span<const ExportRule> signal_rules();
std::span<const ExportRule> string_rules();
std::span<const ExportRule> window_rules();

Names write_expression(const ExportNode& n);  // of a pointwise op

}  // namespace hone::onnx
