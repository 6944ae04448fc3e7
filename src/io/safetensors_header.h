// The header of a safetensors file, parsed and checked against the size of its buffer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace hone {

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // by offset
};

// text: the JSON between the length and the buffer; `source` names the file in errors.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t buffer_bytes, const std::string& source);

std::optional<std::string_view> safetensors_name(DType dtype);  // "F32"; none where the format has no such type

}  // namespace hone
