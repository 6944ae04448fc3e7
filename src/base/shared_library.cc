#include "base/shared_library.h"

#include <dlfcn.h>

#include <utility>

namespace hone {

SharedLibrary::SharedLibrary(std::string file, Symbols symbols, std::string_view purpose)
    : file_(std::move(file)),
      handle_(::dlopen(file_.c_str(), RTLD_NOW | (symbols == Symbols::own ? RTLD_LOCAL : RTLD_GLOBAL))) {
  if (handle_) return;
  const char* why = ::dlerror();
  fail("{}: {}", purpose, why ? why : "not found");
}

void* SharedLibrary::address(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace hone
