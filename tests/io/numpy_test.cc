// .npy and .npz: bytes as NumPy 1.24 writes them, both orders, and damaged files.
#include "io/numpy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(std::string header, std::string_view data, char version = 1) {
  header += '\n';
  std::string out = "\x93NUMPY"s + version + '\0' + static_cast<char>(header.size()) + '\0';
  if (version > 1) out += "\0\0"s;
  return out + header + std::string(data);
}

std::string error_for(const std::string& bytes) {
  return error_of([&] { parse_npy(bytes, "x.npy"); });
}

TEST(Npy, WritesWhatNumpyWrites) {
  const std::string bytes = npy_bytes(Tensor::of<float>({2, 1}, {1.0f, -2.0f}), "x");
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  EXPECT_EQ(bytes, "\x93NUMPY\x01\0\x76\0"s + header + std::string(117 - header.size(), ' ') + "\n" +
                       "\0\0\x80\x3f\0\0\0\xc0"s);
  EXPECT_THAT(npy_bytes(Tensor::of<int8_t>({3}, {1, 2, 3}), "x"),
              HasSubstr("'descr': '|i1', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(npy_bytes(Tensor::scalar<int64_t>(5), "x"), HasSubstr("'shape': (), }"));
}

TEST(Npy, EveryDtypeIsReadBackBitByBit) {
  for (DType d : {DType::boolean, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32,
                  DType::u64, DType::f16, DType::f32, DType::f64})
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {5}, {2, 3, 4}}) {
      Tensor t(d, shape);
      Buffer data(t.data().size());
      for (size_t i = 0; i < data.size(); ++i)
        data.mutable_bytes()[i] = static_cast<std::byte>(d == DType::boolean ? i & 1 : i * 31 + 5);
      t = Tensor(d, shape, std::move(data));
      EXPECT_TRUE(parse_npy(npy_bytes(t, "x"), "x").same_bits(t)) << to_string(d);
    }
}

TEST(Npy, FortranOrderBecomesCOrder) {
  const Tensor t = parse_npy(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"), "x");
  EXPECT_THAT(t.as<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, BigEndianIsSwapped) {
  const Tensor t =
      parse_npy(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", "\x01\x02\xff\xfe"s), "x");
  EXPECT_THAT(t.as<int16_t>(), ElementsAre(0x102, -2));
}

TEST(Npy, LaterVersionsAndKeyOrdersAreRead) {
  for (char version : {2, 3})
    EXPECT_THAT(
        parse_npy(npy("{\"shape\": (1,), 'fortran_order': False, 'descr': '|i1'}", "\x07", version), "x").as<int8_t>(),
        ElementsAre(7));
}

TEST(Npy, WhatIsNoArrayOfNumbersIsRefusedByName) {
  EXPECT_THAT(error_for(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "x")),
              HasSubstr("Python objects"));
  EXPECT_THAT(error_for(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
              HasSubstr("structured"));
  EXPECT_THAT(error_for(npy("{'descr': '<U3', 'fortran_order': False, 'shape': (0,), }", "")),
              HasSubstr("'<U3' is not supported"));
  EXPECT_THAT(error_for(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }", "")),
              HasSubstr("supported: b1"));
  EXPECT_THAT(error_of([] { npy_bytes(Tensor(DType::bf16, {1}), "x"); }), HasSubstr("convert it to f32"));
}

TEST(Npy, DamagedHeadersAreRefused) {
  const std::string good = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "ab");
  ASSERT_EQ(error_for(good), "");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_THAT(error_for(good.substr(0, n)), testing::StartsWith("x.npy")) << n;
  EXPECT_THAT(error_for(good + "c"), HasSubstr("takes 2 bytes, but 3 follow"));
  for (const char* header :
       {"{'descr': '|u1', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (2,), }", "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), } 1",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }", "", "{", "(2,)",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"})
    EXPECT_NE(error_for(npy(header, "ab")), "") << header;
}

TEST(Npz, ArraysAreReadBackInOrder) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"b", Tensor::of<float>({2}, {1, 2})},
                                         {"a", Tensor::of<int64_t>({1, 1}, {-5})}};
  write_npz(folder / "x.npz", tensors);
  const auto back = read_npz(folder / "x.npz");
  ASSERT_EQ(back.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].name, tensors[i].name);
    EXPECT_TRUE(back[i].tensor.same_bits(tensors[i].tensor));
  }
}

