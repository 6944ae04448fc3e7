// Bytes as a GGUF file: every tensor is read and decoded, the tokenizer made, and the model opened. The file is in
// memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/memory_limit.h"
#include "importers/importer.h"
#include "io/gguf/gguf_file.h"
#include "tokenizers/gguf_tokenizer.h"
#include "tokenizers/tokenizer.h"

namespace {

template <class Use>
void use_or_refuse(const Use& use) {
  try {
    use();
  } catch (const hone::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = ::memfd_create("fuzz.gguf", 0);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  hone::set_memory_limit(hone::memory_charged() + (256 << 20));
  use_or_refuse([&] {
    const hone::GgufFile gguf(path);
    for (const hone::GgufEntry* entry : gguf.entries())
      use_or_refuse([&] { (void)gguf.tensor(entry->name).to_floats(); });
    use_or_refuse([&] {
      (void)hone::Tokenizer::from_json(hone::write_tokenizer_json(hone::tokenizer_of_gguf(gguf.metadata())), "fuzz")
          .encode("a text, 12", 0);
    });
  });
  use_or_refuse([&] { (void)hone::import_model(path, {.format = "gguf"}); });
  return 0;
}
