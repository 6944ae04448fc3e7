#include "ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/ir/test_ops.h"

namespace hone {
namespace {

TEST(Tensor, CopiesShareBytesUntilWritten) {
  Tensor a = Tensor::of<float>({2}, {1, 2});
  Tensor b = a;
  EXPECT_EQ(a.data().bytes().data(), b.data().bytes().data());
  b.mutable_as<float>()[0] = 7;
  EXPECT_EQ(a.as<float>()[0], 1);
  EXPECT_EQ(b.as<float>()[0], 7);
}

TEST(Tensor, IsAlignedToCacheLines) {
  for (int64_t n : {1, 3, 100})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor(DType::f32, {n}).data().bytes().data()) % 64, 0u);
}

TEST(Tensor, RefusesAccessAsAnotherType) {
  const Tensor t = Tensor::of<float>({1}, {1});
  EXPECT_THROW(t.as<int32_t>(), Bug);
  EXPECT_THROW(Tensor::of<float>({2}, {1}), Bug);
  EXPECT_THROW(Tensor(DType::f32, {int64_t{1} << 62}), Error);
}

TEST(Tensor, ConvertsByTheExpressionRules) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({6}, {1.9f, -1.9f, 3e9f, -3e9f, NAN, inf});
  EXPECT_EQ(x.converted(DType::i32).to_integers(),
            (std::vector<int64_t>{1, -1, 2147483647, -2147483648, 0, 2147483647}));
  EXPECT_EQ(x.converted(DType::i8).to_integers(), (std::vector<int64_t>{1, -1, 127, -128, 0, 127}));
  EXPECT_EQ(x.converted(DType::u8).to_integers(), (std::vector<int64_t>{1, 0, 255, 0, 0, 255}));
  EXPECT_EQ(x.converted(DType::boolean).to_integers(), (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Tensor::of<int32_t>({2}, {300, -1}).converted(DType::u8).to_integers(), (std::vector<int64_t>{44, 255}));
}

TEST(Tensor, RoundsToSixteenBitFloats) {
  const std::vector<float> values{1.f, 1.00390625f, 65520.f, -0.f};
  EXPECT_EQ(Tensor::from_floats(DType::bf16, {4}, values).to_floats(), (std::vector<float>{1.f, 1.f, 65536.f, -0.f}));
  const std::vector<float> half = Tensor::from_floats(DType::f16, {4}, values).to_floats();
  EXPECT_EQ(half[1], 1.00390625f);
  EXPECT_TRUE(std::isinf(half[2]));
  EXPECT_TRUE(std::signbit(half[3]));
}

// More than are converted at a time, the last of them fewer.
TEST(Tensor, ManyValuesAreRoundedOneByOne) {
  std::vector<double> values(150'001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 3;
  const std::vector<float> rounded = Tensor::from_doubles(DType::f32, {150'001}, values).to_floats();
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(rounded[i], static_cast<float>(values[i])) << i;
  const std::vector<int64_t> whole =
      Tensor::from_doubles(DType::i32, {3, 50'000}, std::span(values).first(150'000)).to_integers();
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i], static_cast<int64_t>(values[i])) << i;
  EXPECT_THROW(Tensor::from_doubles(DType::string, {1}, std::vector<double>{1}), Error);
  EXPECT_EQ(Tensor::from_doubles(DType::f32, {0, 2}, {}).elements(), 0);
}

TEST(Tensor, EveryDtypeConvertsToEveryOther) {
  for (int from = 0; from < static_cast<int>(DType::string); ++from)
    for (int to = 0; to < static_cast<int>(DType::string); ++to) {
      const Tensor one = Tensor::of<float>({3}, {0, 1, 1}).converted(static_cast<DType>(from));
      const Tensor t = one.converted(static_cast<DType>(to));
      EXPECT_EQ(t.dtype(), static_cast<DType>(to));
      EXPECT_EQ(t.to_doubles(), (std::vector<double>{0, 1, 1}));
    }
}

TEST(Tensor, PacksAndUnpacks) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, -0.5f, 0.25f, 2, 0, -1});
  const Tensor packed = pack(parse_format("mxint8"), x);
  EXPECT_TRUE(packed.is_packed());
  EXPECT_EQ(to_string(packed.type()), "mxint8[2,3]");
  EXPECT_EQ(unpack(packed).to_floats(), x.to_floats());
  EXPECT_EQ(packed.to_floats(), x.to_floats());
  EXPECT_EQ(packed.bytes(), 2 * (32 + 1));  // a row is padded to a whole group
  EXPECT_FALSE(pack(parse_format("bf16"), x).is_packed());
  EXPECT_EQ(pack(parse_format("bf16"), x).dtype(), DType::bf16);
  EXPECT_THROW(pack(parse_format("mxint8"), Tensor::of<int32_t>({1}, {1})), Error);
}

TEST(Tensor, HasNoNumbersInStrings) {
  const Tensor s = Tensor::strings({2}, {"a", "b"});
  EXPECT_THROW(s.to_floats(), Error);
  EXPECT_THROW(s.to_integers(), Error);
  EXPECT_TRUE(s.same_bits(Tensor::strings({2}, {"a", "b"})));
  EXPECT_FALSE(s.same_bits(Tensor::strings({2}, {"a", "c"})));
}

TEST(Tensor, SameBitsTellsZerosApart) {
  EXPECT_FALSE(Tensor::scalar(0.f).same_bits(Tensor::scalar(-0.f)));
  EXPECT_FALSE(Tensor::scalar(0.f).same_bits(Tensor::of<float>({1}, {0})));
  EXPECT_TRUE(Tensor::scalar(NAN).same_bits(Tensor::scalar(NAN)));
}

TEST(Type, PrintsWhatItParses) {
  for (const char* text :
       {"f32[B,S,384]", "i64[]", "bool[3]", "mxint8[30522,384]", "int4.g128[(S+1)/2,8]", "string[2]"})
    EXPECT_EQ(to_string(parse_type(text)), text);
  EXPECT_EQ(parse_type("fp16[2]").dtype, DType::f16);
  EXPECT_FALSE(parse_type("fp16[2]").is_packed());
  for (const char* text : {"f33[2]", "f32[2", "f32[2,]", "f32[2]x", ""}) EXPECT_THROW(parse_type(text), Error) << text;
}

}  // namespace
}  // namespace hone
