// The model under construction: names, nodes and initialisers. A body (of If, Loop, Scan) is a scope within the scope
// around it, and reads the values of that by their names.
#pragma once

#include <map>
#include <set>

#include "io/onnx/export_model.h"
#include "io/onnx/export_node.h"
#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

struct NotExported {
  std::string name, op, reason;
};

// What all scopes of one export share.
struct ExportContext {
  int opset = kOldestExportOpset;
  bool fixed = false;         // asked for; otherwise a need for a newer one is met by another attempt
  bool keep_layouts = false;  // OnnxExportOptions
  int needed = 0;             // the newest that a node needs
  std::set<std::string> names;
  std::map<std::string, int> next_suffix;
  std::vector<NotExported> refused;
  std::map<std::string, ExportedFormat> formats;  // by format and how it is written
  int64_t nodes = 0;

  std::string unique(const std::string& wanted);
  void need(int version, std::string_view what);  // NotInOnnx where the opset is fixed and older
};

class ExportScope {
 public:
  ExportScope(ExportContext& context, const Graph& graph, GraphProto& proto, ExportScope* around = nullptr)
      : context_(context), graph_(graph), proto_(proto), around_(around) {}

  ExportContext& context() { return context_; }
  const Graph& graph() const { return graph_; }

  void declare_input(size_t index, const std::string& wanted);
  void bind_input(size_t index, const std::string& name);  // of a body: a value around it
  void write(bool keep_labels);                            // nodes and outputs

  std::string name_of(ValueId value);  // an initialiser is made of a constant when it is first asked for
  // The reader's weight in another shape and then order of axes.
  std::string rearranged(ValueId weight, const Node& reader, const Shape& shape, const std::vector<int64_t>& perm);
  std::string emit(const char* op_type, const Names& inputs, const Attributes& attributes = {});
  NodeProto& add_node(const char* op_type, const Names& inputs, const Names& outputs, const Attributes& attributes);
  std::string add_initializer(const Tensor& value, const std::string& wanted);
  std::string small_constant(const Tensor& value);  // one for all that are the same
  std::string sizes(const Shape& shape);            // i64[n]
  std::string new_name(const char* op_type) { return context_.unique(fmt::format("{}/{}", current_, op_type)); }

 private:
  class SizeFormula;
  void need_type(ValueId value);
  void name_results(bool keep_labels);
  void write_node(NodeId id);
  Names results_by_rule(NodeId id);
  void rename_results(NodeId id, int first_node, const Names& names);
  void write_outputs();
  void note_symbols(ValueId value);
  std::string constant_name(ValueId id);
  std::string size_of(const Dim& dim);  // i64[1]
  std::string symbol_value(const std::string& symbol);

  ExportContext& context_;
  const Graph& graph_;
  GraphProto& proto_;
  ExportScope* around_;
  std::string current_;  // the first result of the node being written: intermediate values are named after it
  Names output_names_;
  std::map<ValueId, std::string> names_;
  std::map<std::tuple<ValueId, std::string, std::vector<int64_t>>, std::string> rearranged_;
  std::map<std::string, std::string> constants_, sizes_;        // by contents
  std::map<std::string, std::pair<ValueId, int64_t>> symbols_;  // a value that has it as a dimension
};

TypeProto type_proto(const TensorType& type);

// The name of the decoded value. NotInOnnx when nothing that ONNX has decodes to the same bits.
std::string packed_constant(ExportScope& scope, const Tensor& tensor, const std::string& label);

}  // namespace hone::onnx
