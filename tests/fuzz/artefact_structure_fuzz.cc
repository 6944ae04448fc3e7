// Files that hone wrote, changed in their structure, through loading, passes, -O0 and -O2. An Error is a fine answer.
#include <cstdlib>
#include <fstream>
#include <string>

#include "io/artefact.h"
#include "jobs/scratch_folder.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/mutate_artefact.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hone::ScratchFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  hone::fuzz::exercise([&] { return hone::load_artefact(path).graph; });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  hone::Philox random(seed);
  const std::string bytes = hone::fuzz::mutated_artefact({reinterpret_cast<const char*>(data), size}, random);
  if (bytes.size() > max_size) return size;
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
