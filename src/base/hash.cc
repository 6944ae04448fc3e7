#include "base/hash.h"

#include <fmt/format.h>
#include <nettle/sha2.h>
#include <nettle/version.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "base/mapped_file.h"
#include "base/stop.h"

namespace hone {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t hash_text(std::string_view text, uint64_t seed) { return hash_bytes(std::as_bytes(std::span(text)), seed); }

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash128(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

namespace {

using Digest = std::array<uint8_t, SHA256_DIGEST_SIZE>;

Digest digest_of(sha256_ctx& state) {
  Digest digest;
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(&state, digest.data());
#else
  sha256_digest(&state, digest.size(), digest.data());
#endif
  return digest;
}

}  // namespace

struct Sha256::State : sha256_ctx {};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(state_.get()); }
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  sha256_update(state_.get(), bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
}

std::string Sha256::hex() {
  std::string text;
  for (uint8_t byte : digest_of(*state_)) text += fmt::format("{:02x}", byte);
  return text;
}

Hash128 sha256_128(std::string_view text) {
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
  const Digest digest = digest_of(state);
  Hash128 hash;
  for (size_t i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | digest[i];
    hash.low = hash.low << 8 | digest[8 + i];
  }
  return hash;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

std::string sha256_of_file(const std::string& path) {
  constexpr size_t kPiece = size_t{16} << 20;  // 10 ms with the CPU's SHA instructions, 70 without
  const MappedFile file(path);
  Sha256 hash;
  for (auto rest = file.bytes(); !rest.empty(); rest = rest.subspan(std::min(kPiece, rest.size()))) {
    check_stop();
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    hash.update(piece);
    drop_pages(piece);
  }
  return hash.hex();
}

}  // namespace hone
