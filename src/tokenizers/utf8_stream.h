// Bytes that come in parts, as valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace hone {

class Utf8Stream {
 public:
  // The characters that are complete. Each maximal part of the bytes that is no UTF-8 is U+FFFD.
  std::string add(std::string_view bytes);
  // What is left: U+FFFD for a character that was not completed.
  std::string finish();

 private:
  std::string held_;
};

}  // namespace hone
