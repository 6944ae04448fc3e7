// The .npz half of numpy.h: a zip archive (PKWARE APPNOTE 6.3) whose members are .npy files.
#include <zlib.h>

#include <cstring>
#include <unordered_set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "io/numpy.h"

namespace hone {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint16_t kStored = 0, kDeflated = 8;

// Honest data seldom shrinks below a two-hundredth, except small arrays of zeros: beyond this an archive is a zip bomb.
constexpr uint64_t kFreeExpansion = 64 << 20, kMaxRatio = 200;

struct Member {
  std::string name;
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint64_t packed_bytes = 0, bytes = 0, local_header = 0;
};

// Little-endian fields of the archive, with every read checked against its end.
class Zip {
 public:
  Zip(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  uint32_t u16(uint64_t at) const { return byte(at) | byte(at + 1) << 8; }
  uint32_t u32(uint64_t at) const { return u16(at) | u16(at + 2) << 16; }
  std::string_view text(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail("{}: the zip archive is truncated or damaged at byte {}", path_, at);
    return bytes_.substr(at, size);
  }
  size_t size() const { return bytes_.size(); }
  const std::string& path() const { return path_; }

 private:
  uint32_t byte(uint64_t at) const { return static_cast<unsigned char>(text(at, 1)[0]); }
  std::string_view bytes_;
  const std::string& path_;
};

// The end record is the last thing in the file but for a comment of at most 65535 bytes.
uint64_t find_end(const Zip& zip) {
  if (zip.size() < kEndBytes) fail("{}: {} bytes; not a zip archive", zip.path(), zip.size());
  const uint64_t last = zip.size() - kEndBytes, first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;)
    if (zip.u32(at) == kEnd && at + kEndBytes + zip.u16(at + 20) == zip.size()) return at;
  fail("{}: no end record; not a zip archive, or a truncated one", zip.path());
}

Member read_entry(const Zip& zip, uint64_t at) {
  if (zip.u32(at) != kCentral) fail("{}: the zip directory is damaged at byte {}", zip.path(), at);
  Member m;
  m.name = zip.text(at + kCentralBytes, zip.u16(at + 28));
  m.method = static_cast<uint16_t>(zip.u16(at + 10));
  m.checksum = zip.u32(at + 16);
  m.packed_bytes = zip.u32(at + 20);
  m.bytes = zip.u32(at + 24);
  m.local_header = zip.u32(at + 42);
  if (zip.u16(at + 8) & 1) fail("{}: \"{}\" is encrypted", zip.path(), m.name);
  if (m.method != kStored && m.method != kDeflated)
    fail("{}: \"{}\" is compressed by method {}; stored (0) and deflate (8) are accepted", zip.path(), m.name,
         m.method);
  if (m.packed_bytes == UINT32_MAX || m.bytes == UINT32_MAX || m.local_header == UINT32_MAX)
    fail("{}: \"{}\" has 4 GB or more (zip64), which is not read; save it as a .npy file", zip.path(), m.name);
  if (m.method == kStored && m.packed_bytes != m.bytes)
    fail("{}: \"{}\" is stored, but {} bytes are said to hold {}", zip.path(), m.name, m.packed_bytes, m.bytes);
  return m;
}

std::vector<Member> read_directory(const Zip& zip) {
  const uint64_t end = find_end(zip);
  const uint32_t count = zip.u16(end + 10);
  uint64_t at = zip.u32(end + 16), total = 0;
  if (count == UINT16_MAX || at == UINT32_MAX)
    fail("{}: a zip64 archive, which is not read; save the arrays as .npy files", zip.path());
  std::vector<Member> members;
  for (uint32_t i = 0; i < count; ++i) {
    members.push_back(read_entry(zip, at));
    total += members.back().bytes;
    at += kCentralBytes + zip.u16(at + 28) + zip.u16(at + 30) + zip.u16(at + 32);
  }
  if (total > kFreeExpansion + kMaxRatio * zip.size())
    fail("{}: {} bytes would expand to {}, as a zip bomb does; save the arrays uncompressed (numpy.savez)", zip.path(),
         zip.size(), total);
  return members;
}

std::string inflate_member(std::string_view packed, const Member& m, const std::string& path) {
  const MemoryCharge charge(static_cast<int64_t>(m.bytes), fmt::format("{}: \"{}\"", path, m.name));
  std::string out(m.bytes, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail("{}: \"{}\": no memory to decompress it", path, m.name);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool complete = result == Z_STREAM_END && stream.total_out == m.bytes;
  inflateEnd(&stream);
  if (!complete)
    fail("{}: \"{}\" does not decompress to the {} bytes that the archive states; it is damaged", path, m.name,
         m.bytes);
  return out;
}

std::string read_member(const Zip& zip, const Member& m) {
  if (zip.u32(m.local_header) != kLocal)
    fail("{}: \"{}\": no member starts at byte {}", zip.path(), m.name, m.local_header);
  const uint64_t data = m.local_header + kLocalBytes + zip.u16(m.local_header + 26) + zip.u16(m.local_header + 28);
  const std::string_view packed = zip.text(data, m.packed_bytes);
  std::string content = m.method == kStored ? std::string(packed) : inflate_member(packed, m, zip.path());
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  if (sum != m.checksum)
    fail("{}: \"{}\": checksum {:08x}, but the archive states {:08x}; it is damaged", zip.path(), m.name, sum,
         m.checksum);
  return content;
}

void put16(std::string& out, size_t value) {
  out += {static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff)};
}
void put32(std::string& out, size_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16);
}

