// Bytes as the text of PTX; kernels that it holds run for a while over a small buffer.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/support/ptx/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::ptx;
  try {
    const Module module = parse({reinterpret_cast<const char*>(data), size});
    for (const Kernel& kernel : module.kernels) {
      alignas(16) std::array<std::byte, 256> buffer{};
      Memory memory;
      const auto address = reinterpret_cast<uint64_t>(buffer.data());
      memory.add(address, buffer);
      std::vector<std::byte> params(static_cast<size_t>(kernel.param_bytes));
      for (size_t at = 0; at + sizeof address <= params.size(); at += sizeof address)
        std::memcpy(params.data() + at, &address, sizeof address);
      const auto threads = static_cast<uint32_t>(std::min<int64_t>(kernel.max_threads, 48));
      run(module, kernel, {.block = {threads, 1, 1}, .shared_bytes = 128, .most_instructions = 5000}, params, memory);
    }
  } catch (const hone::Error&) {
  }
  return 0;
}
