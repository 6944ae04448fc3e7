// The three ways of saying no (docs/STYLE.md, "Errors"): Error when the input is at fault, Bug when we are, Support
// when this machine or kernel can't and the next one may.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace hone {

// A fault of the input: says what was found, where, what would be accepted and what to do next.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A fault of ours, thrown by CHECK; the program asks the user to report it.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_with(fmt::string_view format, fmt::format_args args);

// fail("{}: expected {}", ...) throws Error with the formatted text.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  fail_with(format, fmt::make_format_args(args...));
}

// Whether something can be done here, and why not; an empty reason means that it can.
struct Support {
  std::string why;
  bool supported() const { return why.empty(); }
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& detail = "");

// CHECK(cond) or CHECK(cond, "text {}", value): throws Bug when the condition does not hold.
#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::hone::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, fmt::format(__VA_ARGS__))); \
  } while (false)

}  // namespace hone
