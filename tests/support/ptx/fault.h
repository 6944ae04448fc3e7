// What a kernel did wrong.
#pragma once

#include <string>

#include "base/error.h"

namespace hone::ptx {

// Says the kernel, the line of PTX, the block and the thread.
class Fault : public Error {
 public:
  Fault(const std::string& message, int line) : Error(message), line_(line) {}
  int line() const { return line_; }

 private:
  int line_;
};

}  // namespace hone::ptx
