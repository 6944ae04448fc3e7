// What devices share whose memory is the host's: all is done at once, by the thread that asks.
#pragma once

#include <cstring>

#include "base/clock.h"
#include "device/device.h"

namespace hone {

class HostQueue : public Queue {
 public:
  void write(std::byte* to, std::span<const std::byte> from) override { move(to, from.data(), from.size()); }
  void read(const std::byte* from, std::span<std::byte> to) override { move(to.data(), from, to.size()); }
  void copy(std::byte* to, const std::byte* from, size_t bytes) override { move(to, from, bytes); }
  uint64_t record() override { return static_cast<uint64_t>(steady_ns()); }  // all before it is done
  void wait(uint64_t) override {}
  double elapsed_ns(uint64_t from, uint64_t to) override { return static_cast<double>(to - from); }
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
