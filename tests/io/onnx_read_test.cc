// Model files: what is whole is read, and what is damaged, hostile or of another kind is refused with its place.
#include "io/onnx/read_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "io/onnx/message_file.h"
#include "io/onnx/tensor_messages.h"
#include "io/onnx/tensors.h"
#include "tests/io/onnx_testdata.h"
#include "tests/io/temporary_folder.h"

namespace hone::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

ModelProto small_model() {
  ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("hone");
  GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  *graph.add_initializer() = to_proto(Tensor::of<float>({2, 2}, {1, 2, 3, 4}), "w");
  NodeProto& node = *graph.add_node();
  node.set_op_type("Add");
  for (const char* name : {"x", "w"}) node.add_input(name);
  node.add_output("y");
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("shape");
  attribute.set_type(AttributeProto::INTS);
  for (int64_t size : {2, -1}) attribute.add_ints(size);
  graph.add_input()->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("B");
  model.add_opset_import()->set_version(17);
  return model;
}

// A field of bytes: a tag, a length, the bytes.
std::string field(uint32_t number, std::string_view content) {
  const auto varint = [](uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
    return bytes += static_cast<char>(value);
  };
  return varint(number << 3 | 2) + varint(content.size()) + std::string(content);
}

std::string error_for(std::string_view bytes) {
  return error_of([&] { parse_model(bytes, "m.onnx"); });
}

TEST(OnnxRead, EveryModelAndTensorOfTheTestDataIsRead) {
  const std::vector<std::string> paths = files_below(kTestdata, ".onnx");
  size_t tensors = 0;
  for (const std::string& path : paths) {
    ModelProto model = read_model(path).message;
    EXPECT_GT(model.graph().node_size(), 0) << path;
    for (TensorProto* proto : tensor_messages(model).dense) {
      const std::vector<int64_t> shape(proto->dims().begin(), proto->dims().end());
      EXPECT_EQ(tensor_of(std::move(*proto), {path}).shape(), shape);
      ++tensors;
    }
  }
  EXPECT_GE(paths.size(), 1000u);
  EXPECT_GE(tensors, 300u);
}

TEST(OnnxRead, AModelIsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string bytes = small_model().SerializeAsString();
  EXPECT_EQ(read_model(folder.put("m.onnx", bytes)).message.SerializeAsString(), bytes);
}

TEST(OnnxRead, FieldsOfNewerVersionsSurvive) {
  const std::string bytes = small_model().SerializeAsString() + field(26, "devices");
  EXPECT_EQ(parse_model(bytes, "m.onnx").SerializeAsString(), bytes);
}

// Protobuf has no end mark: what is cut between two fields of the model is a model with fewer fields, and all else is
// an Error.
TEST(OnnxRead, NoTruncatedModelIsReadUnlessItIsWholeFields) {
  const std::string whole = small_model().SerializeAsString();
  size_t read = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string cut = whole.substr(0, n);
    try {
      EXPECT_EQ(parse_model(cut, "m.onnx").SerializeAsString(), cut);
      ++read;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), StartsWith("m.onnx: ")) << n << " bytes";
    }
  }
  EXPECT_EQ(read, 1u);  // behind the graph, without the operator sets
}

TEST(OnnxRead, FlippedBitsAreRefusedOrGiveTensorsOfTheirOwnSize) {
  const std::string whole = small_model().SerializeAsString();
  size_t refused = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      ModelProto model = parse_model(damaged, "m.onnx");
      for (TensorProto* proto : tensor_messages(model).dense) tensor_of(std::move(*proto), {"m.onnx"});
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), StartsWith("m.onnx: ")) << "bit " << bit;
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size());  // of eight flips per byte, more than one
}

