// Two files of a folder as PEFT's adapters: up to the first byte of 0 adapter_config.json, behind it
// adapter_model.safetensors.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/peft.h"

namespace {

const std::string& folder() {
  static const std::string made = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "peft_fuzz.XXXXXX").string();
    if (!::mkdtemp(pattern.data())) std::abort();
    return pattern;
  }();
  return made;
}

void write(const char* name, std::string_view bytes) {
  std::ofstream(folder() + "/" + name, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(all.find('\0'), size);
  write("adapter_config.json", all.substr(0, end));
  write("adapter_model.safetensors", all.substr(std::min(end + 1, size)));
  try {
    const hone::PeftAdapters read = hone::read_peft(folder());
    for (const hone::AdapterTensors& adapter : read.adapters)
      if (adapter.a.shape().empty() || adapter.b.shape().empty()) std::abort();  // what fits no layer is refused
  } catch (const hone::Error&) {
  }
  return 0;
}
