// What a kernel did wrong.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace hone::ptx {

// Says the kernel, the line of PTX, the block and the thread.
class Fault : public Error {
 public:
  enum class Kind : uint8_t { address, alignment, time, other };  // as devices tell them apart
  Fault(const std::string& message, int line, Kind kind) : Error(message), line_(line), kind_(kind) {}
  int line() const { return line_; }
  Kind kind() const { return kind_; }

 private:
  int line_;
  Kind kind_;
};

}  // namespace hone::ptx
