// Exceptions at the wall: what the library throws becomes what include/hone/error.h declares. Others, such as those of
// a caller's callbacks, pass through.
#pragma once

#include <hone/error.h>

#include <utility>

namespace hone::api {

[[noreturn]] void rethrow();  // the exception that is being handled

template <class Function>
decltype(auto) guarded(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    rethrow();
  }
}

}  // namespace hone::api
