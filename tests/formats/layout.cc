// Lines, groups and padding (docs/FORMATS.md, sections 3.4 and 3.5).
#include <gtest/gtest.h>

#include <numeric>

#include "formats/bits.h"
#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

std::string code_of_error(const char* format, const FormatShape& shape) {
  try {
    packed_layout(parse_format(format), shape);
  } catch (const FormatError& error) {
    return error.code;
  }
  return "none";
}

TEST(Layout, GroupsPadTheTailOfALine) {
  const PackedLayout p = packed_layout(parse_format("mxint4"), FormatShape{3, 37});
  EXPECT_EQ(p.lines, 3);
  EXPECT_EQ(p.line_elems, 37);
  EXPECT_EQ(p.padded_elems, 64);
  EXPECT_EQ(p.line_bytes, 32);
  EXPECT_EQ(p.groups_per_line, 2);
  EXPECT_EQ(p.groups, 6);
  EXPECT_EQ(p.group_elems, 32);
}

TEST(Layout, TilesPadRowsAndColumns) {
  const PackedLayout p = packed_layout(parse_format("int4.g2x8"), FormatShape{2, 5, 13});
  EXPECT_EQ(p.lines, 10);
  EXPECT_EQ(p.padded_lines, 12);
  EXPECT_EQ(p.padded_elems, 16);
  EXPECT_EQ(p.groups_per_line, 2);
  EXPECT_EQ(p.groups, 12);  // 2 matrices of 3 x 2 tiles
  EXPECT_EQ(p.group_elems, 16);
}

TEST(Layout, AGroupAlongTheFirstAxisTakesColumns) {
  // Two columns with different magnitudes: each gets its own scale.
  const Format format = parse_format("mxint8.ax0");
  const FormatShape shape{2, 2};
  const std::vector<float> x{1, 8, 0.5f, 4};
  const Planes planes = pack(format, shape, x);
  EXPECT_EQ(scale_codes_of(format, shape, golden::view(planes)), (std::vector<uint32_t>{127, 130}));
  EXPECT_EQ(codes_of(format, shape, golden::view(planes)), (std::vector<uint32_t>{64, 64, 32, 32}));
}

TEST(Layout, AxesThatDoNotExistAreRefused) {
  EXPECT_EQ(code_of_error("mxint8.ax2", {3, 4}), "E_AXIS");
  EXPECT_EQ(code_of_error("mxint8.ax-3", {3, 4}), "E_AXIS");
  EXPECT_EQ(code_of_error("int8.channel.ax1", {3}), "E_AXIS");
  EXPECT_EQ(code_of_error("int4.g2x8", {16}), "E_AXIS");
  EXPECT_EQ(code_of_error("mxint8.ax1", {3, 4}), "none");
}

TEST(Layout, ATensorWithoutElementsHasNoBytesButAGlobalScale) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    const PlaneBytes bytes = plane_bytes(format, FormatShape{0, 4});
    EXPECT_EQ(bytes.total(), bytes.global) << text;
    const Planes planes = pack(format, FormatShape{0, 4}, {});
    unpack(format, FormatShape{0, 4}, golden::view(planes), {});
  }
}

TEST(Layout, AScalarIsATensorOfOneElement) {
  const Planes planes = pack(parse_format("mxint8"), FormatShape{}, std::vector<float>{1.0f});
  EXPECT_EQ(planes.codes.size(), 32u);
  EXPECT_EQ(planes.codes[0], std::byte{64});
}

TEST(Layout, PlanesOfAnotherSizeAreRefused) {
  const Format format = parse_format("mxint8");
  const FormatShape shape{2, 32};
  Planes planes = pack(format, shape, std::vector<float>(64, 1.0f));
  planes.codes.pop_back();
  std::vector<float> values(64);
  try {
    unpack(format, shape, golden::view(planes), values);
    FAIL() << "a short plane was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("codes has 63 bytes; this shape needs 64"), std::string::npos);
  }
}

TEST(CodeStreams, EveryWidthRoundTripsFromEveryPosition) {
  Philox random(5);
  for (int width = 1; width <= 32; ++width) {
    std::vector<uint32_t> codes(41);
    for (uint32_t& code : codes) code = random.next() >> (32 - width);
    std::vector<std::byte> stream(static_cast<size_t>(stream_bytes(41, width)));
    write_codes(stream.data(), width, codes);
    for (size_t first = 0; first < codes.size(); ++first) {
      std::vector<uint32_t> read(codes.size() - first);
      read_codes(stream.data(), width, static_cast<int64_t>(first), read);
      EXPECT_TRUE(std::equal(read.begin(), read.end(), codes.begin() + static_cast<ptrdiff_t>(first))) << width;
    }
  }
}

TEST(CodeStreams, TheFirstCodeLiesInTheLowestBits) {
  std::vector<std::byte> stream(3);
  write_codes(stream.data(), 6, std::vector<uint32_t>{1, 2, 3, 4});
  // 000001 | 000010 << 6 | 000011 << 12 | 000100 << 18 = 0x103081
  EXPECT_EQ(stream, (std::vector<std::byte>{std::byte{0x81}, std::byte{0x30}, std::byte{0x10}}));
}

TEST(CodeStreams, UnusedBitsAreZero) {
  std::vector<std::byte> stream{std::byte{0xff}};
  write_codes(stream.data(), 3, std::vector<uint32_t>{7});
  EXPECT_EQ(stream[0], std::byte{7});
}

}  // namespace
}  // namespace hone
