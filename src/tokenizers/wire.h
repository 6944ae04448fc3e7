// Protocol buffers as bytes: the fields of a message, in the order of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;      // of a number: a varint, or the bits of a fixed one
  std::string_view bytes;  // of a text or a message
};

class WireReader {
 public:
  // `source` begins every error.
  WireReader(std::string_view message, const std::string& source) : rest_(message), source_(source) {}
  // The next field; false at the end. Throws Error where the bytes are no field.
  bool next(WireField& field);

 private:
  uint64_t varint();
  std::string_view take(uint64_t bytes);
  std::string_view rest_;
  const std::string& source_;
};

}  // namespace hone
