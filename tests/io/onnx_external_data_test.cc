// External data: weights beside the model are mapped and shared; no path, size or link makes a model read anything
// else.
#include "io/onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "io/onnx/tensors.h"
#include "tests/io/temporary_folder.h"

namespace hone::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Entries = std::vector<std::pair<std::string, std::string>>;

TensorProto message(TensorProto::DataType data_type, int64_t size, const Entries& entries) {
  TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(data_type);
  proto.add_dims(size);
  proto.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    StringStringEntryProto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return proto;
}

// A model's folder with "abcdefgh" in w.data and in sub/w.data.
struct OnnxExternalData : testing::Test {
  OnnxExternalData() {
    folder.put("w.data", "abcdefgh");
    folder.put("sub/w.data", "abcdefgh");
  }
  Tensor read(TensorProto proto) { return tensor_of(std::move(proto), {"m.onnx", &external}); }
  std::string error(const Entries& entries) {
    return error_of([&] { read(message(TensorProto::UINT8, 4, entries)); });
  }
  TemporaryFolder folder;
  ExternalData external{folder / "m.onnx"};
};

TEST_F(OnnxExternalData, IsReadAtItsOffset) {
  const Tensor tensor =
      read(message(TensorProto::UINT8, 2, {{"location", "w.data"}, {"offset", "3"}, {"length", "2"}}));
  EXPECT_THAT(tensor.to_integers(), ElementsAre('d', 'e'));
  EXPECT_TRUE(tensor.data().is_mapped());
  EXPECT_EQ(read(message(TensorProto::UINT8, 8, {{"location", "sub/w.data"}})).to_integers().back(), 'h');
  EXPECT_EQ(read(message(TensorProto::UINT8, 0, {{"location", "w.data"}, {"offset", "8"}})).elements(), 0);
  EXPECT_EQ(read(message(TensorProto::UINT8, 1, {{"location", "w.data"}, {"checksum", "?"}})).elements(), 1);
}

TEST_F(OnnxExternalData, TensorsOfAFileShareOneMappingThatOutlivesTheReader) {
  std::vector<Tensor> tensors;
  {
    ExternalData short_lived(folder / "m.onnx");
    for (const char* offset : {"0", "4"})
      tensors.push_back(tensor_of(message(TensorProto::FLOAT, 1, {{"location", "w.data"}, {"offset", offset}}),
                                  {"m.onnx", &short_lived}));
  }
  EXPECT_EQ(tensors[1].data().bytes().data(), tensors[0].data().bytes().data() + 4);
  EXPECT_EQ(std::to_integer<char>(tensors[1].data().bytes()[0]), 'e');
}

TEST_F(OnnxExternalData, MisalignedBytesAreCopiedAndBooleansChecked) {
  const Tensor misaligned = read(message(TensorProto::FLOAT, 1, {{"location", "w.data"}, {"offset", "1"}}));
  EXPECT_FALSE(misaligned.data().is_mapped());
  EXPECT_EQ(std::to_integer<char>(misaligned.data().bytes()[0]), 'b');
  EXPECT_THAT(read(message(TensorProto::BOOL, 2, {{"location", "w.data"}})).to_integers(), ElementsAre(1, 1));
}

TEST_F(OnnxExternalData, CopiesAreBoundedByTheFile) {
  const Entries misaligned{{"location", "w.data"}, {"offset", "1"}};
  read(message(TensorProto::FLOAT, 1, misaligned));
  read(message(TensorProto::FLOAT, 1, misaligned));
  EXPECT_THAT(error_of([&] { read(message(TensorProto::FLOAT, 1, misaligned)); }), HasSubstr("again and again"));
  for (int i = 0; i < 1000; ++i) read(message(TensorProto::FLOAT, 2, {{"location", "w.data"}}));  // shared: no copies
}

TEST_F(OnnxExternalData, PathsOutOfTheFolderAreRefused) {
  const std::string outside = std::filesystem::path(folder.path()).filename().string() + "/w.data";
  for (const std::string& location : {folder / "w.data", std::string("../") + outside, std::string("sub/../w.data"),
                                      std::string(".."), std::string(""), std::string("sub//w.data"),
                                      std::string("sub/"), std::string("/"), std::string("w.data\0x", 8)})
    EXPECT_THAT(error({{"location", location}}), HasSubstr("expected a file below the model's folder")) << location;
  EXPECT_THAT(error({}), HasSubstr("expected a file below the model's folder"));
}