TEST(OnnxRead, OtherFilesAreCalledWhatTheyAre) {
  const TemporaryFolder folder;
  const std::pair<std::string_view, const char*> cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"},
      {"<!DOCTYPE html>\n<html></html>", "an HTML or XML page"},
      {"{\"layers\": []}", "a JSON file"},
      {"some notes on the model\n", "a text file"},
      {"PK\3\4rest", "a zip archive"},
      {{"\x40\0\0\0\0\0\0\0{\"w\":{}}", 15}, "a safetensors file"},
      {{"\x1c\0\0\0TFL3\0\0", 10}, "a TensorFlow Lite model"},
      {"GGUF\3", "a GGUF file"},
  };
  for (const auto& [content, kind] : cases) {
    const std::string path = folder.put("x.onnx", content);
    EXPECT_THAT(error_of([&] { read_model(path); }), AllOf(StartsWith(path), HasSubstr(kind)));
  }
}

TEST(OnnxRead, WhatIsNoModelIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { read_model(folder.put("x", "")); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { read_model(folder.path()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { read_model(folder / "absent"); }), HasSubstr("can't open"));
  ModelProto model = small_model();
  model.clear_graph();
  EXPECT_THAT(error_for(model.SerializeAsString()), HasSubstr("has no graph"));
  for (int64_t version : {int64_t{0}, int64_t{-1}, int64_t{100}, INT64_MAX}) {
    model = small_model();
    model.set_ir_version(version);
    EXPECT_THAT(error_for(model.SerializeAsString()), HasSubstr(fmt::format("IR version is {}", version)));
  }
}

TEST(OnnxRead, AFileOfTwoGigabytesIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.put("x.onnx", "");
  ASSERT_EQ(::truncate(path.c_str(), int64_t{1} << 31), 0);
  EXPECT_THAT(error_of([&] { read_model(path); }), AllOf(HasSubstr("2.15 GB"), HasSubstr("save_as_external_data")));
}

TEST(OnnxRead, TheErrorNamesTheByteThatBreaks) {
  const std::string model = small_model().SerializeAsString();
  const std::string head = model.substr(0, model.find("hone") + 4);  // the version and the producer
  EXPECT_THAT(
      error_for(head + "\x3a\x20\x0a"),
      HasSubstr(fmt::format("byte {}: field 7 of ModelProto says that it has 32 bytes, but 1 follow", head.size())));
  EXPECT_THAT(error_for(head + field(7, field(1,
                                              "\x22\x05"
                                              "Add"))),
              HasSubstr(fmt::format("byte {}: field 4 of NodeProto says that it has 5 bytes, but 3", head.size() + 4)));
  EXPECT_THAT(error_for(head + "\x3e"), HasSubstr("wire type 6"));
  EXPECT_THAT(error_for(head + std::string(1, '\0')), HasSubstr("number 0"));
  EXPECT_THAT(error_for(head + "\x3a" + std::string(11, '\xff')), HasSubstr("the length of field 7 of ModelProto"));
}

TEST(OnnxRead, AbsurdLengthsAllocateNothing) {
  const std::string lengths[] = {"\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                 "\x80\x80\x80\x80\x08"};
  for (const std::string& length : lengths)
    for (const char* path : {"\x3a", "\x3a\x10\x2a", "\x3a\x10\x2a\x0e\x4a"})  // graph, tensor, its raw_data
      EXPECT_THAT(error_for(path + length + "abcdefgh"),
                  StartsWith("m.onnx: not a readable ModelProto of ONNX: byte "));
}

// Each level of a graph in an attribute of a node is three messages.
TEST(OnnxRead, NestingIsBounded) {
  const auto nested = [](int graphs) {
    std::string graph = field(2, "innermost");
    for (int i = 1; i < graphs; ++i) graph = field(1, field(5, field(6, graph)));
    return "\x08\x08" + field(7, graph);
  };
  EXPECT_EQ(error_for(nested(34)), "");  // 1 + 33 · 3 messages below the model
  EXPECT_THAT(error_for(nested(35)), HasSubstr("101 messages are nested"));
  EXPECT_THAT(error_for(nested(10'000)), HasSubstr("at most 100"));

  std::string type = field(1, "");
  for (int i = 0; i < 10'000; ++i) type = field(4, field(1, type));
  EXPECT_THAT(error_for("\x08\x08" + field(7, field(11, field(2, type)))), HasSubstr("101 messages are nested"));
}

}  // namespace
}  // namespace hone::onnx
