// Elements that lie elsewhere in another order: read in order by whoever asks for bytes, and as they lie by who can.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace hone {
namespace {

// A matrix whose byte b of element (r, c) is 7r + 31c + b, column by column or row by row, `shift` bytes behind a
// cache line.
Buffer lying(int64_t rows, int64_t columns, int64_t element_bytes, bool by_columns, size_t shift = 0) {
  const auto size = static_cast<size_t>(rows * columns * element_bytes);
  const auto owner = std::make_shared<Buffer>(Buffer::uninitialised(size + shift));
  std::byte* to = owner->mutable_bytes().data() + shift;
  const int64_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t i = 0; i < length; ++i)
      for (int64_t b = 0; b < element_bytes; ++b)
        *to++ = static_cast<std::byte>((by_columns ? 7 * i + 31 * line : 7 * line + 31 * i) + b);
  return Buffer::of_source({.owner = owner,
                            .bytes = owner->bytes().subspan(shift),
                            .rows = rows,
                            .columns = columns,
                            .element_bytes = element_bytes,
                            .by_columns = by_columns});
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

TEST(BufferSource, BytesAreInOrderFromAnyByteForEveryElementSize) {
  for (const int64_t size : {1, 2, 4, 8})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 130}, {67, 5}, {129, 300}})
      for (const size_t shift : {size_t{0}, size_t{1}, size_t{4}}) {
        const Buffer want = lying(rows, columns, size, false);
        for (const bool by_columns : {false, true}) {
          const Buffer buffer = lying(rows, columns, size, by_columns, shift);
          EXPECT_EQ(buffer.size(), want.bytes().size());
          EXPECT_TRUE(same(buffer.bytes(), want.bytes())) << rows << "x" << columns << " " << size << " " << shift;
          EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % static_cast<size_t>(size), 0u);
          EXPECT_EQ(buffer.address(), buffer.bytes().data());
        }
      }
}

// 4100 x 600 floats are put in order in several pieces.
TEST(BufferSource, LargeMatricesArePutInOrderWhole) {
  for (const bool by_columns : {false, true})
    EXPECT_TRUE(same(lying(4100, 600, 4, by_columns, 1).bytes(), lying(4100, 600, 4, false).bytes()));
}

TEST(BufferSource, IsThereUntilBytesAreAskedForInAnyCopy) {
  const Buffer buffer = lying(3, 5, 4, true), copy = buffer;
  ASSERT_TRUE(buffer.source().has_value());
  EXPECT_TRUE(buffer.source()->by_columns);
  const std::byte* const first = copy.bytes().data();
  EXPECT_FALSE(buffer.source().has_value());
  EXPECT_EQ(buffer.bytes().data(), first);
}

TEST(BufferSource, WhatIsInOrderIsReadWhereItLies) {
  const auto owner = std::make_shared<Buffer>(Buffer(24));
  const Buffer buffer = Buffer::of_source({.owner = owner, .bytes = owner->bytes(), .columns = 6, .element_bytes = 4});
  EXPECT_FALSE(buffer.source().has_value());
  EXPECT_EQ(buffer.bytes().data(), owner->bytes().data());
}

TEST(BufferSource, TwoExchangesOfTheAxesAreNone) {
  const Tensor matrix(DType::f32, {3, 5}, Buffer::copy_of(lying(3, 5, 4, false).bytes()));
  const Buffer once = matrix.data().transposed(3, 5, 4), twice = once.transposed(5, 3, 4);
  EXPECT_EQ(twice.bytes().data(), matrix.data().bytes().data());
  EXPECT_TRUE(once.source().has_value());  // nobody put it in order for that
  for (int64_t r = 0; r < 5; ++r)
    for (int64_t c = 0; c < 3; ++c)
      EXPECT_EQ(std::memcmp(once.bytes().data() + (r * 3 + c) * 4, matrix.data().bytes().data() + (c * 5 + r) * 4, 4),
                0);
}

TEST(BufferSource, AnExchangeOfOtherAxesThanThoseThatLieApartIsRight) {
  const Buffer by_columns = lying(4, 6, 2, true);
  const Buffer other = by_columns.transposed(8, 3, 2);  // the same elements as a matrix of another shape
  const Buffer want = Buffer::copy_of(lying(4, 6, 2, false).bytes()).transposed(8, 3, 2);
  EXPECT_TRUE(same(other.bytes(), want.bytes()));
}

// Memory of callers may change after the call, and be written by the next kernel.
TEST(BufferSource, TransposedMemoryOfACallerIsACopy) {
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 0.f);
  const Tensor view(DType::f32, {2, 3}, Buffer(nullptr, std::as_bytes(std::span(values))));
  const Tensor transposed(DType::f32, {3, 2}, view.data().transposed(2, 3, 4));
  std::ranges::fill(values, 9.f);
  EXPECT_EQ(transposed.to_floats(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(BufferSource, WhatIsWrittenLaterDoesNotChangeATransposedCopy) {
  Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor transposed(DType::f32, {2, 2}, x.data().transposed(2, 2, 4));
  x.mutable_as<float>()[1] = 7;
  EXPECT_EQ(transposed.to_floats(), (std::vector<float>{1, 3, 2, 4}));
  Tensor written = transposed;
  written.mutable_as<float>()[0] = 8;
  EXPECT_EQ(written.to_floats(), (std::vector<float>{8, 3, 2, 4}));
  EXPECT_EQ(transposed.to_floats(), (std::vector<float>{1, 3, 2, 4}));
}

TEST(BufferSource, IsConvertedAsItLies) {
  for (const bool by_columns : {false, true}) {
    const Tensor x(DType::f32, {5, 3}, lying(5, 3, 4, by_columns, 1));
    const Tensor want = Tensor(DType::f32, {5, 3}, lying(5, 3, 4, false)).converted(DType::bf16);
    const Tensor converted = x.converted(DType::bf16);
    EXPECT_TRUE(x.data().source().has_value());
    EXPECT_EQ(converted.data().source().has_value(), by_columns);
    EXPECT_TRUE(converted.same_bits(want));
  }
}

TEST(BufferSource, ThreadsThatAskAtOnceGetTheSameBytes) {
  for (int round = 0; round < 20; ++round) {
    const Buffer buffer = lying(129, 300, 4, true);
    std::array<const std::byte*, 4> first{};
    std::vector<std::thread> threads;
    for (const std::byte*& at : first) threads.emplace_back([&] { at = buffer.bytes().data(); });
    for (std::thread& thread : threads) thread.join();
    for (const std::byte* at : first) EXPECT_EQ(at, buffer.bytes().data());
  }
}

TEST(BufferSource, OnlyWhatLiesInAFileInOrderHasItsAddressThere) {
  const auto owner = std::make_shared<Buffer>(Buffer(25));
  Buffer::Source source{.owner = owner, .bytes = owner->bytes().subspan(1), .columns = 6, .element_bytes = 4};
  const Buffer heap = Buffer::of_source(source);
  EXPECT_NE(heap.unaligned_address(), source.bytes.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(heap.unaligned_address()) % 4, 0u);
}

TEST(BufferSource, OfAnotherSizeIsABug) {
  const auto owner = std::make_shared<Buffer>(Buffer(24));
  EXPECT_THROW(Buffer::of_source({.owner = owner, .bytes = owner->bytes(), .columns = 5, .element_bytes = 4}), Bug);
}

}  // namespace
}  // namespace hone
