// The emulated driver, as this test wants it: found by HONE_CUDA_DRIVER for as long as this lives, and begun anew.
#pragma once

#include <cstdlib>

#include "base/error.h"
#include "base/shared_library.h"

namespace hone::test {

class EmulatedCuda {
 public:
  // No device of an earlier one may be open. `settings`: tests/support/cuda/settings.h.
  explicit EmulatedCuda(const char* settings = "", const char* path = HONE_EMULATED_DRIVER)
      : library_(path, SharedLibrary::Symbols::own, "a test") {
    ::setenv("HONE_CUDA_DRIVER", path, 1);
    library_.find("emulated_cuda_configure", configure_, "it is no emulated driver");
    library_.find("emulated_cuda_count", count_, "it is no emulated driver");
    library_.find("emulated_cuda_hold", hold_, "it is no emulated driver");
    CHECK(configure_(settings) == 0);
  }
  ~EmulatedCuda() { ::unsetenv("HONE_CUDA_DRIVER"); }
  EmulatedCuda(const EmulatedCuda&) = delete;
  EmulatedCuda& operator=(const EmulatedCuda&) = delete;

  long long count(const char* what) const { return count_(what); }  // as in tests/support/cuda/control.h
  void hold(bool held) const { hold_(held); }

 private:
  const SharedLibrary library_;
  int (*configure_)(const char*) = nullptr;
  long long (*count_)(const char*) = nullptr;
  void (*hold_)(int) = nullptr;
};

// A variable of the environment that has a value for as long as this lives.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~WithVariable() { ::unsetenv(name_); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* const name_;
};

}  // namespace hone::test
