// Bytes as a PNG or JPEG image, grey and coloured.
#include <vector>

#include "io/image.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::set_memory_limit(hone::memory_charged() + (64 << 20));
  for (int64_t channels : {1, 3}) try {
      hone::decode_image(std::as_bytes(std::span(data, size)), channels, "fuzz");
    } catch (const hone::Error&) {
    }
  return 0;
}