// The fields that the local header and the directory share: version, flags, method, time and date (1980-01-01),
// checksum, sizes.
void put_member(std::string& out, const Member& m) {
  constexpr size_t kVersion = 20, kUtf8Name = 0x800, kNewYear1980 = 0x21;
  put16(out, kVersion);
  put16(out, kUtf8Name);
  put16(out, kStored);
  put16(out, 0);
  put16(out, kNewYear1980);
  put32(out, m.checksum);
  put32(out, m.bytes);
  put32(out, m.bytes);
  put16(out, m.name.size());
  put16(out, 0);  // no extra field
}

std::string directory_entry(const Member& m) {
  std::string out;
  put32(out, kCentral);
  put16(out, 20);  // made by version 2.0 on any system
  put_member(out, m);
  put16(out, 0);  // no comment
  put16(out, 0);  // first disk
  put16(out, 0);
  put32(out, 0);  // attributes
  put32(out, m.local_header);
  return out + m.name;
}

}  // namespace

std::vector<NamedTensor> read_npz(const std::string& path) {
  const MappedFile file(path);
  const Zip zip({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
  std::vector<NamedTensor> tensors;
  std::unordered_set<std::string> names;
  for (const Member& m : read_directory(zip)) {
    check_stop();
    std::string name = m.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (!names.insert(name).second) fail("{}: two arrays are called \"{}\"", path, name);
    tensors.push_back({name, parse_npy(read_member(zip, m), path + ": " + m.name)});
  }
  return tensors;
}

void write_npz(const std::string& path, std::span<const NamedTensor> tensors) {
  if (tensors.size() >= UINT16_MAX)
    fail("{}: {} arrays; a .npz file holds fewer than {}", path, tensors.size(), UINT16_MAX);
  AtomicFile file(path);
  std::string directory;
  uint64_t position = 0;
  for (const NamedTensor& t : tensors) {
    const std::string content = npy_bytes(t.tensor, path + ": " + t.name);
    Member m{.name = t.name + ".npy", .bytes = content.size(), .local_header = position};
    if (m.name.size() > UINT16_MAX) fail("{}: the name of an array has {} bytes", path, m.name.size());
    if (position + content.size() >= UINT32_MAX)
      fail("{}: a .npz file of 4 GB or more is not written; write .npy files", path);
    m.checksum = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
    std::string header;
    put32(header, kLocal);
    put_member(header, m);
    header += m.name;
    file.write(header);
    file.write(content);
    position += header.size() + content.size();
    directory += directory_entry(m);
  }
  std::string end;
  put32(end, kEnd);
  put32(end, 0);  // this disk, first disk
  put16(end, tensors.size());
  put16(end, tensors.size());
  put32(end, directory.size());
  put32(end, position);
  put16(end, 0);  // no comment
  file.write(directory + end);
  file.commit();
}

}  // namespace hone
