// What devices share whose memory is the host's: all is done at once, by the thread that asks.
#pragma once

#include <cstring>

#include "device/device.h"

namespace hone {

class HostQueue : public Queue {
 public:
  void write(std::byte* to, std::span<const std::byte> from) override { move(to, from.data(), from.size()); }
  void read(const std::byte* from, std::span<std::byte> to) override { move(to.data(), from, to.size()); }
  void copy(std::byte* to, const std::byte* from, size_t bytes) override { move(to, from, bytes); }
  uint64_t record() override { return 0; }
  void wait(uint64_t) override {}
  void synchronise() override {}

 private:
  static void move(std::byte* to, const std::byte* from, size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
};

class HostDevice : public Device {
 public:
  bool is_host() const override { return true; }
  Buffer allocate(size_t bytes) override { return Buffer::uninitialised(bytes); }
  void read(const std::byte* from, std::span<std::byte> to) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }
};

}  // namespace hone
