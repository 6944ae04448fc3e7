#include "base/hash_stream.h"

#define XXH_STATIC_LINKING_ONLY  // for the state as a value
#include <xxhash.h>

namespace hone {

struct HashStream::State {
  XXH3_state_t xxh3;
};

HashStream::HashStream(uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_64bits_reset_withSeed(&state_->xxh3, seed);
}
HashStream::~HashStream() = default;

void HashStream::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}
uint64_t HashStream::value() const { return XXH3_64bits_digest(&state_->xxh3); }

}  // namespace hone
