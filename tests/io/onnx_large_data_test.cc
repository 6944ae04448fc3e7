// Weights that stay in a model's file: the same tensors as those that are parsed with the message, and the same errors.
#include "io/onnx/large_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "io/onnx/import_model.h"
#include "io/onnx/read_model.h"
#include "io/onnx/tensors.h"
#include "ir/text.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"

namespace hone::onnx {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 128, kColumns = 64;  // f32: 32 KiB

// x · w + b; `shift` bytes in front of the graph move the weights on. Two small tensors lie around the large ones.
ModelProto model_with_weights(size_t shift) {
  ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name(std::string(shift, 'p'));
  GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f;
  *graph.add_initializer() = to_proto(Tensor::of<float>({kColumns}, std::vector<float>(kColumns, 2)), "b");
  *graph.add_initializer() = to_proto(Tensor::of<float>({kRows, kColumns}, values), "w");
  *graph.add_initializer() = to_proto(Tensor::of<int64_t>({1}, {1}), "axes");
  *graph.add_initializer() = to_proto(Tensor::of<int64_t>({2100}, std::vector<int64_t>(2100, 3)), "ids");
  const auto node = [&](const char* op, std::initializer_list<const char*> inputs, const char* output) {
    NodeProto& added = *graph.add_node();
    added.set_op_type(op);
    for (const char* name : inputs) added.add_input(name);
    added.add_output(output);
    graph.add_output()->set_name(output);
  };
  node("MatMul", {"x", "w"}, "product");
  node("Add", {"product", "b"}, "y");
  node("Gather", {"w", "ids"}, "rows");
  node("Unsqueeze", {"b", "axes"}, "b_1");
  auto& type = *graph.add_input()->mutable_type()->mutable_tensor_type();
  graph.mutable_input(0)->set_name("x");
  type.set_elem_type(TensorProto::FLOAT);
  for (int64_t size : {int64_t{3}, kRows}) type.mutable_shape()->add_dim()->set_dim_value(size);
  model.add_opset_import()->set_version(17);
  return model;
}

bool same_constants(const Graph& a, const Graph& b) {
  const auto ids = a.constants(), others = b.constants();
  if (ids.size() != others.size()) return false;
  for (size_t i = 0; i < ids.size(); ++i)
    if (!a.constant(ids[i])->same_bits(*b.constant(others[i]))) return false;
  return true;
}

TEST(OnnxLargeData, StaysInTheFileOnWhateverByteItLies) {
  const TemporaryFolder folder;
  size_t in_order = 0;
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string bytes = model_with_weights(shift).SerializeAsString();
    const std::string path = folder.put("m.onnx", bytes);
    const ModelFile file = read_model(path);
    ASSERT_EQ(file.large_data.size(), 2u);
    EXPECT_EQ(file.large_data[0].initializer, 1);
    EXPECT_EQ(file.large_data[1].initializer, 3);
    EXPECT_LT(file.message.ByteSizeLong(), 1000u);
    const OnnxImport from_file = import_onnx(path), from_bytes = import_onnx_bytes(bytes, "m.onnx");
    EXPECT_EQ(print(from_file.graph), print(from_bytes.graph));
    for (ValueId id : from_file.graph.constants())
      if (from_file.graph.value(id).label == "w") in_order += from_file.graph.constant(id)->data().is_mapped();
    EXPECT_TRUE(same_constants(from_file.graph, from_bytes.graph)) << shift;
  }
  EXPECT_EQ(in_order, 2u);  // of eight bytes two suit floats
}

TEST(OnnxLargeData, LaterGraphsAndFieldsOfTheModelAreMergedAsProtobufDoes) {
  const TemporaryFolder folder;
  ModelProto more;
  *more.mutable_graph()->add_initializer() =
      to_proto(Tensor::of<float>({5000}, std::vector<float>(5000, 1.5f)), "more");
  const std::string bytes = model_with_weights(1).SerializeAsString() + more.SerializeAsString();
  const ModelFile file = read_model(folder.put("m.onnx", bytes));
  ASSERT_EQ(file.large_data.size(), 3u);
  EXPECT_EQ(file.large_data[2].initializer, 4);
  EXPECT_EQ(file.message.graph().initializer(4).name(), "more");
}

