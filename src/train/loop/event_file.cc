#include "train/loop/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace hone {
namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);  // reflected polynomial
    table[i] = value;
  }
  return table;
}();

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Protocol buffers: a key of field number and wire type, then a varint, eight or four bytes, or a length and bytes.
enum class Wire : uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_varint(std::string& to, uint64_t value) {
  for (; value >= 128; value >>= 7) to += static_cast<char>((value & 127) | 128);
  to += static_cast<char>(value);
}

template <class T>
void put_fixed(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

void put_key(std::string& to, uint32_t field, Wire wire) { put_varint(to, field << 3 | static_cast<uint32_t>(wire)); }

void put_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  put_key(to, field, Wire::bytes);
  put_varint(to, bytes.size());
  to += bytes;
}

// Of event.proto and summary.proto.
enum : uint32_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7,
  kSessionStatus = 1,
  kSummaryValue = 1,
  kTag = 1,
  kSimpleValue = 2,
};

std::string event_at(int64_t step) {
  std::string event;
  put_key(event, kWallTime, Wire::fixed64);
  put_fixed(event, now_seconds());
  put_key(event, kStep, Wire::varint);
  put_varint(event, static_cast<uint64_t>(step));
  return event;
}

// "((crc >> 15) | (crc << 17)) + 0xa282ead8": so that a checksum of bytes that hold checksums is not degenerate.
uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xa282ead8u;
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name;
  for (char& c : host)
    if (c == '/') c = '_';
  return host;
}

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (std::byte b : bytes) crc = kCrcTable[(crc ^ static_cast<uint32_t>(b)) & 255] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::string& folder, int64_t first_step)
    : path_(fmt::format("{}/events.out.tfevents.{:010}.{}.{}", folder, static_cast<int64_t>(now_seconds()), host_name(),
                        getpid())) {
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail("{}: can't be written: {}", path_, std::strerror(errno));
  std::string version = event_at(0);
  put_bytes(version, kFileVersion, "brain.Event:2");
  add_record(version);
  if (first_step == 0) return;
  std::string restart = event_at(first_step), started;
  put_key(started, kSessionStatus, Wire::varint);
  put_varint(started, 1);  // SessionLog.START
  put_bytes(restart, kSessionLog, started);
  add_record(restart);
}

EventFile::~EventFile() { close(file_); }

void EventFile::add_scalar(std::string_view tag, double value, int64_t step) {
  std::string number, summary, event = event_at(step);
  put_bytes(number, kTag, tag);
  put_key(number, kSimpleValue, Wire::fixed32);
  put_fixed(number, static_cast<float>(value));
  put_bytes(summary, kSummaryValue, number);
  put_bytes(event, kSummary, summary);
  add_record(event);
}

void EventFile::add_record(std::string_view event) {
  std::string length, record;
  put_fixed(length, static_cast<uint64_t>(event.size()));
  record = length;
  put_fixed(record, masked_crc(length));
  record += event;
  put_fixed(record, masked_crc(event));
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t written = write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("{}: can't be written: {}", path_, std::strerror(errno));
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace hone
