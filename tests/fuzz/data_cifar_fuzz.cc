// Bytes as records of CIFAR-10 or CIFAR-100, over and over until records are whole; the first byte chooses.
#include <string>

#include "data/readers/parse.h"
#include "tests/fuzz/data_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t labels = 1 + (data[0] & 1), record = labels + 3072, rest = data[0] >> 1 & 1;
  std::string bytes(2 * record + rest, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(data[1 + i % (size - 1)]);
  const std::vector<std::string> classes{"a", "b", "c"};
  return hone::fuzz::exercise_dataset([&] {
    return hone::parse_cifar({nullptr, std::as_bytes(std::span(bytes))}, labels, labels - 1,
                             data[0] & 4 ? std::span<const std::string>() : classes, "fuzz.bin");
  });
}
