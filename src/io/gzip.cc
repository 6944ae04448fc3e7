#include "io/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/stop.h"

namespace hone {
namespace {

struct Inflater {
  z_stream stream{};
  explicit Inflater(const std::string& source) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) fail("{}: no memory to decompress it", source);
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::string unpack_gzip(std::span<const std::byte> bytes, const std::string& source) {
  constexpr size_t kPiece = 1 << 20;  // of input and of output
  Inflater inflater(source);
  z_stream& stream = inflater.stream;
  std::string out;
  MemoryCharge charge;
  for (size_t used = 0;;) {
    check_stop();
    if (out.capacity() < out.size() + kPiece) {
      const size_t wanted = std::max(2 * out.capacity(), out.size() + kPiece);
      charge = {};
      charge = MemoryCharge(static_cast<int64_t>(wanted), fmt::format("{}: what is unpacked", source));
      out.reserve(wanted);
    }
    const size_t given = std::min(kPiece, bytes.size() - used), filled = out.size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data() + used));
    stream.avail_in = static_cast<uInt>(given);
    out.resize(filled + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = kPiece;
    const int result = inflate(&stream, Z_NO_FLUSH);
    used += given - stream.avail_in;
    out.resize(filled + kPiece - stream.avail_out);
    if (result == Z_STREAM_END) {
      if (used == bytes.size()) return out;
      if (!is_gzip(bytes.subspan(used)))
        fail("{}: {} bytes that are no gzip follow at byte {}", source, bytes.size() - used, used);
      inflateReset(&stream);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail("{}: damaged gzip data at byte {}: {}", source, used, stream.msg ? stream.msg : "unexpected");
    } else if (used == bytes.size() && out.size() == filled) {
      fail("{}: the gzip data ends too early, at byte {}", source, used);
    }
  }
}

}  // namespace hone
