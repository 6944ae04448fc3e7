// Libraries that are loaded when they are first used, since few need them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace hone {

class SharedLibrary {
 public:
  // What it defines is seen by it alone, or by libraries that come after it, as by its plugins.
  enum class Symbols : uint8_t { own, shared };
  // Stays loaded. Throws Error "PURPOSE: why" where it is not there.
  SharedLibrary(std::string file, Symbols symbols, std::string_view purpose);

  // Throws Error "FILE has no NAME: OTHERWISE".
  template <class Symbol>
  void find(const char* name, Symbol& symbol, std::string_view otherwise) const {
    symbol = reinterpret_cast<Symbol>(address(name));
    if (!symbol) fail("{} has no {}: {}", file_, name, otherwise);
  }

 private:
  void* address(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace hone
