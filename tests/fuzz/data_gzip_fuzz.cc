// Bytes as a gzip file.
#include "io/gzip.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::set_memory_limit(hone::memory_charged() + (64 << 20));
  try {
    hone::unpack_gzip(std::as_bytes(std::span(data, size)), "fuzz.gz");
  } catch (const hone::Error&) {
  }
  return 0;
}
