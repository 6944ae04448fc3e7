// Images as tests need them, by the libraries themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// jpeglib.h needs what is above
#include <jpeglib.h>
#include <png.h>

namespace hone::test {

struct PngKind {
  int colour = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  int interlace = PNG_INTERLACE_NONE;
};

// `rows` have the bytes of each row as PNG stores them. The palette is colour i = (i, 2i, 255 - i).
inline std::string png_of(const std::vector<std::vector<uint8_t>>& rows, uint32_t width, PngKind kind) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, width, static_cast<uint32_t>(rows.size()), kind.bits, kind.colour, kind.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (int i = 0; i < 1 << kind.bits && kind.bits <= 8; ++i)
    palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(2 * i), static_cast<png_byte>(255 - i)});
  if (kind.colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  std::vector<png_bytep> pointers;
  for (const auto& row : rows) pointers.push_back(const_cast<png_bytep>(row.data()));
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

// `pixels` are height x width x components; every pixel of a constant image survives the compression.
inline std::string jpeg_of(const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height, J_COLOR_SPACE colours,
                           bool progressive = false) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = colours == JCS_GRAYSCALE ? 1 : colours == JCS_CMYK ? 4 : 3;
  jpeg.in_color_space = colours;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row =
        const_cast<JSAMPROW>(pixels.data() + jpeg.next_scanline * width * static_cast<uint32_t>(jpeg.input_components));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string out(reinterpret_cast<const char*>(buffer), size);
  std::free(buffer);
  return out;
}

// height x width of one value, PNG.
inline std::string grey_png(uint32_t height, uint32_t width, uint8_t value) {
  return png_of(std::vector(height, std::vector<uint8_t>(width, value)), width, {.colour = PNG_COLOR_TYPE_GRAY});
}

}  // namespace hone::test
