// Tensors of ONNX messages: every spelling of every type, without a copy where there need be none, and nothing
// allocated for what a message merely says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "io/onnx/data_type.h"
#include "io/onnx/tensors.h"
#include "tests/io/temporary_folder.h"

namespace hone::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kNumbers[] = {DType::boolean, DType::i8,         DType::i16,    DType::i32,      DType::i64,
                              DType::u8,      DType::u16,        DType::u32,    DType::u64,      DType::f16,
                              DType::bf16,    DType::f32,        DType::f64,    DType::f8e4m3fn, DType::f8e4m3fnuz,
                              DType::f8e5m2,  DType::f8e5m2fnuz, DType::f4e2m1, DType::i4,       DType::u4,
                              DType::f8e8m0,  DType::i2,         DType::u2,     DType::f6e2m3,   DType::f6e3m2};

// The i-th byte of a tensor that has all kinds of bytes that its type can have.
std::byte sample(DType dtype, int64_t i) {
  if (dtype == DType::boolean) return static_cast<std::byte>(i & 1);
  if (dtype == DType::i4) return static_cast<std::byte>(i % 16 - 8);
  if (dtype == DType::u4 || dtype == DType::f4e2m1) return static_cast<std::byte>(i % 16);
  if (dtype == DType::i2) return static_cast<std::byte>(i % 4 - 2);
  if (dtype == DType::u2) return static_cast<std::byte>(i % 4);
  if (dtype == DType::f6e2m3 || dtype == DType::f6e3m2) return static_cast<std::byte>(i * 37 % 64);
  return static_cast<std::byte>(i * 37 + 11);
}

TensorProto message(int32_t data_type, const std::vector<int64_t>& dims, std::string_view raw = {}) {
  TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(data_type);
  proto.mutable_dims()->Add(dims.begin(), dims.end());
  if (!raw.empty()) proto.set_raw_data(std::string(raw));
  return proto;
}

std::string error_for(TensorProto proto) {
  return error_of([&] { tensor_of(std::move(proto), {"m.onnx"}); });
}

TEST(OnnxTensor, EveryDtypeComesBackBitByBit) {
  for (DType dtype : kNumbers)
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 5}, {}, {0, 4}}) {
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < tensor.bytes(); ++i) tensor.mutable_data()[i] = sample(dtype, i);
      const TensorProto proto = to_proto(tensor, "w");
      EXPECT_EQ(proto.name(), "w");
      EXPECT_TRUE(tensor_of(TensorProto(proto), {"m.onnx"}).same_bits(tensor)) << to_string(tensor.type());
    }
  const Tensor strings = Tensor::strings({2}, {"ünï", std::string("a\0b", 3)});
  EXPECT_TRUE(tensor_of(to_proto(strings, ""), {"m.onnx"}).same_bits(strings));
}

TEST(OnnxTensor, EveryDtypeHasOneNumber) {
  for (DType dtype : kNumbers) EXPECT_EQ(dtype_of(data_type_of(dtype), ""), dtype);
  EXPECT_EQ(data_type_of(DType::f32), TensorProto::FLOAT);
  EXPECT_EQ(data_type_of(DType::bf16), TensorProto::BFLOAT16);
  EXPECT_EQ(data_type_of(DType::string), TensorProto::STRING);
}

TEST(OnnxTensor, SmallTypesStandInInt32Data) {
  for (DType dtype : {DType::boolean, DType::i8, DType::i16, DType::i32, DType::u8, DType::u16}) {
    TensorProto proto = message(data_type_of(dtype), {2});
    for (int32_t value : {0, 1}) proto.add_int32_data(value);
    EXPECT_THAT(tensor_of(std::move(proto), {"m.onnx"}).to_integers(), ElementsAre(0, 1)) << to_string(dtype);
  }
  for (DType dtype : {DType::f16, DType::bf16}) {
    TensorProto proto = message(data_type_of(dtype), {1});
    proto.add_int32_data(0xc000);  // -2 in both
    EXPECT_THAT(tensor_of(std::move(proto), {"m.onnx"}).to_floats(), ElementsAre(-2)) << to_string(dtype);
  }
}

