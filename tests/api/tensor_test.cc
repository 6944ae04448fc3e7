// Tensors of include/hone: whose memory they are, and how they cross to other libraries.
#include <hone/dlpack.h>
#include <hone/tensor.h>

#include <array>

#include "tests/api/error_of.h"

namespace {

using api_test::error_of;
using hone::DType;
using hone::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

// An array of another library that counts how often it was given back.
struct Foreign {
  std::array<float, 6> elements{0, 1, 2, 3, 4, 5};
  std::array<int64_t, 2> shape{2, 3}, strides{1, 2};  // columns lie together
  int given_back = 0;
  DLManagedTensorVersioned array{};

  explicit Foreign(uint64_t flags = 0) {
    array.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    array.manager_ctx = this;
    array.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->given_back; };
    array.flags = flags;
    array.dl_tensor = {elements.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
  }
};

TEST(ApiTensor, MemoryOfACallerIsReadWhereItLiesWithItsStrides) {
  std::array<float, 6> elements{0, 1, 2, 3, 4, 5};
  const Tensor columns = Tensor::of_memory(DType::f32, {2, 3}, elements.data(), nullptr, {1, 2});
  EXPECT_EQ(columns.data(), elements.data());
  EXPECT_FALSE(columns.is_row_major());
  EXPECT_THAT(columns.to_floats(), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(error_of([&] { columns.as<float>(); }), HasSubstr("lie apart"));
  const Tensor backwards = Tensor::of_memory(DType::f32, {6}, &elements[5], nullptr, {-1});
  EXPECT_THAT(backwards.to_floats(), ElementsAre(5, 4, 3, 2, 1, 0));
  const Tensor repeated = Tensor::of_memory(DType::f32, {3}, &elements[1], nullptr, {0});
  EXPECT_THAT(repeated.to_floats(), ElementsAre(1, 1, 1));
}

TEST(ApiTensor, AnOwnerLivesAsLongAsTheLastCopy) {
  const auto owner = std::make_shared<std::vector<float>>(4, 2.f);
  {
    const Tensor tensor = Tensor::of_memory(DType::f32, {4}, owner->data(), owner);
    const Tensor copy = tensor, shaped = tensor.reshaped({2, 2});
    EXPECT_GT(owner.use_count(), 1);
    EXPECT_EQ(shaped.data(), owner->data());
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(ApiTensor, WhoWritesASharedOrReadOnlyOneGetsACopy) {
  const std::array<int32_t, 2> elements{7, 8};
  Tensor read_only = Tensor::of_read_only_memory(DType::i32, {2}, elements.data(), nullptr);
  static_cast<int32_t*>(read_only.mutable_data())[0] = 9;
  EXPECT_EQ(elements[0], 7);
  EXPECT_THAT(read_only.as<int32_t>(), ElementsAre(9, 8));

  Tensor first(DType::i32, {2});
  const Tensor second = first;
  static_cast<int32_t*>(first.mutable_data())[0] = 3;
  EXPECT_THAT(second.as<int32_t>(), ElementsAre(0, 0));
}

TEST(ApiTensor, StridesOfDimensionsOfSizeOneDoNotMatter) {
  std::array<float, 2> elements{1, 2};
  const Tensor row = Tensor::of_memory(DType::f32, {1, 2}, elements.data(), nullptr, {99, 1});
  EXPECT_TRUE(row.is_row_major());
  EXPECT_EQ(row.contiguous().data(), elements.data());
  EXPECT_THAT(row.as<float>(), ElementsAre(1, 2));
}

TEST(ApiTensor, BadSizesTypesAndPointersAreRefused) {
  EXPECT_NE(error_of([] { Tensor(DType::f32, {-1}); }), "");
  EXPECT_NE(error_of([] { Tensor(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}); }), "");
  EXPECT_NE(error_of([] { Tensor(static_cast<DType>(99), {1}); }), "");
  EXPECT_THAT(error_of([] { Tensor::of_memory(DType::f32, {2}, nullptr, nullptr); }), HasSubstr("null memory"));
  float one = 1;
  EXPECT_THAT(error_of([&] { Tensor::of_memory(DType::f32, {1}, &one, nullptr, {1, 1}); }), HasSubstr("2 strides"));
  EXPECT_NE(error_of([&] { Tensor::of_memory(DType::f32, {8}, &one, nullptr, {int64_t{1} << 62}); }), "");
  EXPECT_THAT(error_of([] { Tensor(DType::i32, {2}).as<float>(); }), HasSubstr("another type"));
  EXPECT_THAT(error_of([] { Tensor::of_strings({2}, {"a"}); }), HasSubstr("1 strings"));
  EXPECT_THAT(error_of([] { Tensor::of_strings({1}, {"a"}).data(); }), HasSubstr("no plain elements"));
}

TEST(ApiTensor, AnArrayOfDlpackIsTakenOverWithoutACopyAndGivenBackOnce) {
  Foreign foreign;
  {
    const Tensor tensor = Tensor::from_dlpack(&foreign.array);
    const Tensor copy = tensor;
    EXPECT_EQ(tensor.data(), foreign.elements.data());
    EXPECT_THAT(copy.to_floats(), ElementsAre(0, 2, 4, 1, 3, 5));
    EXPECT_EQ(foreign.given_back, 0);
  }
  EXPECT_EQ(foreign.given_back, 1);
}

TEST(ApiTensor, AnArrayThatIsRefusedStaysTheCallers) {
  EXPECT_THAT(error_of([] { Tensor::from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)); }),
              HasSubstr("null pointer"));
  Foreign other_version, other_device, other_type, no_memory;
  other_version.array.version.major = 9;
  other_device.array.dl_tensor.device.device_type = kDLCUDA;
  other_type.array.dl_tensor.dtype = {kDLComplex, 64, 1};
  no_memory.array.dl_tensor.data = nullptr;
  for (Foreign* foreign : {&other_version, &other_device, &other_type, &no_memory}) {
    EXPECT_NE(error_of([&] { Tensor::from_dlpack(&foreign->array); }), "");
    EXPECT_EQ(foreign->given_back, 0);
  }
}

TEST(ApiTensor, ATensorGoesOutWithStridesAndReadOnly) {
  Foreign foreign(DLPACK_FLAG_BITMASK_READ_ONLY);
  DLManagedTensorVersioned* out = Tensor::from_dlpack(&foreign.array).to_dlpack();
  EXPECT_EQ(out->dl_tensor.data, foreign.elements.data());
  EXPECT_EQ(out->dl_tensor.strides[1], 2);
  EXPECT_TRUE(out->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(foreign.given_back, 0);
  out->deleter(out);
  EXPECT_EQ(foreign.given_back, 1);
  EXPECT_THAT(error_of([] { Tensor::of_strings({1}, {"a"}).to_dlpack(); }), HasSubstr("DLPack"));

  const Tensor alone(DType::f32, {2});
  DLManagedTensorVersioned* writable = alone.to_dlpack();
  EXPECT_FALSE(writable->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  const Tensor copy = alone;
  DLManagedTensorVersioned* shared = alone.to_dlpack();
  EXPECT_TRUE(shared->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  shared->deleter(shared);
  writable->deleter(writable);
}

}  // namespace
