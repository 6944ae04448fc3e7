// PNG through libpng, which reports what is wrong by a longjmp: calls of it stand in functions without destructors.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "base/error.h"
#include "io/pixels.h"

namespace hone {
namespace {

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  char message[200] = {};

  Reader() = default;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void next_bytes(png_structp png, png_bytep to, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "the file ends too early");
  std::memcpy(to, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

bool read_header(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_read_fn(reader.png, &reader, next_bytes);
  png_read_info(reader.png, reader.info);
  return true;
}

// 8 bits of grey or of red, green and blue, whatever is stored.
bool begin_rows(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  return true;
}

}  // namespace

Pixels decode_png(std::span<const std::byte> bytes, const std::string& source) {
  Reader reader;
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png) reader.info = png_create_info_struct(reader.png);
  if (!reader.info) fail("{}: no memory to decode it", source);
  const auto require = [&](bool done) {
    if (!done)
      fail("{}: not a valid PNG image, at byte {}: {}", source, bytes.size() - reader.rest.size(), reader.message);
  };
  require(read_header(reader));
  Pixels pixels;
  pixels.width = png_get_image_width(reader.png, reader.info);
  pixels.height = png_get_image_height(reader.png, reader.info);
  const MemoryCharge charge = require_pixels(pixels.width, pixels.height, source);
  require(begin_rows(reader));
  pixels.channels = png_get_channels(reader.png, reader.info);
  const size_t stride = png_get_rowbytes(reader.png, reader.info);
  CHECK(stride == static_cast<size_t>(pixels.width * pixels.channels) &&
        (pixels.channels == 1 || pixels.channels == 3));
  pixels.bytes.resize(static_cast<size_t>(pixels.height) * stride);
  std::vector<png_bytep> rows;
  for (size_t y = 0; y < static_cast<size_t>(pixels.height); ++y) rows.push_back(pixels.bytes.data() + y * stride);
  require(read_rows(reader, rows.data()));
  return pixels;
}

}  // namespace hone
