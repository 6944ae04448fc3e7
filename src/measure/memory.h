// Memory of this process as the kernel counts it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct MemoryUse {
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;       // largest resident_bytes since the start or the last reset_peak()
  int64_t anonymous_bytes = 0;  // allocations: what other processes can't have
  int64_t file_bytes = 0;       // pages of mapped files: the system may drop and reread them
};

MemoryUse memory_use();  // throws Error where /proc is not mounted
MemoryUse parse_memory_use(
    std::string_view status);  // the text of /proc/self/status; throws Error when a line is missing

// Resident bytes of this process's mappings of these files.
int64_t resident_bytes_of_files(const std::vector<std::string>& paths);
int64_t parse_resident_bytes_of_files(std::string_view smaps, const std::vector<std::string>& paths);  // absolute ones

// Sets the peak back to what is resident now. False where the system does not permit it; then peaks count from the
// start.
bool reset_peak();

}  // namespace hone
