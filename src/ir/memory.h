// Where bytes may lie that are not the host's to look at.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hone {

// What device/device.h makes of it computes there, too. An address in such memory is a number that the device alone
// understands, never zero; adding to it is all that others do with it.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::string_view name() const = 0;
  // Bytes from an address of the memory, once all that was asked of its device before is done.
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;
};

}  // namespace hone
