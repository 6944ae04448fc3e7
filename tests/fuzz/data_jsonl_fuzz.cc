// Bytes as JSON lines of each kind of columns; the first byte chooses the options, which have no header to do without.
#include "data/readers/parse.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  return hone::fuzz::exercise_dataset([&] {
    return hone::parse_jsonl(hone::fuzz::text_of(data + 1, size - 1), "fuzz.jsonl",
                             hone::fuzz::options_of(data[0] & 0xfe));
  });
}
