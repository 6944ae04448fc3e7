#include "io/wav.h"

#include <bit>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"

namespace hone {
namespace {

enum class Encoding : uint16_t { pcm = 1, floats = 3, extensible = 0xfffe };

struct Format {
  Encoding encoding;
  uint16_t channels = 0, bits = 0;
  uint32_t rate = 0;
  size_t sample_bytes() const { return bits / 8; }
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  Sound read() {
    if (bytes_.size() < 12 || !is_at(0, "RIFF") || !is_at(8, "WAVE"))
      fail("{}: is no WAV file; convert it: ffmpeg -i FILE -ac 1 -ar 16000 out.wav", source_);
    std::optional<Format> format;
    for (size_t at = 12; bytes_.size() - at >= 8;) {
      const auto length = number<uint32_t>(at + 4);
      const size_t begin = at + 8, rest = bytes_.size() - begin;
      if (is_at(at, "fmt ")) format = format_at(begin, std::min<size_t>(length, rest));
      if (is_at(at, "data")) {
        if (!format) fail("{}: its samples come before their format (\"fmt \")", source_);
        if (length > rest) fail("{}: is cut short: {} bytes of samples of {}", source_, rest, length);
        return samples(*format, bytes_.subspan(begin, length));
      }
      if (length > rest) break;
      at = begin + length;
      if (length % 2 == 1 && at < bytes_.size()) ++at;  // chunks begin at even places
    }
    fail("{}: has no samples (\"data\")", source_);
  }

 private:
  bool is_at(size_t at, const char* name) const { return std::memcmp(bytes_.data() + at, name, 4) == 0; }

  template <class T>
  T number(size_t at) const {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  Format format_at(size_t at, size_t length) const {
    constexpr size_t kPlain = 16, kSubformat = 24;
    if (length < kPlain) fail("{}: its format has {} bytes; at least {} are needed", source_, length, kPlain);
    Format format{.encoding = static_cast<Encoding>(number<uint16_t>(at)),
                  .channels = number<uint16_t>(at + 2),
                  .bits = number<uint16_t>(at + 14),
                  .rate = number<uint32_t>(at + 4)};
    const auto stated = static_cast<int>(format.encoding);
    if (format.encoding == Encoding::extensible && length >= kSubformat + 2)
      format.encoding = static_cast<Encoding>(number<uint16_t>(at + kSubformat));
    const bool is_pcm = format.encoding == Encoding::pcm &&
                        (format.bits == 8 || format.bits == 16 || format.bits == 24 || format.bits == 32);
    const bool is_float = format.encoding == Encoding::floats && (format.bits == 32 || format.bits == 64);
    if (!is_pcm && !is_float)
      fail("{}: samples of format {} with {} bits; accepted: PCM (1) of 8, 16, 24 or 32 bits, floats (3) of 32 or 64",
           source_, stated, format.bits);
    if (format.channels == 0 || format.rate == 0)
      fail("{}: {} channels at {} Hz; at least 1 of each is needed", source_, format.channels, format.rate);
    return format;
  }

  double sample(const Format& format, const std::byte* at) const {
    if (format.encoding == Encoding::floats && format.bits == 64) {
      double value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    if (format.encoding == Encoding::floats) {
      float value;
      std::memcpy(&value, at, sizeof value);
      return static_cast<double>(value);
    }
    if (format.bits == 8) return (std::to_integer<int>(*at) - 128) / 128.0;  // alone without a sign
    uint32_t value = 0;                                                      // in the upper bits
    std::memcpy(reinterpret_cast<std::byte*>(&value) + (4 - format.sample_bytes()), at, format.sample_bytes());
    return static_cast<int32_t>(value) * 0x1p-31;
  }

  Sound samples(const Format& format, std::span<const std::byte> bytes) const {
    const size_t frame = format.channels * format.sample_bytes(), frames = bytes.size() / frame;
    if (frames == 0) fail("{}: has no sample", source_);
    const MemoryCharge charge(static_cast<int64_t>(frames * sizeof(float)), source_);
    Sound sound{.rate = format.rate, .samples = std::vector<float>(frames)};
    for (size_t i = 0; i < frames; ++i) {
      double sum = 0;
      for (size_t c = 0; c < format.channels; ++c) sum += sample(format, &bytes[i * frame + c * format.sample_bytes()]);
      sound.samples[i] = static_cast<float>(sum / format.channels);
    }
    return sound;
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
};

}  // namespace

Sound decode_wav(std::span<const std::byte> bytes, const std::string& source) { return Reader(bytes, source).read(); }

Sound read_wav(const std::string& path) {
  const MappedFile file(path);
  return decode_wav(file.bytes(), path);
}

}  // namespace hone
