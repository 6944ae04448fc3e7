#include "options.h"

namespace hone::python {

void check_names(const nb::dict& given, const char* const* names) {
  for (const auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const char* const* known = names;
    while (*known && name != *known) ++known;
    if (!*known) throw nb::type_error(("there is no option " + name).c_str());
  }
}

void refuse(const char* name, const char* expected, nb::handle found) {
  const std::string text = std::string("option ") + name + ": expected " + expected + ", found " +
                           nb::cast<std::string>(nb::repr(found)) + " (" + nb::cast<std::string>(nb::inst_name(found)) +
                           ")";
  throw nb::type_error(text.c_str());
}

}  // namespace hone::python