TEST(OnnxLargeData, ModelsOfOtherFieldsAreReadWhole) {
  ModelProto model = model_with_weights(0);
  EXPECT_TRUE(without_large_data(model.SerializeAsString()).has_value());
  TensorProto& weights = *model.mutable_graph()->mutable_initializer(1);
  const std::string raw = weights.raw_data();
  for (size_t i = 0; i < raw.size(); i += 4) {
    float value;
    std::memcpy(&value, raw.data() + i, 4);
    weights.add_float_data(value);
  }
  weights.clear_raw_data();
  EXPECT_FALSE(without_large_data(model.SerializeAsString()).has_value());
  EXPECT_FALSE(without_large_data(std::string(100'000, '\0')).has_value());
}

// The second one counts, as everywhere in protobuf.
TEST(OnnxLargeData, OfATensorThatHasTwoIsLeftToProtobuf) {
  const TemporaryFolder folder;
  ModelProto model = model_with_weights(0);
  TensorProto twice = model.graph().initializer(1);
  std::string other(twice.raw_data().size(), '\0');
  TensorProto second;
  second.set_raw_data(other);
  std::string tensor = twice.SerializeAsString() + second.SerializeAsString(), length;
  for (size_t rest = tensor.size(); rest > 0; rest >>= 7)
    length += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
  const std::string graph_part = "\x2a" + length + tensor;  // field 5
  ModelProto head = model;
  head.mutable_graph()->mutable_initializer()->DeleteSubrange(1, 1);
  std::string graph_length;
  for (size_t rest = graph_part.size(); rest > 0; rest >>= 7)
    graph_length += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
  ModelProto much;
  *much.mutable_graph()->add_initializer() = to_proto(Tensor(DType::f32, {50'000}), "much");
  const std::string bytes = head.SerializeAsString() + "\x3a" + graph_length + graph_part + much.SerializeAsString();
  const ModelFile file = read_model(folder.put("m.onnx", bytes));
  ASSERT_EQ(file.large_data.size(), 2u);  // "ids" and "much"
  EXPECT_EQ(file.message.graph().initializer(3).raw_data(), other);
}

TEST(OnnxLargeData, FaultsOfItsTensorsAreNamedAsIfItWasInTheMessage) {
  const TemporaryFolder folder;
  const auto expect_same = [&](const ModelProto& model, const char* what) {
    const std::string bytes = model.SerializeAsString(), path = folder.put("m.onnx", bytes);
    const std::string from_file = error_of([&] { import_onnx(path); });
    EXPECT_THAT(from_file, HasSubstr(what));
    EXPECT_EQ(from_file, error_of([&] { import_onnx_bytes(bytes, path); }));
  };
  ModelProto model = model_with_weights(3);
  model.mutable_graph()->mutable_initializer(1)->mutable_raw_data()->pop_back();
  expect_same(model, "type and shape take 32768");
  model = model_with_weights(3);
  model.mutable_graph()->mutable_initializer(1)->add_float_data(1);
  expect_same(model, "raw_data and in float_data");
  model = model_with_weights(3);
  model.mutable_graph()->mutable_initializer(1)->set_data_type(TensorProto::STRING);
  expect_same(model, "string_data");
}

// Protobuf and the cutter agree about what is damaged: none is read from the file that bytes refuse.
TEST(OnnxLargeData, DamagedFilesAreRefusedWithTheSameWords) {
  const TemporaryFolder folder;
  const std::string whole = model_with_weights(2).SerializeAsString();
  std::vector<size_t> places;
  for (size_t i = 0; i < whole.size(); ++i)
    if (i < 700 || i + 700 > whole.size() || i % 997 == 0) places.push_back(i);
  const auto error_from = [&](const std::string& bytes, bool from_file) {
    const std::string path = folder / "m.onnx";
    if (from_file) folder.put("m.onnx", bytes);
    try {
      if (from_file) import_onnx(path);
      else import_onnx_bytes(bytes, path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  size_t refused = 0;
  for (const size_t i : places) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    for (const std::string& damaged : {flipped, whole.substr(0, i)}) {
      const std::string want = error_from(damaged, false);
      EXPECT_EQ(error_from(damaged, true), want) << i;
      refused += !want.empty();
    }
  }
  EXPECT_GT(refused, places.size() / 2);
}

}  // namespace
}  // namespace hone::onnx
