// How operators of windows and images become ops, beyond what ONNX's own cases show: symbolic and computed sizes, old
// versions, uses that are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "io/onnx/data_type.h"
#include "io/onnx/import_model.h"
#include "io/onnx/tensors.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

Tensor f32(Integers shape, const Floats& values) { return Tensor::of<float>(std::move(shape), values); }
Tensor i64(Integers shape, const Integers& values) { return Tensor::of<int64_t>(std::move(shape), values); }

// A model of one node: input 0 is x, the next ones are i1, i2, ...; outputs are y0, y1, ...
class OneNode {
 public:
  OneNode(const char* op, int opset, int outputs = 1) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    node_->set_op_type(op);
    for (int i = 0; i < outputs; ++i) {
      node_->add_output(fmt::format("y{}", i));
      model_.mutable_graph()->add_output()->set_name(node_->output(i));
    }
  }
  OneNode& input(const char* text) {
    const TensorType type = parse_type(text);
    onnx::ValueInfoProto* info = model_.mutable_graph()->add_input();
    info->set_name(next_name());
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::data_type_of(type.dtype));
    tensor->mutable_shape();
    for (const Dim& dim : type.shape)
      if (dim.is_constant()) tensor->mutable_shape()->add_dim()->set_dim_value(dim.constant());
      else tensor->mutable_shape()->add_dim()->set_dim_param(dim.to_string());
    return *this;
  }
  OneNode& constant(const Tensor& value) {
    *model_.mutable_graph()->add_initializer() = onnx::to_proto(value, next_name());
    return *this;
  }
  OneNode& absent() {
    node_->add_input("");
    return *this;
  }
  OneNode& set(const char* name, int64_t value) {
    attribute(name, onnx::AttributeProto::INT)->set_i(value);
    return *this;
  }
  OneNode& set(const char* name, const char* value) {
    attribute(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  OneNode& set(const char* name, const Integers& values) {
    auto* ints = attribute(name, onnx::AttributeProto::INTS);
    for (int64_t value : values) ints->add_ints(value);
    return *this;
  }
  OneNode& set(const char* name, const Floats& values) {
    auto* floats = attribute(name, onnx::AttributeProto::FLOATS);
    for (float value : values) floats->add_floats(value);
    return *this;
  }
  OnnxImport import() const { return import_onnx_bytes(model_.SerializeAsString(), "test.onnx"); }
  Graph graph() const {
    OnnxImport result = import();
    EXPECT_TRUE(result.unsupported.empty()) << unsupported_text("test.onnx", result.unsupported);
    return result.graph;
  }
  std::string type() const {  // of the first output
    const Graph g = graph();
    return to_string(g.type(g.outputs()[0].value));
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    const Graph g = graph();
    std::map<std::string, Tensor> named;
    for (size_t i = 0; i < inputs.size(); ++i) named[g.value(g.inputs()[i]).label] = inputs[i];
    return evaluate(g, named);
  }

 private:
  std::string next_name() {
    node_->add_input(node_->input_size() == 0 ? "x" : fmt::format("i{}", node_->input_size()));
    return node_->input(node_->input_size() - 1);
  }
  onnx::AttributeProto* attribute(const char* name, int type) {
    onnx::AttributeProto* added = node_->add_attribute();
    added->set_name(name);
    added->set_type(type);
    return added;
  }

  onnx::ModelProto model_;
  onnx::NodeProto* node_ = model_.mutable_graph()->add_node();
};

TEST(OnnxConv, SamePadsWorkForAnySize) {
  OneNode conv("Conv", 11);
  conv.input("f32[B,1,W]")
      .constant(f32({1, 1, 3}, {1, 10, 100}))
      .set("auto_pad", "SAME_LOWER")
      .set("strides", Integers{2});
  EXPECT_EQ(conv.type(), "f32[B,1,(W+1)/2]");
  EXPECT_EQ(conv.run({f32({1, 1, 3}, {1, 2, 3})})[0].to_floats(), (Floats{210, 32}));
  EXPECT_EQ(conv.run({f32({1, 1, 2}, {1, 2})})[0].to_floats(), (Floats{210}));
}

TEST(OnnxConv, GivesTheElementTypeOfX) {
  OneNode conv("Conv", 11);
  conv.input("f16[1,1,2]").constant(f32({1, 1, 1}, {3}).converted(DType::f16));
  EXPECT_EQ(conv.type(), "f16[1,1,2]");
}

TEST(OnnxConvTranspose, AnOutputShapeOverridesPads) {
  OneNode node("ConvTranspose", 11);
  node.input("f32[1,1,2]").constant(f32({1, 1, 3}, {1, 10, 100})).set("strides", Integers{2});
  node.set("output_shape", Integers{3}).set("pads", Integers{0, 0});
  EXPECT_EQ(node.run({f32({1, 1, 2}, {1, 2})})[0].to_floats(), (Floats{10, 102, 20}));
}

TEST(OnnxGlobalPools, WorkForAnySizes) {
  const Tensor x = f32({1, 1, 2, 2}, {1, -2, 2, 4});
  const auto pooled = [&](const char* op) { return OneNode(op, 11).input("f32[B,1,H,W]").run({x})[0].to_floats(); };
  EXPECT_EQ(pooled("GlobalMaxPool"), (Floats{4}));
  EXPECT_EQ(pooled("GlobalAveragePool"), (Floats{1.25f}));
  EXPECT_EQ(pooled("GlobalLpPool"), (Floats{5}));
}

TEST(OnnxMaxPool, IndicesAreEmittedOnlyWhereTheyAreWanted) {
  OneNode one("MaxPool", 12), two("MaxPool", 12, 2);
  for (OneNode* node : {&one, &two})
    node->input("f32[1,1,2,2]").set("kernel_shape", Integers{2, 2}).set("storage_order", 1);
  EXPECT_EQ(one.graph().nodes().size(), 1u);
  EXPECT_EQ(two.run({f32({1, 1, 2, 2}, {1, 9, 2, 3})})[1].to_integers(), (Integers{2}));
}

TEST(OnnxResize, KeepsSymbolsAndTakesComputedSizes) {
  OneNode by_scale("Resize", 13), computed("Resize", 13);
  by_scale.input("f32[B,W]").absent().constant(f32({2}, {1, 2})).set("mode", "linear");
  EXPECT_EQ(by_scale.type(), "f32[B,2*W]");
  computed.input("f32[1,W]").absent().absent().input("i64[2]").set("mode", "linear");
  EXPECT_EQ(computed.run({f32({1, 2}, {1, 2}), i64({2}, {2, 2})})[0].to_floats(), (Floats{1, 2, 1, 2}));
}

TEST(OnnxResize, ReadsAnEmptyTensorAsAbsent) {
  OneNode node("Resize", 11);
  node.input("f32[1,2]").constant(f32({0}, {})).constant(f32({0}, {})).constant(i64({2}, {1, 4}));
  EXPECT_EQ(node.run({f32({1, 2}, {1, 2})})[0].to_floats(), (Floats{1, 1, 2, 2}));
}

TEST(OnnxResize, OfVersion10RoundsUpWhereAnAxisShrinks) {
  OneNode node("Resize", 10), upsample("Upsample", 7);
  node.input("f32[4]").constant(f32({1}, {0.6f}));
  EXPECT_EQ(node.run({f32({4}, {1, 2, 3, 4})})[0].to_floats(), (Floats{1, 3}));
  upsample.input("f32[1,2]").set("scales", Floats{1, 2});
  EXPECT_EQ(upsample.run({f32({1, 2}, {1, 2})})[0].to_floats(), (Floats{1, 1, 2, 2}));
}

TEST(OnnxGroupNormalization, ScalesGroupsBeforeVersion21AndChannelsFromThenOn) {
  const Tensor x = f32({1, 2, 2}, {1, -1, 1, -1});
  OneNode groups("GroupNormalization", 18), channels("GroupNormalization", 21);
  groups.input("f32[B,2,W]").constant(f32({1}, {3})).constant(f32({1}, {10})).set("num_groups", 1);
  channels.input("f32[B,2,W]").constant(f32({2}, {3, 5})).constant(f32({2}, {10, 20})).set("num_groups", 1);
  const auto rounded = [&](const OneNode& node) {
    Floats values = node.run({x})[0].to_floats();
    for (float& value : values) value = std::round(value * 1000) / 1000;
    return values;
  };
  EXPECT_EQ(rounded(groups), (Floats{13, 7, 13, 7}));
  EXPECT_EQ(rounded(channels), (Floats{13, 7, 25, 15}));
}

TEST(OnnxBatchNormalization, TrainingBeforeVersion14IsRefused) {
  for (int outputs : {1, 2}) {
    OneNode node("BatchNormalization", outputs == 1 ? 6 : 9, outputs);
    node.input("f32[2,1]");
    for (int i = 0; i < 4; ++i) node.constant(f32({1}, {1}));
    const OnnxImport result = node.import();
    ASSERT_EQ(result.unsupported.size(), 1u);
    EXPECT_NE(result.unsupported[0].reason.find("which trains"), std::string::npos) << result.unsupported[0].reason;
  }
}

TEST(OnnxDepthToSpace, AndSpaceToDepthUndoEachOther) {
  Floats values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor x = f32({1, 8, 2, 2}, values);
  for (const char* mode : {"DCR", "CRD"}) {
    OneNode spread("DepthToSpace", 13), gather("SpaceToDepth", 13);
    spread.input("f32[B,8,H,W]").set("blocksize", 2).set("mode", mode);
    gather.input("f32[B,C,H,W]").set("blocksize", 2).set("mode", mode);
    EXPECT_EQ(spread.type(), "f32[B,2,2*H,2*W]");
    EXPECT_TRUE(gather.run(spread.run({x}))[0].same_bits(x)) << mode;
  }
}

TEST(OnnxNonMaxSuppression, GivesAsManyRowsAsItFinds) {
  OneNode node("NonMaxSuppression", 11);
  node.input("f32[1,N,4]").input("f32[1,1,N]").constant(i64({1}, {9}));
  EXPECT_EQ(node.type(), "i64[_1,3]");
  EXPECT_EQ(node.run({f32({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), f32({1, 1, 2}, {0.5f, 0.9f})})[0].to_integers(),
            (Integers{0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace hone
