#include "structs.h"

namespace hone::python {
namespace {

nb::object shown(const char* function, nb::handle result) {
  return nb::module_::import_("hone._result").attr(function)(result);
}

}  // namespace

nb::str text_of(nb::handle result) { return nb::str(shown("text", result)); }
nb::str html_of(nb::handle result) { return nb::str(shown("html", result)); }
nb::typed<nb::dict, nb::str, nb::any> dict_of(nb::handle result) {
  return nb::borrow<nb::dict>(shown("to_dict", result));
}

}  // namespace hone::python
