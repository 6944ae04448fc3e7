// Values in files of their own, as the test data has them: tensors, sequences and optionals.
#include "io/onnx/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "io/onnx/data_type.h"
#include "io/onnx/message_file.h"
#include "io/onnx/read_model.h"
#include "io/onnx/tensors.h"
#include "tests/io/onnx_testdata.h"
#include "tests/io/temporary_folder.h"

namespace hone::onnx {
namespace {

using testing::HasSubstr;

TensorType type_of(const TypeProto& type) {
  const auto dtype = [](const TypeProto& tensor) { return dtype_of(tensor.tensor_type().elem_type(), ""); };
  const auto item = [](const TypeProto& sequence) { return sequence.sequence_type().elem_type(); };
  if (type.has_tensor_type()) return TensorType::unranked(dtype(type));
  if (type.has_sequence_type()) return TensorType::of(Container::sequence, dtype(item(type)));
  const TypeProto inside = type.optional_type().elem_type();
  if (inside.has_sequence_type()) return TensorType::of(Container::optional_sequence, dtype(item(inside)));
  return TensorType::of(Container::optional, dtype(inside));
}

// Reads test_data_set_*/<stem>_<i>.pb beside the model for each of its inputs or outputs, and counts by container.
void read_values(const std::filesystem::path& folder, const std::string& stem,
                 const google::protobuf::RepeatedPtrField<ValueInfoProto>& infos, std::map<Container, int>& counts) {
  for (const auto& set : std::filesystem::directory_iterator(folder))
    for (int i = 0; i < infos.size(); ++i) {
      const std::string path = (set.path() / fmt::format("{}_{}.pb", stem, i)).string();
      if (!std::filesystem::exists(path)) continue;
      const TensorType type = type_of(infos[i].type());
      const Tensor value = read_tensor_file(path, type);
      const bool bits = type.dtype == DType::bf16 && value.dtype() == DType::u16;  // as ONNX 1.12 wrote bfloat16
      EXPECT_TRUE(value.dtype() == type.dtype || bits) << path << ": " << to_string(value.type());
      EXPECT_EQ(value.container(), type.container) << path;
      ++counts[value.container()];
    }
}

TEST(OnnxTensorFile, EveryValueOfTheTestDataIsReadAsItsModelDeclaresIt) {
  std::map<Container, int> counts;
  for (const std::string& path : files_below(kTestdata, ".onnx")) {
    const ModelProto model = read_model(path).message;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    read_values(folder, "input", model.graph().input(), counts);
    read_values(folder, "output", model.graph().output(), counts);
  }
  int files = 0;
  for (const auto& [container, count] : counts) files += count;
  EXPECT_EQ(files, static_cast<int>(files_below(kTestdata, ".pb").size()));
  EXPECT_GT(counts[Container::sequence], 20);
  EXPECT_GT(counts[Container::optional] + counts[Container::optional_sequence], 5);
}

const Tensor kOneTwo = Tensor::of<float>({2}, {1, 2});

std::string error_for(const Message& proto, const TensorType& like) {
  return error_of([&] { parse_tensor_file(proto.SerializeAsString(), "x.pb", like); });
}

TEST(OnnxTensorFile, ContainersHoldWhatTheFileHolds) {
  SequenceProto sequence;
  for (int i = 0; i < 2; ++i) *sequence.add_tensor_values() = to_proto(kOneTwo, "");
  const TensorType type = TensorType::of(Container::sequence, DType::f32);
  const Tensor read = parse_tensor_file(sequence.SerializeAsString(), "", type);
  EXPECT_TRUE(read.same_bits(Tensor::sequence(DType::f32, {kOneTwo, kOneTwo})));
  EXPECT_EQ(parse_tensor_file("", "", type).items().size(), 0u);

  OptionalProto optional;
  EXPECT_EQ(parse_tensor_file("", "", TensorType::of(Container::optional, DType::f32)).items().size(), 0u);
  *optional.mutable_tensor_value() = to_proto(kOneTwo, "");
  EXPECT_TRUE(parse_tensor_file(optional.SerializeAsString(), "", TensorType::of(Container::optional, DType::f32))
                  .items()[0]
                  .same_bits(kOneTwo));
  optional.clear_tensor_value();
  *optional.mutable_sequence_value() = sequence;
  EXPECT_TRUE(
      parse_tensor_file(optional.SerializeAsString(), "", TensorType::of(Container::optional_sequence, DType::f32))
          .items()[0]
          .same_bits(read));
}

TEST(OnnxTensorFile, ValuesOfAnotherKindAreRefused) {
  SequenceProto sequence;
  *sequence.add_tensor_values() = to_proto(kOneTwo, "");
  EXPECT_THAT(error_for(sequence, TensorType::of(Container::sequence, DType::i64)),
              HasSubstr("x.pb: item 0 is f32[2]; expected i64"));
  sequence.add_map_values();
  EXPECT_THAT(error_for(sequence, TensorType::of(Container::sequence, DType::f32)),
              HasSubstr("items that are no tensors"));
  OptionalProto optional;
  *optional.mutable_tensor_value() = to_proto(kOneTwo, "");
  EXPECT_THAT(error_for(optional, TensorType::of(Container::optional, DType::i64)),
              HasSubstr("holds f32[2]; expected i64"));
  EXPECT_THAT(error_for(optional, TensorType::of(Container::optional_sequence, DType::f32)),
              HasSubstr("holds a value of another kind; expected seq(f32) or nothing"));
}

// An optional that holds an optional, ten thousand times.
TEST(OnnxTensorFile, NestingIsBounded) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) {
    std::string length;
    size_t n = bytes.size();
    for (; n >= 128; n >>= 7) length += static_cast<char>(n | 128);
    length += static_cast<char>(n);
    bytes = "\x3a" + length + bytes;
  }
  EXPECT_THAT(error_of([&] { parse_tensor_file(bytes, "x.pb", TensorType::of(Container::optional, DType::f32)); }),
              HasSubstr("101 messages are nested"));
}

}  // namespace
}  // namespace hone::onnx
