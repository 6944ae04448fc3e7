// LLVM takes random numbers from arc4random(), which glibc has from 2.36 on. The module's own, which nobody else sees,
// lets wheels run on systems with glibc 2.35.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) std::abort();  // never: so few bytes come whole
  return bits;
}
