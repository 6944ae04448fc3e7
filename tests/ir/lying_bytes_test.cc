// Bytes where they lie: in a file on any byte, or in order where no file has them so.
#include <gtest/gtest.h>

#include "ir/lying_bytes.h"
#include "tests/support/mapped_weight.h"

namespace hone::test {
namespace {

Tensor few() { return Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(LyingBytes, AreTheFilesOnAnyByteAndNoCopyIsMade) {
  for (const size_t shift : {size_t{0}, size_t{1}, size_t{4}}) {
    const MappedWeight weight(few(), shift);
    const Buffer& buffer = weight.tensor().data();
    const bool lies_elsewhere = buffer.source().has_value();
    EXPECT_EQ(lies_elsewhere, shift == 1);
    EXPECT_EQ(lying_bytes(buffer).data(), weight.begin() + shift);
    EXPECT_EQ(bytes_in_file(buffer).data(), weight.begin() + shift);
    EXPECT_TRUE(weight.tensor().same_bits(few()));
    EXPECT_EQ(buffer.source().has_value(), lies_elsewhere);
  }
}

TEST(LyingBytes, ByColumnsAreInOrderInACopyBesideTheFile) {
  const MappedWeight weight(few(), 1);
  const Buffer transposed = weight.tensor().data().transposed(2, 3, 4);
  EXPECT_EQ(bytes_in_file(transposed).data(), weight.begin() + 1);
  const std::span<const std::byte> bytes = lying_bytes(transposed);
  EXPECT_EQ(Tensor(DType::f32, {3, 2}, transposed).to_floats(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(bytes.data(), transposed.bytes().data());
  EXPECT_TRUE(bytes_in_file(transposed).empty()) << "who has a copy reads that";
}

TEST(LyingBytes, OfMemoryAreInNoFile) {
  const Tensor tensor = few();
  EXPECT_EQ(lying_bytes(tensor.data()).data(), tensor.data().bytes().data());
  EXPECT_TRUE(bytes_in_file(tensor.data()).empty());
}

}  // namespace
}  // namespace hone::test
