// Exceptions of hone as Python's: what the input causes is a ValueError, as in NumPy and torch.
#include <hone/error.h>

#include "bind.h"

namespace hone::python {
namespace {

// Those of hone/_errors.py. They live as long as the interpreter.
struct Classes {
  PyObject *error, *memory, *format, *cancelled, *internal;
};
Classes classes;

void set_format_error(const FormatError& error) {
  nb::object instance = nb::borrow(classes.format)(error.what());
  instance.attr("code") = error.code;
  instance.attr("position") = error.position;
  PyErr_SetObject(classes.format, instance.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FormatError& error) {
    set_format_error(error);
  } catch (const api::MemoryError& error) {
    PyErr_SetString(classes.memory, error.what());
  } catch (const Error& error) {
    PyErr_SetString(classes.error, error.what());
  } catch (const Cancelled& cancelled) {
    if (PyErr_CheckSignals() == 0)
      PyErr_SetString(classes.cancelled, cancelled.what());  // else KeyboardInterrupt is set
  } catch (const InternalError& error) {
    PyErr_SetString(classes.internal, error.what());
  }
}

}  // namespace

void bind_errors(nb::module_&) {
  const nb::module_ defined = nb::module_::import_("hone._errors");
  const auto get = [&](const char* name) { return nb::object(defined.attr(name)).release().ptr(); };
  classes = {get("Error"), get("MemoryError"), get("FormatError"), get("Cancelled"), get("InternalError")};
  nb::register_exception_translator(translate);
}

}  // namespace hone::python
