// gzip (RFC 1952).
#pragma once

#include <span>
#include <string>

namespace hone {

bool is_gzip(std::span<const std::byte> bytes);

// What all members of the file hold. What is unpacked is held against the memory limit as it grows. Throws Error that
// starts with `source`: damaged, cut short.
std::string unpack_gzip(std::span<const std::byte> bytes, const std::string& source);

}  // namespace hone
