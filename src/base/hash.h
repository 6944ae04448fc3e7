// Content hashes of kept libraries (docs/decisions/hashes.md): XXH3 for keys and checksums, SHA-256 for identities that
// people compare, and for keys that nobody may forge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// XXH3 of 64 bits: for checksums, seeds and tables in memory. The same on every machine and with every xxHash since
// 0.8; not cryptographic.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t hash_text(std::string_view text, uint64_t seed = 0);

// For keys, where equal ones stand for equal contents.
struct Hash128 {
  uint64_t high = 0, low = 0;
  std::string hex() const;  // 32 lower-case digits, as xxh128sum and sha256sum print them
  bool operator==(const Hash128&) const = default;
};
Hash128 hash128(std::string_view text);     // XXH3, as stable as that of 64 bits and no more cryptographic
Hash128 sha256_128(std::string_view text);  // the first half of SHA-256: where someone may look for texts of one key

// FIPS 180-4 SHA-256, fed in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::string hex();  // 64 lower-case digits; the object is finished after this

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view text);
std::string sha256_of_file(const std::string& path);  // throws Error when the file can't be read

}  // namespace hone
