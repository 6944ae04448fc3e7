// Large memory from the system itself.
#pragma once

#include <cstddef>
#include <memory>

namespace hone {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Zeros, which come page by page when they are touched: what nobody touches costs nothing. From a huge page on, memory
// starts on one and has such pages where the system has any: a fault, and a miss, for 2 MB instead of 4 KB. Null when
// there is no memory, and errno says why.
std::shared_ptr<std::byte> system_memory(size_t bytes);

}  // namespace hone
