#include "io/gguf/gguf_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/error.h"
#include "base/stop.h"

namespace hone {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian and mapped as they are");

namespace {

using Type = GgufValue::Type;

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, const std::string& source) : file_(file), source_(source) {
    header_.metadata = GgufMetadata(source);
  }

  GgufHeader read() {
    check_version();
    const auto tensors = number<uint64_t>("the number of tensors"), keys = number<uint64_t>("the number of keys");
    // A key takes at least a length, a type and a byte; a tensor a length, a number of dimensions, a type, an offset.
    check_count("keys", keys, 8 + 4 + 1);
    for (uint64_t i = 0; i < keys; ++i) read_key();
    read_alignment();
    check_count("tensors", tensors, 8 + 4 + 4 + 8);
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(header_);
  }

 private:
  uint64_t left() const { return file_.size() - at_; }

  [[noreturn]] void cut_short(const std::string& what, uint64_t bytes) const {
    fail("{}: byte {}: {} takes {} bytes, but only {} follow; the file may be truncated", source_, at_, what, bytes,
         left());
  }

  std::span<const std::byte> take(const std::string& what, uint64_t bytes) {
    if (bytes > left()) cut_short(what, bytes);
    const auto taken = file_.subspan(at_, bytes);
    at_ += bytes;
    return taken;
  }

