// Bytes as a journal of studies.
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "tests/study/exercise_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // In memory: on a disk each input would take ten times as long.
  static const std::string path = fmt::format("/dev/shm/hone_journal_fuzz_{}.log", ::getpid());
  hone::exercise_journal(path, {reinterpret_cast<const char*>(data), size});
  return 0;
}
