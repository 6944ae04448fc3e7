// Bytes as a journal of studies.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "tests/search/exercise_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("hone_journal_fuzz_{}.log", ::getpid());
  hone::exercise_journal(path, {reinterpret_cast<const char*>(data), size});
  return 0;
}