  template <class T>
  T number(const std::string& what) {
    T value;
    std::memcpy(&value, take(what, sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view string(const std::string& what) {
    const auto length = number<uint64_t>("the length of " + what);
    const auto bytes = take(what, length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void check_count(const char* what, uint64_t count, uint64_t least_bytes) const {
    if (count <= left() / least_bytes) return;
    fail("{}: says that it has {} {}, which {} bytes can't hold; the file is damaged", source_, count, what, left());
  }

  void check_version() {
    const auto magic = take("the magic", 4);
    if (std::memcmp(magic.data(), kGgufMagic.data(), 4) != 0)
      fail("{}: does not begin with GGUF. Is this a GGUF file?", source_);
    const auto version = number<uint32_t>("the version");
    if (version == 2 || version == 3) return;
    if (const uint32_t swapped = __builtin_bswap32(version); swapped == 2 || swapped == 3)
      fail(
          "{}: is a big-endian file of version {}; accepted: little-endian ones. gguf-convert-endian FILE little "
          "turns it round",
          source_, swapped);
    fail("{}: has version {}; accepted: 2 and 3. Convert the model again with today's convert_hf_to_gguf.py", source_,
         version);
  }

  Type type_of(std::string_view key) {
    const auto type = number<uint32_t>("the type of a value");
    if (type > static_cast<uint32_t>(Type::f64))
      fail("{}: key \"{}\" has a value of type {}, which is none of GGUF's 0 to 12", source_, key, type);
    return static_cast<Type>(type);
  }

  void read_key() {
    check_stop();
    const std::string_view key = string("a key");
    GgufValue value{.type = type_of(key), .element = {}, .count = 1, .bytes = {}, .strings = {}};
    if (value.type == Type::array) {
      value.element = type_of(key);
      value.count = number<uint64_t>("the length of an array");
      if (value.element == Type::array) fail("{}: key \"{}\" is an array of arrays, which GGUF has not", source_, key);
    }
    read_value(key, value.type == Type::array ? value.element : value.type, value);
    header_.metadata.add(key, std::move(value));
  }

  void read_value(std::string_view key, Type element, GgufValue& value) {
    const int size = gguf_value_bytes(element);
    check_count("elements of a value", value.count, size > 0 ? static_cast<uint64_t>(size) : 8);
    if (size > 0) {
      value.bytes = take(fmt::format("the value of \"{}\"", key), value.count * static_cast<uint64_t>(size));
      return;
    }
    for (uint64_t i = 0; i < value.count; ++i) value.strings.push_back(string("a string"));
  }

  void read_alignment() {
    constexpr int64_t kMost = 1 << 20;
    const int64_t alignment = header_.metadata.integer_or("general.alignment", 32);
    if (alignment <= 0 || alignment > kMost || !std::has_single_bit(static_cast<uint64_t>(alignment)))
      fail("{}: general.alignment is {}; accepted: powers of two up to {}", source_, alignment, kMost);
    header_.alignment = static_cast<uint64_t>(alignment);
  }

  void read_tensor() {
    check_stop();
    GgufEntry entry;
    entry.name = string("a tensor's name");
    if (entry.name.size() > kMostGgufName)
      fail("{}: the name of a tensor has {} bytes; at most {} are accepted", source_, entry.name.size(), kMostGgufName);
    if (!names_.insert(entry.name).second) fail("{}: two tensors are called \"{}\"", source_, entry.name);
    read_shape(entry);
    const auto id = number<uint32_t>("a tensor's type");
    entry.type = gguf_type(id);
    if (!entry.type)
      fail("{}: tensor \"{}\" has type {}, which is not known; known: {}", source_, entry.name, id, known_gguf_types());
    entry.bytes = bytes_of(entry);
    entry.begin = number<uint64_t>("a tensor's offset");
    header_.tensors.push_back(std::move(entry));
  }

  void read_shape(GgufEntry& entry) {
    const auto rank = number<uint32_t>("a tensor's number of dimensions");
    if (rank > kMostGgufDims)
      fail("{}: tensor \"{}\" has {} dimensions; at most {} are accepted", source_, entry.name, rank, kMostGgufDims);
    for (uint32_t i = 0; i < rank; ++i) {
      const auto size = number<uint64_t>("a dimension");
      if (size > static_cast<uint64_t>(INT64_MAX))
        fail("{}: tensor \"{}\": dimension {} is too large", source_, entry.name, size);
      entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(size));
    }
  }

  uint64_t bytes_of(const GgufEntry& entry) const {
    const GgufType& type = *entry.type;
    const int64_t row = entry.shape.empty() ? 1 : entry.shape.back();
    if (row % type.block != 0)
      fail("{}: tensor \"{}\": {} has blocks of {}, but rows have {} elements", source_, entry.name, type.name,
           type.block, row);
    uint64_t blocks = static_cast<uint64_t>(row / type.block), bytes = 0;
    bool overflows = false;
    for (size_t i = 0; i + 1 < entry.shape.size(); ++i)
      overflows |= __builtin_mul_overflow(blocks, static_cast<uint64_t>(entry.shape[i]), &blocks);
    // Blocks are larger than their elements' share of 2^63, whatever the type.
    uint64_t elems;
    overflows |= __builtin_mul_overflow(blocks, static_cast<uint64_t>(type.bytes), &bytes);
    overflows |= __builtin_mul_overflow(blocks, static_cast<uint64_t>(type.block), &elems) || elems > INT64_MAX;
    if (overflows)
      fail("{}: tensor \"{}\": shape [{}] overflows 64 bits", source_, entry.name, fmt::join(entry.shape, ","));
    return bytes;
  }

  uint64_t aligned(uint64_t offset) const { return (offset + header_.alignment - 1) & ~(header_.alignment - 1); }

  // Tensors follow each other, each from the next multiple of the alignment on.
  void place_tensors() {
    const uint64_t data = std::min<uint64_t>(aligned(at_), file_.size());
    uint64_t next = 0;
    for (GgufEntry& entry : header_.tensors) {
      const uint64_t room = file_.size() - data;
      if (entry.begin != next)
        fail("{}: tensor \"{}\": starts at byte {} of the data, but the tensors before it end at {}", source_,
             entry.name, entry.begin, next);
      if (entry.begin > room || entry.bytes > room - entry.begin)
        fail("{}: tensor \"{}\": {} bytes from {} on lie outside the data of {}; the file may be truncated", source_,
             entry.name, entry.bytes, entry.begin, room);
      next = aligned(entry.begin + entry.bytes);
      entry.begin += data;
    }
  }

  std::span<const std::byte> file_;
  const std::string& source_;
  uint64_t at_ = 0;
  GgufHeader header_;
  std::unordered_set<std::string> names_;
};

}  // namespace

GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& source) {
  return HeaderReader(file, source).read();
}

}  // namespace hone
