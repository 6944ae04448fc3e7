// Options of hone as keywords of Python. generated/options.cc, which generate_api writes, has one function a struct.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace nb = nanobind;

namespace hone::python {

using OptionDict = nb::typed<nb::dict, nb::str, nb::any>;

// The struct with what is given by name; None is as if it were not given. Throws TypeError that names the option.
template <class Options>
Options options_of(const nb::dict& given);

// Throws TypeError for a name in `given` that is none of `names`, which end with a null.
void check_names(const nb::dict& given, const char* const* names);

// Throws TypeError: an option of another type is needed.
[[noreturn]] void refuse(const char* name, const char* expected, nb::handle found);

inline const char* expected_of(const std::string&) { return "a text"; }
inline const char* expected_of(bool) { return "True or False"; }
inline const char* expected_of(int64_t) { return "a whole number"; }
inline const char* expected_of(uint64_t) { return "a whole number from 0"; }
inline const char* expected_of(double) { return "a number"; }
inline const char* expected_of(const std::vector<std::string>&) { return "a text or a list of texts"; }
template <class T>
const char* expected_of(const std::optional<T>&) {
  return expected_of(T());
}

template <class T>
void take(const nb::dict& given, const char* name, T& value) {
  nb::handle found = PyDict_GetItemString(given.ptr(), name);
  if (!found.is_valid() || found.is_none()) return;
  nb::object held = nb::borrow(found);
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    if (PyUnicode_Check(found.ptr())) held = nb::make_tuple(found);  // one text is a list of one
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>)
    if (PyBool_Check(found.ptr())) refuse(name, expected_of(value), found);
  if constexpr (std::is_same_v<T, std::string>)
    if (!PyUnicode_Check(found.ptr()) && nb::hasattr(found, "__fspath__")) held = found.attr("__fspath__")();
  if (!nb::try_cast<T>(held, value)) refuse(name, expected_of(value), found);
}

}  // namespace hone::python
