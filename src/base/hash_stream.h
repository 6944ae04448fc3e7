// XXH3 of bytes that come in pieces: the value that hash_bytes() gives of them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hone {

class HashStream {
 public:
  explicit HashStream(uint64_t seed = 0);
  ~HashStream();
  void update(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
