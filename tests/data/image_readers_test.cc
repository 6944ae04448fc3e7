// Data sets of images and arrays: layouts of files and folders, and damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/reader.h"
#include "data/readers/parse.h"
#include "io/numpy.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/write_image.h"

namespace hone {
namespace {

using test::grey_png;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Rows = std::vector<int64_t>;

std::string big_endian(std::vector<uint32_t> sizes) {
  std::string out;
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  return out;
}
std::string idx(std::vector<uint32_t> sizes, const std::string& values) {
  return std::string{0, 0, 8, static_cast<char>(sizes.size())} + big_endian(sizes) + values;
}

TEST(Idx, AFolderHasPairsOfFilesForTrainingAndTest) {
  const TemporaryFolder folder;
  folder.put("train-images-idx3-ubyte", idx({2, 1, 2}, "\x01\x02\x03\x04"));
  folder.put("train-labels-idx1-ubyte", idx({2}, "\x02\x01"));
  folder.put("t10k-images-idx3-ubyte", idx({1, 1, 2}, "\x05\x06"));
  folder.put("t10k-labels-idx1-ubyte", idx({1}, "\x03"));
  const Dataset data = read_dataset(folder.path());
  EXPECT_EQ(data.rows, 3);
  EXPECT_EQ(data.split("train").size(), 2u);
  const int64_t row = data.split("test")[0];
  EXPECT_EQ(data.images.read(row).shape(), (Rows{1, 1, 2}));
  EXPECT_THAT(data.images.read(row).to_integers(), ElementsAre(5, 6));
  const auto& labels = std::get<ClassLabels>(data.labels);
  EXPECT_THAT(labels.names, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(labels.ids[static_cast<size_t>(row)], 3);
  EXPECT_EQ(data.where(row), folder / "t10k-images-idx3-ubyte:1");
}

TEST(Idx, OneFileFindsItsLabels) {
  const TemporaryFolder folder;
  const std::string path = folder.put("train-images-idx3-ubyte", idx({1, 1, 1}, "\x09"));
  EXPECT_EQ(error_of([&] { read_dataset(path); }),
            path + ": there is no file of its labels, " + folder / "train-labels-idx1-ubyte");
  folder.put("train-labels-idx1-ubyte", idx({1}, "\x01"));
  const Dataset data = read_dataset(path, {.classes = {"shirt", "bag"}});
  EXPECT_THAT(data.splits, IsEmpty());
  EXPECT_THAT(std::get<ClassLabels>(data.labels).names, ElementsAre("shirt", "bag"));
  const auto unknown = std::get<ClassLabels>(read_dataset(path, {.classes = {"shirt"}}).labels).unknown;
  EXPECT_THAT(unknown, ElementsAre(testing::Pair(0, "1")));
}

std::string idx_error(const std::string& images, const std::string& labels) {
  const auto bytes = [](const std::string& text) { return FileBytes{nullptr, std::as_bytes(std::span(text))}; };
  return error_of([&] { parse_idx(bytes(images), bytes(labels), "i", "l", {}); });
}

TEST(Idx, DamagedFilesAreErrors) {
  const std::string images = idx({2, 1, 1}, "ab"), labels = idx({2}, "\1\1");
  EXPECT_EQ(idx_error(images, labels), "");
  for (size_t keep = 0; keep < images.size(); ++keep)
    EXPECT_THAT(idx_error(images.substr(0, keep), labels), HasSubstr("i: ")) << keep;
  EXPECT_EQ(idx_error(images + "c", labels),
            "i: 2 values are stated (2 x 1 x 1), but 3 bytes follow the header; it may be cut short");
  EXPECT_EQ(idx_error(images, idx({1}, "\1")), "l: has 1 labels, but i has 2 images");
  EXPECT_EQ(idx_error(labels, labels), "i: has 1 axes; 3 are expected");
  EXPECT_THAT(idx_error(idx({0xffffffff, 0xffffffff, 0xffffffff}, ""), labels), HasSubstr("overflows"));
  std::string floats = images;
  floats[2] = 0x0d;
  EXPECT_EQ(idx_error(floats, labels), "i: elements of type 0x0d; unsigned bytes (0x08) are read");
  EXPECT_THAT(idx_error("text", labels), HasSubstr("not an IDX file"));
}

std::string cifar_record(std::initializer_list<char> labels, char pixel) {
  return std::string(labels) + std::string(1024, pixel) + std::string(1024, 'g') + std::string(1024, 'b');
}

TEST(Cifar, TenHasFilesOfRecordsAndNames) {
  const TemporaryFolder folder;
  folder.put("data_batch_1.bin", cifar_record({1}, 'r') + cifar_record({0}, 'r'));
  folder.put("data_batch_2.bin", cifar_record({1}, 's'));
  folder.put("test_batch.bin", cifar_record({0}, 't'));
  folder.put("batches.meta.txt", "airplane\nautomobile\n\n");
  const Dataset data = read_dataset(folder.path());
  EXPECT_EQ(data.split("train").size(), 3u);
  EXPECT_THAT(data.split("test"), ElementsAre(3));
  const Tensor image = data.images.read(2);
  EXPECT_EQ(image.shape(), (Rows{3, 32, 32}));
  EXPECT_EQ(image.as<uint8_t>()[0], 's');
  EXPECT_EQ(image.as<uint8_t>()[1024], 'g');
  const auto& labels = std::get<ClassLabels>(data.labels);
  EXPECT_THAT(labels.names, ElementsAre("airplane", "automobile"));
  EXPECT_THAT(labels.ids, ElementsAre(1, 0, 1, 0));
  folder.put("data_batch_2.bin", "short");
  EXPECT_EQ(
      error_of([&] { read_dataset(folder.path()); }),
      folder / "data_batch_2.bin: 5 bytes are no whole number of records of 3073; it may be cut short in record 1");
}

TEST(Cifar, AHundredHasTwoKindsOfLabels) {
  const TemporaryFolder folder;
  folder.put("train.bin", cifar_record({7, 3}, 'r'));
  folder.put("test.bin", cifar_record({8, 4}, 'r'));
  EXPECT_THAT(std::get<ClassLabels>(read_dataset(folder.path()).labels).ids, ElementsAre(4, 3)) << "test.bin is first";
  EXPECT_THAT(std::get<ClassLabels>(read_dataset(folder.path(), {.label = "coarse"}).labels).ids, ElementsAre(8, 7));
  EXPECT_THAT(error_of([&] { read_dataset(folder.path(), {.label = "rough"}); }), HasSubstr("has fine and coarse"));
}

TEST(ImageFolder, FoldersAreClassesAndImagesAreDecodedWhenAskedFor) {
  const TemporaryFolder folder;
  folder.put("b/2.PNG", grey_png(2, 3, 20));
  folder.put("b/1.png", grey_png(1, 1, 10));
  folder.put("a/x.jpeg", "no image");
  folder.put("a/notes.txt", "");
  folder.put("a/.hidden.png", "");
  const Dataset data = read_dataset(folder.path(), {.channels = 1});
  EXPECT_EQ(data.rows, 3);
  const auto& labels = std::get<ClassLabels>(data.labels);
  EXPECT_THAT(labels.names, ElementsAre("a", "b"));
  EXPECT_THAT(labels.ids, ElementsAre(0, 1, 1));
  EXPECT_EQ(data.images.read(2).shape(), (Rows{1, 2, 3}));
  EXPECT_EQ(data.where(1), folder / "b/1.png");
  EXPECT_THAT(error_of([&] { data.images.read(0); }), HasSubstr(folder / "a/x.jpeg: begins like no image"));
}

TEST(ImageFolder, SplitsMayStandAboveTheClasses) {
  const TemporaryFolder folder;
  folder.put("train/a/1.png", grey_png(1, 1, 1));
  folder.put("train/b/1.png", grey_png(1, 1, 2));
  folder.put("val/b/1.png", grey_png(1, 1, 3));
  const Dataset data = read_dataset(folder.path());
  EXPECT_THAT(data.split("train"), ElementsAre(0, 1));
  EXPECT_THAT(data.split("validation"), ElementsAre(2));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(0, 1, 1));
  EXPECT_EQ(data.images.channels, 3);
  const TemporaryFolder empty;
  EXPECT_THAT(error_of([&] { read_dataset(empty.path(), {.format = "images"}); }),
              HasSubstr("has no folders with .png"));
}

TEST(AclImdb, AFileIsATextAndFoldersAreClasses) {
  const TemporaryFolder folder;
  folder.put("train/pos/10_9.txt", "Good.<br /><br />Very.");
  folder.put("train/pos/0_7.txt", "Fine.");
  folder.put("train/neg/0_1.txt", "Bad.");
  folder.put("train/unsup/0_0.txt", "Nobody knows.");
  folder.put("test/pos/0_9.txt", "Great.");
  folder.put("test/neg/0_2.txt", "Poor.");
  const Dataset data = read_dataset(folder.path());
  EXPECT_THAT(data.texts, ElementsAre("Bad.", "Fine.", "Good.\n\nVery.", "Poor.", "Great."));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(0, 1, 1, 0, 1));
  EXPECT_THAT(data.split("test"), ElementsAre(3, 4));
  EXPECT_EQ(data.where(1), folder / "train/pos/0_7.txt");
  std::filesystem::remove(folder / "test/neg/0_2.txt");
  EXPECT_EQ(error_of([&] { read_dataset(folder.path()); }), folder / "test/neg: has no .txt files");
}

Dataset npz(std::vector<NamedTensor> arrays, const DataOptions& options = {}) {
  return dataset_of_arrays(std::move(arrays), "a.npz", options);
}
std::string npz_error(std::vector<NamedTensor> arrays, const DataOptions& options = {}) {
  return error_of([&] { npz(std::move(arrays), options); });
}

TEST(Npz, AClassMinus100IsNotKnown) {
  const auto labels = std::get<ClassLabels>(npz({{"label", Tensor::of<int64_t>({3}, {1, -100, 0})}}).labels);
  EXPECT_EQ(labels.ids, (std::vector<int64_t>{1, kIgnoredLabel, 0}));
  EXPECT_EQ(labels.names, (std::vector<std::string>{"0", "1"}));
  ASSERT_EQ(labels.unknown.size(), 1u);
  EXPECT_EQ(labels.unknown[0], std::pair(int64_t{1}, std::string("-100")));
}

TEST(Npz, PlacesHaveClassesOfTheirOwnAndThoseMinus100DoNotCount) {
  const Tensor ids = Tensor::of<int64_t>({2, 3}, {2, -100, 0, 1, 1, -100});
  const auto labels = std::get<TokenLabels>(npz({{"y", ids}}).labels);
  EXPECT_EQ(labels.ids, (std::vector<std::vector<int64_t>>{{2, -100, 0}, {1, 1, -100}}));
  EXPECT_EQ(labels.names.size(), 3u);
  EXPECT_TRUE(labels.unknown.empty());
  EXPECT_THAT(npz_error({{"labels", ids}}), HasSubstr("--label labels that each place has a class of its own"));
}

TEST(Npz, SeveralClassesAreZerosAndOnesOfAnyTypeAndMinus100WhereNothingIsKnown) {
  for (const DType dtype : {DType::i64, DType::i8, DType::f32}) {
    const Tensor ones = Tensor::of<float>({2, 3}, {1, 0, -100, 0, 0, 1}).converted(dtype);
    const auto labels = std::get<MultiLabels>(npz({{"m", ones}}, {.labels = "m"}).labels);
    EXPECT_EQ(labels.ids, (std::vector<std::vector<int64_t>>{{0}, {2}}));
    EXPECT_EQ(labels.ignored, (std::vector<std::vector<int64_t>>{{2}, {}}));
  }
}

TEST(Npz, ArraysAreInputsImagesAndAnswers) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> arrays{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                                        {"y", Tensor::of<int64_t>({2}, {1, 0})},
                                        {"group", Tensor::of<int32_t>({2}, {40, 30})}};
  write_npz(folder / "a.npz", arrays);
  const Dataset data = read_dataset(folder / "a.npz");
  ASSERT_EQ(data.arrays.size(), 1u);
  EXPECT_EQ(data.arrays[0].name, "x");
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(1, 0));
  EXPECT_THAT(data.groups, ElementsAre(1, 0));
  EXPECT_EQ(data.where(1), folder / "a.npz:2");
  EXPECT_EQ(std::get<Targets>(npz({{"t", Tensor::of<float>({1, 2}, {5, 6})}}, {.target = "t"}).labels).width, 2);
  const Dataset several = npz({{"m", Tensor::of<uint8_t>({2, 2}, {0, 1, 1, 1})}}, {.labels = "m"});
  EXPECT_THAT(std::get<MultiLabels>(several.labels).ids, ElementsAre(ElementsAre(1), ElementsAre(0, 1)));
}

