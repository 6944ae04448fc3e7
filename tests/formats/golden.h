// Reading the golden files (docs/FORMATS.md, section 0).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/format.h"
#include "formats/packed.h"
#include "tests/support/paths.h"

namespace hone::golden {

inline Json document(const std::string& name) {
  return read_json_file(std::string(test::kTestData) + "/formats/" + name + ".json");
}

inline uint32_t hex_digit(char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

inline std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(hex_digit(hex[i]) * 16 + hex_digit(hex[i + 1])));
  return bytes;
}

// Eight digits a value.
inline std::vector<float> floats_of(std::string_view hex) {
  std::vector<float> values;
  for (size_t i = 0; i + 7 < hex.size(); i += 8) {
    uint32_t bits = 0;
    for (size_t d = 0; d < 8; ++d) bits = bits * 16 + hex_digit(hex[i + d]);
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

// Same bits, or both NaN.
inline bool same_value(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

inline PlaneView view(const Planes& planes) { return {planes.codes, planes.scales, planes.zero_points, planes.global}; }

}  // namespace hone::golden
