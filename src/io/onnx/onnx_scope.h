// The names of values while a graph of a model is imported. A body (of If, Loop, Scan) is a scope with a graph of its
// own within the scope around it; a function's body, or a body emitted in place, is a scope with new names in the same
// graph.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "io/onnx/external_data.h"
#include "io/onnx/import_model.h"
#include "io/onnx/known_dims.h"
#include "io/onnx/onnx.pb.h"
#include "io/onnx/onnx_family.h"
#include "io/onnx/tensors.h"
#include "ops/evaluate.h"

namespace hone {

// What all scopes of one import share.
struct OnnxModelContext {
  std::string source;
  onnx::ExternalData* external = nullptr;
  std::map<const onnx::TensorProto*, onnx::DataInFile> in_file;
  std::map<std::string, const onnx::FunctionProto*> functions;  // "domain:name:overload"
  std::map<const onnx::TensorProto*, Tensor> tensors;           // converted already: bodies may be imported twice
  std::map<const onnx::SparseTensorProto*, Tensor> sparse_tensors;
  std::vector<UnsupportedNode> unsupported;
  std::unordered_map<std::string_view, std::vector<const OnnxOperator*>> operators;  // by name
  std::vector<std::string> function_stack;                                           // being inlined
  std::deque<onnx::NodeProto> resolved;  // nodes of functions with the attributes of their calls
  FoldBudget folding;                    // of all nodes that are computed at once
  int64_t nodes = 0, nodes_in_file = 0;
  int depth = 0, bodies = 0;  // of scopes within scopes, and those with a graph of their own

  // A small file may call functions that call functions, and have bodies within bodies that are imported several times.
  // What that comes to is bounded: `work` in nodes and names, `bytes` of copied nodes.
  void spend(int64_t work, int64_t bytes = 0);
  int64_t work = 0, bytes = 0;

  class Nested {  // a scope within another, as long as it lives
   public:
    explicit Nested(OnnxModelContext& model, bool is_body = false);
    ~Nested() { --model_.depth, model_.bodies -= is_body_; }
    Nested(const Nested&) = delete;

   private:
    OnnxModelContext& model_;
    int is_body_;
  };
};
using GivenAttributes = std::map<std::string, const onnx::AttributeProto*>;  // to a function by a call of it
using OpsetVersions = std::map<std::string, int>;                            // by domain; ai.onnx is ""

class OnnxScope {
 public:
  OnnxScope(OnnxModelContext& model, const OpsetVersions& opsets, Graph& graph, KnownDims& dims,
            OnnxScope* around = nullptr, std::vector<ValueId>* captures = nullptr)
      : model_(model), opsets_(opsets), graph_(graph), dims_(dims), around_(around), captures_(captures) {}

  Graph& graph() { return graph_; }
  KnownDims& dims() { return dims_; }
  OnnxModelContext& model() { return model_; }
  const OpsetVersions& opsets() const { return opsets_; }

  void define(const std::string& name, ValueId value);  // Error when it is defined already
  ValueId find(const std::string& name);                // captured from the scope around where it is there; Error
  void add_initializers(const onnx::GraphProto& graph);
  void add_inputs(const onnx::GraphProto& graph);  // those that are not initialised
  void add_nodes(const onnx::GraphProto& graph);
  void add_node(const onnx::NodeProto& node);
  std::vector<ValueId> outputs_of(const onnx::GraphProto& graph);

  const Tensor& tensor(const onnx::TensorProto& proto, const std::string& what);
  const Tensor& tensor(const onnx::SparseTensorProto& proto, const std::string& what);
  TensorType type_of(const onnx::TypeProto& proto, const std::string& name) const;

 private:
  ValueId lookup(const std::string& name);  // kNone when it is nowhere
  ValueId capture(const std::string& name, ValueId outer);
  const OnnxOperator* find_operator(const onnx::NodeProto& node, int opset) const;
  std::vector<ValueId> import_node(const onnx::NodeProto& node);
  const onnx::NodeProto& resolved_copy(const onnx::NodeProto& node, const GivenAttributes& given);
  std::vector<ValueId> inline_function(const onnx::FunctionProto& function, const onnx::NodeProto& call);
  void skip(const onnx::NodeProto& node, const std::string& reason);

  OnnxModelContext& model_;
  const OpsetVersions& opsets_;
  Graph& graph_;
  KnownDims& dims_;
  OnnxScope* around_;
  std::vector<ValueId>* captures_;  // of a body: the values outside that its further inputs stand for
  std::map<std::string, ValueId> values_;
  std::set<std::string> missing_;  // outputs of nodes that are not supported
};

std::string onnx_node_text(const onnx::NodeProto& node);  // node "Resize_12" (Resize)

}  // namespace hone
