// Content hashes: a fast 64-bit one for cache keys and checksums, SHA-256 for identities that people compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// 64-bit hash of bytes, stable across runs and machines (not cryptographic).
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t hash_text(std::string_view text, uint64_t seed = 0);
inline uint64_t hash_combine(uint64_t a, uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
}

// FIPS 180-4 SHA-256, fed in pieces.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::string hex();  // 64 lower-case digits; the object is finished after this

 private:
  void block(const uint8_t* data);
  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t buffer_[64] = {};
  uint64_t length_ = 0;
};

std::string sha256_hex(std::string_view text);
std::string sha256_of_file(const std::string& path);  // throws Error when the file can't be read

}  // namespace hone