TEST(OnnxTensor, WideTypesStandInFieldsOfTheirOwn) {
  TensorProto f32 = message(TensorProto::FLOAT, {1}), f64 = message(TensorProto::DOUBLE, {1});
  TensorProto i64 = message(TensorProto::INT64, {1}), u32 = message(TensorProto::UINT32, {1});
  TensorProto u64 = message(TensorProto::UINT64, {1});
  f32.add_float_data(0.5f);
  f64.add_double_data(0.1);
  i64.add_int64_data(INT64_MIN);
  u32.add_uint64_data(UINT32_MAX);
  u64.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(tensor_of(std::move(f32), {""}).as<float>()[0], 0.5f);
  EXPECT_EQ(tensor_of(std::move(f64), {""}).as<double>()[0], 0.1);
  EXPECT_EQ(tensor_of(std::move(i64), {""}).as<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(tensor_of(std::move(u32), {""}).as<uint32_t>()[0], UINT32_MAX);
  EXPECT_EQ(tensor_of(std::move(u64), {""}).as<uint64_t>()[0], UINT64_MAX);
}

TEST(OnnxTensor, FourBitTypesAreTwoAByteWithTheFirstInTheLowBits) {
  for (const auto& [type, values] : {std::pair{TensorProto::INT4, std::vector<int64_t>{1, -2, -8}},
                                     {TensorProto::UINT4, std::vector<int64_t>{1, 14, 8}}}) {
    const TensorProto raw = message(type, {3}, "\xe1\x08");
    EXPECT_EQ(tensor_of(TensorProto(raw), {""}).to_integers(), values);
    EXPECT_EQ(to_proto(tensor_of(TensorProto(raw), {""}), "w").raw_data(), raw.raw_data());
    TensorProto typed = message(type, {3});
    for (int32_t pair : {0xe1, 0x08}) typed.add_int32_data(pair);
    EXPECT_EQ(tensor_of(std::move(typed), {""}).to_integers(), values);
    EXPECT_THAT(error_for(message(type, {3}, "abc")), HasSubstr("has 3 bytes; type and shape take 2"));
  }
  EXPECT_THAT(tensor_of(message(TensorProto::FLOAT4E2M1, {2}, "\xf2"), {""}).to_floats(), ElementsAre(1, -6));
}

TEST(OnnxTensor, TwoBitTypesAreFourAByte) {
  for (const auto& [type, values] : {std::pair{TensorProto::INT2, std::vector<int64_t>{0, 1, -2, -1, 1}},
                                     {TensorProto::UINT2, std::vector<int64_t>{0, 1, 2, 3, 1}}}) {
    const TensorProto raw = message(type, {5}, "\xe4\x01");
    EXPECT_EQ(tensor_of(TensorProto(raw), {""}).to_integers(), values);
    EXPECT_EQ(to_proto(tensor_of(TensorProto(raw), {""}), "w").raw_data(), raw.raw_data());
    TensorProto typed = message(type, {5});
    for (int32_t four : {0xe4, 0x01}) typed.add_int32_data(four);
    EXPECT_EQ(tensor_of(std::move(typed), {""}).to_integers(), values);
  }
}

// 1, 2, 4, -1 of e2m3 are the codes 8, 16, 24, 40: 0x08 | 0x10 << 6 | 0x18 << 12 | 0x28 << 18.
TEST(OnnxTensor, SixBitTypesAreFourInThreeBytesAndOneANumber) {
  const TensorProto raw = message(TensorProto::FLOAT6E2M3, {5}, {"\x08\x84\xa1\x08", 4});
  EXPECT_THAT(tensor_of(TensorProto(raw), {""}).to_floats(), ElementsAre(1, 2, 4, -1, 1));
  EXPECT_EQ(to_proto(tensor_of(TensorProto(raw), {""}), "w").raw_data(), raw.raw_data());
  TensorProto typed = message(TensorProto::FLOAT6E3M2, {2});
  for (int32_t code : {12, 63}) typed.add_int32_data(code);
  EXPECT_THAT(tensor_of(TensorProto(typed), {""}).to_floats(), ElementsAre(1, -28));
  typed.set_int32_data(1, 64);
  EXPECT_THAT(error_for(typed), HasSubstr("element 1 is 64, which its type can't hold"));
}

TEST(OnnxTensor, PowersOfTwoAreOneAByte) {
  const TensorProto raw = message(TensorProto::FLOAT8E8M0, {3}, {"\x7f\x82\x00", 3});
  EXPECT_THAT(tensor_of(TensorProto(raw), {""}).to_floats(), ElementsAre(1, 8, 0x1p-127f));
}

TEST(OnnxTensor, EightBitFloatsAreOneAByte) {
  TensorProto typed = message(TensorProto::FLOAT8E4M3FN, {1});
  typed.add_int32_data(0xb8);
  EXPECT_THAT(tensor_of(std::move(typed), {""}).to_floats(), ElementsAre(-1));
  EXPECT_THAT(tensor_of(message(TensorProto::FLOAT8E5M2, {2}, "\x3c\xbc"), {""}).to_floats(), ElementsAre(1, -1));
}

TEST(OnnxTensor, BytesAreMovedNotCopied) {
  TensorProto raw = message(TensorProto::FLOAT, {1024}, std::string(4096, '\1'));
  const void* const raw_bytes = raw.raw_data().data();
  EXPECT_EQ(tensor_of(std::move(raw), {""}).data().bytes().data(), raw_bytes);

  TensorProto typed = message(TensorProto::FLOAT, {1024});
  typed.mutable_float_data()->Resize(1024, 0.5f);
  const void* const floats = typed.float_data().data();
  EXPECT_EQ(tensor_of(std::move(typed), {""}).data().bytes().data(), floats);
}

TEST(OnnxTensor, WritingToAMovedTensorLeavesItsCopiesAlone) {
  Tensor a = tensor_of(message(TensorProto::UINT8, {2}, "ab"), {""});
  const Tensor b = a;
  a.mutable_as<uint8_t>()[0] = 0;
  EXPECT_EQ(b.as<uint8_t>()[0], 'a');
}

TEST(OnnxTensor, AnyByteButZeroIsTrue) {
  const Tensor tensor = tensor_of(message(TensorProto::BOOL, {3}, {"\0\2\xff", 3}), {""});
  EXPECT_THAT(tensor.to_integers(), ElementsAre(0, 1, 1));
}

TEST(OnnxTensor, UnsupportedTypesAreNamed) {
  EXPECT_THAT(error_for(message(TensorProto::COMPLEX64, {1})),
              HasSubstr("m.onnx: tensor \"w\": complex64 is not supported; supported: float, uint8,"));
  EXPECT_THAT(error_for(message(TensorProto::COMPLEX128, {1})), HasSubstr("complex128 is not supported"));
  EXPECT_THAT(error_for(message(TensorProto::UNDEFINED, {1})), HasSubstr("undefined is not supported"));
  for (int32_t unknown : {29, 1000, -1, INT32_MIN})
    EXPECT_THAT(error_for(message(unknown, {1})), HasSubstr(fmt::format("data type {} is not supported", unknown)));
}

TEST(OnnxTensor, WrongDimensionsAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, {2, -1}, "abcd")), HasSubstr("[2,-1] has a negative dimension"));
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, {1LL << 40, 1LL << 40}, "abcd")),
              HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, {1LL << 61}, "abcd")), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(error_for(message(TensorProto::UINT8, {INT64_MAX}, "abcd")),
              HasSubstr("has 4 bytes; type and shape take"));
  EXPECT_THAT(error_for(message(TensorProto::STRING, {1LL << 50})), HasSubstr("has 0 elements"));
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, std::vector<int64_t>(65, 1), "abcd")), HasSubstr("65 dimensions"));
  EXPECT_EQ(tensor_of(message(TensorProto::FLOAT, {0, 1LL << 40}), {""}).elements(), 0);
}

