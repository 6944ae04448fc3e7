// Images of every kind that PNG and JPEG store, and damaged ones.
#include "io/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_limit.h"
#include "io/gzip.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/write_image.h"

#include <zlib.h>

namespace hone {
namespace {

using test::grey_png;
using test::jpeg_of;
using test::png_of;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<int64_t>;

Tensor decode(const std::string& file, int64_t channels) {
  return decode_image(std::as_bytes(std::span(file)), channels, "a.img");
}
std::string decode_error(const std::string& file) {
  return error_of([&] { decode(file, 3); });
}

TEST(Png, ChannelsAreTheFirstAxis) {
  const Tensor image = decode(png_of({{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}, 2, {}), 3);
  EXPECT_EQ(image.shape(), (Values{3, 2, 2}));
  EXPECT_THAT(image.to_integers(), ElementsAre(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
}

TEST(Png, GreyIsRepeatedAndColourBecomesLuma) {
  EXPECT_THAT(decode(grey_png(1, 1, 77), 3).to_integers(), ElementsAre(77, 77, 77));
  // 0.299 x 200 + 0.587 x 100 + 0.114 x 50 = 124.2
  EXPECT_THAT(decode(png_of({{200, 100, 50}}, 1, {}), 1).to_integers(), ElementsAre(124));
}

TEST(Png, PalettesFewBitsSixteenBitsAndTransparencyAreEightBitsOfColour) {
  EXPECT_THAT(decode(png_of({{3}}, 1, {.colour = PNG_COLOR_TYPE_PALETTE}), 3).to_integers(), ElementsAre(3, 6, 252));
  EXPECT_THAT(decode(png_of({{0xb0}}, 4, {.colour = PNG_COLOR_TYPE_GRAY, .bits = 1}), 1).to_integers(),
              ElementsAre(255, 0, 255, 255));
  EXPECT_THAT(decode(png_of({{0x80, 0x7f}}, 1, {.colour = PNG_COLOR_TYPE_GRAY, .bits = 16}), 1).to_integers(),
              ElementsAre(128));
  EXPECT_THAT(decode(png_of({{9, 8, 7, 0}}, 1, {.colour = PNG_COLOR_TYPE_RGB_ALPHA}), 3).to_integers(),
              ElementsAre(9, 8, 7));
  EXPECT_THAT(decode(png_of({{9, 0}}, 1, {.colour = PNG_COLOR_TYPE_GRAY_ALPHA}), 1).to_integers(), ElementsAre(9));
}

TEST(Png, InterlacedIsTheSame) {
  std::vector<std::vector<uint8_t>> rows(9);
  for (uint8_t y = 0; y < 9; ++y)
    for (uint8_t x = 0; x < 33; ++x) rows[y].push_back(static_cast<uint8_t>(7 * y + x));
  EXPECT_TRUE(
      decode(png_of(rows, 11, {}), 3).same_bits(decode(png_of(rows, 11, {.interlace = PNG_INTERLACE_ADAM7}), 3)));
}

TEST(Jpeg, GreyColourAndProgressiveKeepAConstantImage) {
  EXPECT_THAT(decode(jpeg_of(std::vector<uint8_t>(70, 90), 10, 7, JCS_GRAYSCALE), 1).to_integers(), Each(90));
  const std::string grey = jpeg_of(std::vector<uint8_t>(210, 90), 10, 7, JCS_RGB, true);
  EXPECT_THAT(decode(grey, 3).to_integers(), Each(90));
  EXPECT_EQ(decode(grey, 1).shape(), (Values{1, 7, 10}));
}

TEST(Jpeg, InksBecomeColours) {
  std::vector<uint8_t> inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {255, 51, 0, 204});  // inverted, as Adobe's marker says
  const Values colours = decode(jpeg_of(inks, 8, 8, JCS_CMYK), 3).to_integers();
  EXPECT_EQ(colours[0], 204);
  EXPECT_NEAR(static_cast<double>(colours[64]), 51 * 204 / 255, 1);
  EXPECT_EQ(colours[128], 0);
}

TEST(Images, DamagedOnesAreErrorsWithTheirName) {
  const std::string png = grey_png(64, 64, 5), jpeg = jpeg_of(std::vector<uint8_t>(64 * 64, 5), 64, 64, JCS_GRAYSCALE);
  for (size_t keep = 0; keep < png.size() - 12; ++keep)  // all but the end mark
    EXPECT_THAT(decode_error(png.substr(0, keep)), HasSubstr("a.img: ")) << keep;
  for (size_t keep = 0; keep < jpeg.size() - 2; ++keep)
    EXPECT_THAT(decode_error(jpeg.substr(0, keep)), HasSubstr("a.img: ")) << keep;
  std::string changed = png;
  changed[png.find("IDAT") + 8] ^= 0x55;
  EXPECT_THAT(decode_error(changed), HasSubstr("not a valid PNG image, at byte"));
  EXPECT_THAT(decode_error(jpeg.substr(0, jpeg.size() / 2)), HasSubstr("not a valid JPEG image, at byte"));
  EXPECT_EQ(decode_error(""), "a.img: is empty; PNG and JPEG are read");
  EXPECT_EQ(decode_error("GIF89a"), "a.img: begins like no image that is known (byte 0x47); PNG and JPEG are read");
}

// The header says how large the picture is: width at byte 16, height at 20, big-endian, and a checksum over both.
std::string with_size(std::string png, uint32_t width, uint32_t height) {
  const auto put = [&](size_t at, uint32_t value) {
    for (int i = 0; i < 4; ++i) png[at + static_cast<size_t>(i)] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  put(29, static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(png.data() + 12), 17)));
  return png;
}

TEST(Images, SizesAreCheckedBeforeAnythingIsAllocated) {
  EXPECT_THAT(decode_error(with_size(grey_png(1, 1, 0), 1'000'000, 1'000'000)),
              HasSubstr("an image of 1000000 x 1000000 pixels"));
  set_memory_limit(memory_charged() + 1'000'000);
  const std::string error = decode_error(with_size(grey_png(1, 1, 0), 10'000, 10'000));
  set_memory_limit(0);
  EXPECT_THAT(error, HasSubstr("a.img: an image needs 800 MB of memory"));
}

std::string gzip_of(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 16;
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string unpack(const std::string& packed) { return unpack_gzip(std::as_bytes(std::span(packed)), "a.gz"); }

TEST(Gzip, MembersFollowEachOther) {
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(unpack(gzip_of("ab")), "ab");
  EXPECT_EQ(unpack(gzip_of("")), "");
  EXPECT_EQ(unpack(gzip_of(large) + gzip_of("end")), large + "end");
}

TEST(Gzip, DamagedFilesAreErrors) {
  const std::string packed = gzip_of("some text, some text, some text");
  for (size_t keep = 0; keep < packed.size(); ++keep)
    EXPECT_THAT(error_of([&] { unpack(packed.substr(0, keep)); }), HasSubstr("a.gz: the gzip data ends too early"))
        << keep;
  EXPECT_THAT(error_of([&] { unpack(packed + "rest"); }), HasSubstr("4 bytes that are no gzip follow"));
  std::string changed = packed;
  changed[packed.size() - 5] ^= 1;  // of the checksum
  EXPECT_THAT(error_of([&] { unpack(changed); }), HasSubstr("a.gz: damaged gzip data"));
}

TEST(Gzip, WhatIsUnpackedIsHeldAgainstTheLimit) {
  const std::string bomb = gzip_of(std::string(20'000'000, '\0'));
  EXPECT_LT(bomb.size(), 30'000u);
  set_memory_limit(memory_charged() + 5'000'000);
  EXPECT_THAT(error_of([&] { unpack(bomb); }), HasSubstr("a.gz: what is unpacked needs"));
  set_memory_limit(0);
}

}  // namespace
}  // namespace hone