TEST_F(OnnxExternalData, NoLinkIsFollowed) {
  std::filesystem::create_symlink("w.data", folder / "link");
  std::filesystem::create_directory_symlink("sub", folder / "folder_link");
  std::filesystem::create_hard_link(folder / "w.data", folder / "hard");
  EXPECT_THAT(error({{"location", "link"}}), HasSubstr("link is a symbolic link"));
  EXPECT_THAT(error({{"location", "folder_link/w.data"}}), HasSubstr("folder_link is a symbolic link or not a folder"));
  EXPECT_THAT(error({{"location", "hard"}}), HasSubstr("hard link"));
  EXPECT_THAT(error({{"location", "w.data"}}), HasSubstr("hard link"));  // the other name of the same file
}

TEST_F(OnnxExternalData, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error({{"location", "pipe"}}), HasSubstr("not a regular file"));
  EXPECT_THAT(error({{"location", "sub"}}), HasSubstr("not a regular file"));
  EXPECT_THAT(error({{"location", "."}}), HasSubstr("not a regular file"));
  EXPECT_THAT(error({{"location", "w.data/x"}}), HasSubstr("w.data is a symbolic link or not a folder"));
  EXPECT_THAT(error({{"location", "absent"}}), HasSubstr("No such file"));
}

TEST_F(OnnxExternalData, RangesAreWithinTheFile) {
  const auto at = [&](const char* offset) { return error({{"location", "w.data"}, {"offset", offset}}); };
  EXPECT_EQ(at("4"), "");
  EXPECT_THAT(at("5"), HasSubstr("4 bytes at offset 5 of"));
  EXPECT_THAT(at("9"), HasSubstr("may be truncated"));
  EXPECT_THAT(at("18446744073709551615"), HasSubstr("may be truncated"));
  EXPECT_THAT(error({{"location", "w.data"}, {"length", "5"}}), HasSubstr("has 5 bytes; type and shape take 4"));
  EXPECT_THAT(error_of([&] {
                read(message(TensorProto::UINT8, INT64_MAX, {{"location", "w.data"}, {"offset", "1"}}));
              }),
              HasSubstr("may be truncated"));
}

TEST_F(OnnxExternalData, NumbersAreDecimalAndKeysAppearOnce) {
  for (const char* offset : {"-1", "+1", " 1", "1 ", "0x1", "1.0", "", "18446744073709551616"})
    EXPECT_THAT(error({{"location", "w.data"}, {"offset", offset}}), HasSubstr("expected a number of bytes")) << offset;
  EXPECT_THAT(error({{"location", "w.data"}, {"location", "sub/w.data"}}), HasSubstr("\"location\" is given twice"));
}

TEST_F(OnnxExternalData, MayNotAccompanyOtherData) {
  TensorProto both = message(TensorProto::UINT8, 4, {{"location", "w.data"}});
  both.set_raw_data("abcd");
  EXPECT_THAT(error_of([&] { read(both); }), HasSubstr("raw_data and in external_data"));
  TensorProto unsaid = message(TensorProto::UINT8, 4, {{"location", "w.data"}});
  unsaid.clear_data_location();
  EXPECT_THAT(error_of([&] { read(unsaid); }), HasSubstr("are in external_data; expected them in raw_data"));
  EXPECT_THAT(error_of([&] {
                tensor_of(message(TensorProto::UINT8, 4, {{"location", "w.data"}}), {"x.pb"});
              }),
              HasSubstr("x.pb: tensor \"w\": its data is in another file"));
}

TEST_F(OnnxExternalData, AFileBeyondTwoGigabytesWithManyTensorsIsRead) {
  const std::string path = folder.put("large.data", "");
  constexpr int64_t kTensor = 1 << 20, kTensors = 5000;  // 5.2 GB, of which the file system stores one page
  ASSERT_EQ(::truncate(path.c_str(), kTensor * kTensors), 0);
  ASSERT_EQ(::truncate(path.c_str(), kTensor * kTensors - 1), 0);
  std::ofstream(path, std::ios::binary | std::ios::app) << '\7';
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < kTensors; ++i)
    tensors.push_back(read(
        message(TensorProto::UINT8, kTensor, {{"location", "large.data"}, {"offset", std::to_string(i * kTensor)}})));
  EXPECT_EQ(tensors.back().as<uint8_t>().back(), 7);
}

}  // namespace
}  // namespace hone::onnx
