// The bytes of a buffer where they lie, for who reads elements on any byte: asking for them makes no copy of what is a
// file's.
#pragma once

#include <span>

#include "ir/tensor.h"

namespace hone {

// In order as bytes(), but on any byte: in the file where that has them in order.
std::span<const std::byte> lying_bytes(const Buffer& buffer);

// Where a mapped file has them, in whatever order; empty where none does.
std::span<const std::byte> bytes_in_file(const Buffer& buffer);

}  // namespace hone
