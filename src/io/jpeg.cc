// JPEG through libjpeg, which reports what is wrong by a longjmp of ours: calls of it stand in functions without
// destructors.
#include <cstddef>
#include <cstdio>
// clang-format off: jpeglib.h needs what is above
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <cstring>

#include "base/error.h"
#include "io/pixels.h"

namespace hone {
namespace {

struct Reader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  int passes = 0;
  char message[JMSG_LENGTH_MAX] = {};
  bool is_made = false;

  Reader() = default;
  ~Reader() {
    if (is_made) jpeg_destroy_decompress(&jpeg);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

[[noreturn]] void on_error(j_common_ptr jpeg) {
  auto* reader = static_cast<Reader*>(jpeg->client_data);
  reader->errors.format_message(jpeg, reader->message);
  std::longjmp(reader->jump, 1);
}

// Warnings that mean that pixels are missing or invented. Others are of no consequence and common.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      on_error(jpeg);
    default:
      return;
  }
}

// A file may hold thousands of progressive scans over a large picture, each of which takes as long as a picture.
void on_progress(j_common_ptr jpeg) {
  constexpr int kMostScans = 500;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  std::strncpy(static_cast<Reader*>(jpeg->client_data)->message, "more than 500 scans", JMSG_LENGTH_MAX - 1);
  std::longjmp(static_cast<Reader*>(jpeg->client_data)->jump, 1);
}

bool read_header(Reader& reader, std::span<const std::byte> bytes) {
  if (setjmp(reader.jump)) return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.is_made = true;
  jpeg_mem_src(&reader.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&reader.jpeg, TRUE);
  return true;
}

bool begin_rows(Reader& reader) {
  if (setjmp(reader.jump)) return false;
  jpeg_decompress_struct& jpeg = reader.jpeg;
  const bool has_black = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = has_black ? JCS_CMYK : jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  return true;
}

bool read_rows(Reader& reader, uint8_t* rows, size_t stride) {
  if (setjmp(reader.jump)) return false;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JSAMPROW row = rows + reader.jpeg.output_scanline * stride;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
  }
  return true;
}

// Adobe's programs store inks inverted, and say so by a marker.
void inks_to_colours(Pixels& pixels, bool is_inverted) {
  const size_t area = static_cast<size_t>(pixels.height * pixels.width);
  const auto light = [&](uint8_t ink) { return is_inverted ? ink : 255u - ink; };
  for (size_t i = 0; i < area; ++i) {
    const uint8_t* inks = pixels.bytes.data() + 4 * i;
    const unsigned black = light(inks[3]);
    uint8_t colours[3];
    for (int c = 0; c < 3; ++c) colours[c] = static_cast<uint8_t>((light(inks[c]) * black + 127) / 255);
    std::memcpy(pixels.bytes.data() + 3 * i, colours, 3);
  }
  pixels.channels = 3;
  pixels.bytes.resize(3 * area);
}

}  // namespace

Pixels decode_jpeg(std::span<const std::byte> bytes, const std::string& source) {
  Reader reader;
  jpeg_progress_mgr progress{};
  progress.progress_monitor = on_progress;
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = on_error;
  reader.errors.emit_message = on_message;
  reader.jpeg.client_data = &reader;
  const auto require = [&](bool done) {
    if (!done)
      fail("{}: not a valid JPEG image, at byte {}: {}", source,
           bytes.size() - (reader.jpeg.src ? reader.jpeg.src->bytes_in_buffer : bytes.size()), reader.message);
  };
  require(read_header(reader, bytes));
  reader.jpeg.progress = &progress;
  Pixels pixels;
  pixels.width = reader.jpeg.image_width;
  pixels.height = reader.jpeg.image_height;
  const MemoryCharge charge = require_pixels(pixels.width, pixels.height, source);
  require(begin_rows(reader));
  pixels.channels = reader.jpeg.output_components;
  const size_t stride = static_cast<size_t>(pixels.width * pixels.channels);
  pixels.bytes.resize(static_cast<size_t>(pixels.height) * stride);
  require(read_rows(reader, pixels.bytes.data(), stride));
  if (pixels.channels == 4) inks_to_colours(pixels, reader.jpeg.saw_Adobe_marker);
  return pixels;
}

}  // namespace hone
