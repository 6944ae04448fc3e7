// Options of include/hone as names and texts, by which tables of the library set theirs: one way to set an option, and
// one check.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"

namespace hone::api {

using GivenOptions = std::vector<std::pair<std::string, std::vector<std::string>>>;

// What is not as `Options()` has it. given_options.cc is written by generate_api.
template <class Options>
GivenOptions given(const Options& options);

namespace detail {

inline std::vector<std::string> texts(const std::string& text) { return {text}; }
inline std::vector<std::string> texts(bool flag) { return {flag ? "true" : "false"}; }
inline std::vector<std::string> texts(const std::vector<std::string>& list) { return list; }
template <class Number>
std::vector<std::string> texts(Number number) {
  return {fmt::format("{}", number)};
}
template <class Value>
std::vector<std::string> texts(const std::optional<Value>& value) {
  return texts(*value);
}

template <class Value>
void add(GivenOptions& all, const char* name, const Value& value, const Value& unset) {
  if (value == unset) return;
  if constexpr (requires { value.has_value(); })
    if (!value.has_value()) fail("option {}: its default cannot be taken away; give another value", name);
  all.emplace_back(name, texts(value));
}

}  // namespace detail

// The table's struct with what is given. Throws Error for a value that a field does not accept, and for a required one
// that is not given.
template <class Flags>
Flags options_of(const GivenOptions& given) {
  Flags flags;
  for (const auto& [name, values] : given) set_option(Flags::fields(), flags, name, values);
  if (const std::vector<std::string> missing = missing_options(Flags::fields(), flags); !missing.empty())
    fail("option {} is required", missing[0]);
  return flags;
}

}  // namespace hone::api