TEST(OnnxTensor, DataOfAnotherSizeIsRefused) {
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, {2}, "1234567")), HasSubstr("has 7 bytes; type and shape take 8"));
  EXPECT_THAT(error_for(message(TensorProto::FLOAT, {2})), HasSubstr("has 0 bytes; type and shape take 8"));
  TensorProto typed = message(TensorProto::FLOAT, {2});
  typed.add_float_data(1);
  EXPECT_THAT(error_for(typed), HasSubstr("has 1 numbers; type and shape take 2"));
  typed.set_dims(0, 0);
  EXPECT_THAT(error_for(typed), HasSubstr("has 1 numbers; type and shape take 0"));
}

TEST(OnnxTensor, ElementsInTheWrongFieldAreRefused) {
  TensorProto both = message(TensorProto::FLOAT, {1}, "abcd");
  both.add_float_data(1);
  EXPECT_THAT(error_for(both), HasSubstr("float elements are in raw_data and in float_data"));
  TensorProto misplaced = message(TensorProto::FLOAT, {1});
  misplaced.add_int32_data(1);
  EXPECT_THAT(error_for(misplaced), HasSubstr("in int32_data; expected them in raw_data or in float_data"));
  EXPECT_THAT(error_for(message(TensorProto::STRING, {1}, "a")), HasSubstr("expected them in string_data"));
  TensorProto segment = message(TensorProto::UINT8, {1}, "a");
  segment.mutable_segment()->set_end(1);
  EXPECT_THAT(error_for(segment), HasSubstr("segment"));
  TensorProto elsewhere = message(TensorProto::UINT8, {1}, "a");
  elsewhere.set_data_location(2);
  EXPECT_THAT(error_for(elsewhere), HasSubstr("data_location is 2"));
}

