// Bytes as a WAV file.
#include "io/wav.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::set_memory_limit(hone::memory_charged() + (64 << 20));
  try {
    hone::decode_wav(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const hone::Error&) {
  }
  return 0;
}