TEST(Npz, NoTruncatedOrFlippedArchiveGivesOtherNumbers) {
  const TemporaryFolder folder;
  write_npz(folder / "x.npz", std::vector<NamedTensor>{{"a", Tensor::of<int32_t>({3}, {1, 2, 3})}});
  const std::string whole = content_of(folder / "x.npz");
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(error_of([&] { read_npz(folder.put("cut", whole.substr(0, n))); }), "") << n;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    error_of([&] {
      for (const NamedTensor& t : read_npz(folder.put("flipped", damaged)))
        EXPECT_THAT(t.tensor.as<int32_t>(), ElementsAre(1, 2, 3)) << "byte " << i;
    });
  }
}

// numpy.savez_compressed of {'z': zeros(64, int32)}, NumPy 1.24.
constexpr const char* kDeflated = "tests/data/io/deflated.npz";

TEST(Npz, DeflatedArchivesOfNumpyAreRead) {
  const auto arrays = read_npz(std::string(test::kSourceDir) + "/" + kDeflated);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "z");
  EXPECT_TRUE(arrays[0].tensor.same_bits(Tensor(DType::i32, {64})));
  EXPECT_THAT(arrays[1].tensor.as<float>(), ElementsAre(0.5f, 1.5f));
}

TEST(Npz, ZipBombsAreRefusedBeforeTheyExpand) {
  const TemporaryFolder folder;
  std::string bomb = content_of(std::string(test::kSourceDir) + "/" + kDeflated);
  const size_t directory = bomb.find("PK\x01\x02");
  for (size_t i = 0; i < 3; ++i) bomb[directory + 24 + i] = '\xff';
  bomb[directory + 27] = '\x7f';  // the stated size: 2 GB
  EXPECT_THAT(error_of([&] { read_npz(folder.put("bomb.npz", bomb)); }), HasSubstr("zip bomb"));
}

TEST(Npy, SizesThatNoMemoryHoldsAreRefused) {
  const auto error = [](const std::string& shape, const char* order = "False") {
    return error_for(
        npy("{'descr': '<f4', 'fortran_order': " + std::string(order) + ", 'shape': (" + shape + "), }", ""));
  };
  EXPECT_THAT(error("4611686018427387904, 4"), HasSubstr("overflows"));
  EXPECT_THAT(error("9223372036854775808,"), HasSubstr("too large"));
  EXPECT_THAT(error("4611686018427387904,"), HasSubstr("overflows"));
  EXPECT_THAT(error("1073741824,"), HasSubstr("but 0 follow"));
  EXPECT_EQ(error("1073741824, 1073741824, 1073741824, 0", "True").find("Segmentation"), std::string::npos);
}

TEST(Npy, HasAtMost64Dimensions) {
  std::string shape;
  for (int i = 0; i < 65; ++i) shape += "1,";
  EXPECT_THAT(error_for(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }", "x")),
              HasSubstr("more than 64 dimensions"));
}

TEST(Npy, ABooleanIsZeroOrOne) {
  EXPECT_THAT(error_for(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\1\2")),
              HasSubstr("neither 0 nor 1"));
}

TEST(Npz, ManyArraysAreReadInLinearTime) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 65'000; ++i) tensors.push_back({std::to_string(i), Tensor::scalar<int8_t>(1)});
  write_npz(folder / "many.npz", tensors);
  EXPECT_EQ(read_npz(folder / "many.npz").size(), tensors.size());
}

}  // namespace
}  // namespace hone