TEST(OnnxTensor, NumbersThatTheTypeCannotHoldAreRefused) {
  const std::pair<TensorProto::DataType, int32_t> cases[] = {{TensorProto::INT8, 128},
                                                             {TensorProto::UINT8, -1},
                                                             {TensorProto::INT16, 40000},
                                                             {TensorProto::FLOAT16, 65536},
                                                             {TensorProto::BFLOAT16, -1}};
  for (const auto& [type, value] : cases) {
    TensorProto proto = message(type, {2});
    proto.add_int32_data(0);
    proto.add_int32_data(value);
    EXPECT_THAT(error_for(proto), HasSubstr(fmt::format("element 1 is {}, which its type can't hold", value)));
  }
  TensorProto u32 = message(TensorProto::UINT32, {1});
  u32.add_uint64_data(1ULL << 32);
  EXPECT_THAT(error_for(u32), HasSubstr("element 0 is 4294967296"));
}

SparseTensorProto sparse(const Tensor& values, const Tensor& indices, const std::vector<int64_t>& dims) {
  SparseTensorProto proto;
  *proto.mutable_values() = to_proto(values, "s");
  *proto.mutable_indices() = to_proto(indices, "");
  proto.mutable_dims()->Add(dims.begin(), dims.end());
  return proto;
}

TEST(OnnxSparseTensor, BecomesDense) {
  const Tensor values = Tensor::of<float>({2}, {5, 7}), dense = Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 7});
  const Tensor linear = Tensor::of<int64_t>({2}, {1, 5}), coordinates = Tensor::of<int64_t>({2, 2}, {0, 1, 1, 2});
  EXPECT_TRUE(tensor_of(sparse(values, linear, {2, 3}), {""}).same_bits(dense));
  EXPECT_TRUE(tensor_of(sparse(values, coordinates, {2, 3}), {""}).same_bits(dense));
  const Tensor none(DType::f32, {0}), no_indices(DType::i64, {0});
  EXPECT_TRUE(tensor_of(sparse(none, no_indices, {2}), {""}).same_bits(Tensor(DType::f32, {2})));
}

TEST(OnnxSparseTensor, WhatDoesNotFitIsRefused) {
  const Tensor values = Tensor::of<float>({2}, {5, 7});
  const auto error = [&](const Tensor& indices, const std::vector<int64_t>& dims) {
    return error_of([&] { tensor_of(sparse(values, indices, dims), {"m.onnx"}); });
  };
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {1, 6}), {2, 3}),
              HasSubstr("m.onnx: sparse tensor \"s\": index 6 is outside of the shape [2,3]"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {-1, 1}), {2, 3}), HasSubstr("index -1 is outside"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2, 2}, {0, 3, 1, 0}), {2, 3}), HasSubstr("index 3 is outside"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {1, 1}), {2, 3}), HasSubstr("do not ascend at value 1"));
  EXPECT_THAT(error(Tensor::of<int64_t>({3}, {0, 1, 2}), {2, 3}), HasSubstr("expected i64[2] or i64[2,2]"));
  EXPECT_THAT(error(Tensor::of<int32_t>({2}, {0, 1}), {2, 3}), HasSubstr("its indices are i32[2]"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {0, 1}), {1LL << 30}), HasSubstr("bytes of zeros"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {0, 1}), {1LL << 62, 4}), HasSubstr("more than 2^63"));
  EXPECT_THAT(error(Tensor::of<int64_t>({2}, {0, 1}), {-2}), HasSubstr("negative"));
}

}  // namespace
}  // namespace hone::onnx
