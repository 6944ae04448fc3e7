// Bytes as an IDX file of images and one of labels: the first two say where one ends.
#include "data/readers/parse.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  const size_t cut = std::min<size_t>(data[0] | data[1] << 8, bytes.size());
  return hone::fuzz::exercise_dataset([&] {
    return hone::parse_idx({nullptr, bytes.first(cut)}, {nullptr, bytes.subspan(cut)}, "images", "labels", {});
  });
}