TEST(Npz, ImagesAreBytesInEitherOrderOfAxes) {
  const auto read = [](Rows shape) {
    const auto count = static_cast<size_t>(element_count(shape));
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(i);
    return npz({{"images", Tensor::of<uint8_t>(shape, values)}}).images.read(1);
  };
  EXPECT_EQ(read({2, 2, 2}).shape(), (Rows{1, 2, 2}));
  EXPECT_THAT(read({2, 2, 2}).to_integers(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(read({2, 3, 1, 2}).to_integers(), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(read({2, 1, 2, 3}).shape(), ElementsAre(1, 2, 3)) << "one channel";
  EXPECT_THAT(read({2, 2, 2, 3}).to_integers(), ElementsAre(12, 15, 18, 21, 13, 16, 19, 22, 14, 17, 20, 23));
}

TEST(Npz, NumbersCalledImagesAreAnInputOfThatName) {
  const Dataset data = npz({{"images", Tensor::of<float>({2, 1, 1, 1}, {0.5f, -1})}});
  EXPECT_FALSE(data.images);
  ASSERT_EQ(data.arrays.size(), 1u);
  EXPECT_EQ(data.arrays[0].name, "images");
}

TEST(Npz, WhatDoesNotFitIsNamed) {
  const NamedTensor x{"x", Tensor::of<float>({2}, {1, 2})}, one{"y", Tensor::of<int64_t>({1}, {1})};
  EXPECT_EQ(npz_error({x, one}), "a.npz: array \"y\" has 1 rows, but \"x\" has 2");
  EXPECT_EQ(npz_error({}), "a.npz: holds no arrays");
  EXPECT_EQ(npz_error({x}, {.label = "z"}), "a.npz: has no array \"z\" (--label); its arrays are x");
  EXPECT_EQ(npz_error({x}, {.label = "x"}),
            "a.npz: array \"x\" is f32[2]; classes are integers [rows] (numbers to predict are a target: --target)");
  EXPECT_EQ(npz_error({{"label", Tensor::of<int64_t>({1}, {-1})}}),
            "a.npz: class numbers from -1 to -1; 0 to 65535 are accepted, and -100 where none is known");
  EXPECT_EQ(npz_error({{"x", Tensor::scalar(1.f)}}),
            "a.npz: array \"x\" is a single number; its first axis must count rows");
  EXPECT_THAT(npz_error({{"images", Tensor::of<uint8_t>({1, 1}, {1})}}), HasSubstr("array \"images\" is u8[1,1]"));
  EXPECT_THAT(npz_error({{"m", Tensor::of<uint8_t>({1, 1}, {2})}}, {.labels = "m"}), HasSubstr("holds 2 in row 1"));
  EXPECT_THAT(npz_error({x}, {.label = "x", .target = "x"}), HasSubstr("more than one of"));
}

}  // namespace
}  // namespace hone
