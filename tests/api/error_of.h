// What an Error of include/hone says, for tests of refusals.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hone/error.h>

#include <string>

namespace api_test {

// The message of the Error that `fn` throws, "" when it throws none.
template <class Fn>
std::string error_of(Fn fn) {
  try {
    fn();
  } catch (const hone::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace api_test
