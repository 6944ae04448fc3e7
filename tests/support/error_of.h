// What an Error says, for tests of refusals.
#pragma once

#include <string>

#include "base/error.h"

namespace hone::test {

// The message of the Error that `fn` throws, "" when it throws none.
template <class Fn>
std::string error_of(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace hone::test
