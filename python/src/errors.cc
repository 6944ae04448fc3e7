// Exceptions of hone as Python's: what the input causes is a ValueError, as in NumPy and torch.
#include <hone/error.h>

#include "bind.h"

namespace hone::python {
namespace {

// Of exceptions of C++, the most special first. They live as long as the interpreter.
struct Classes {
  PyObject *error, *memory, *format, *cancelled, *internal;
};
Classes classes;

PyObject* add_class(nb::module_& m, const char* name, const char* doc, const nb::object& bases) {
  const std::string full = std::string("hone.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (!made) nb::raise_python_error();
  m.attr(name) = nb::steal(made);
  return made;
}

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

void bind_errors(nb::module_& m) {
  classes.error = add_class(m, "Error",
                            "The input is at fault: a file, an option, an array of the wrong type. The text says what "
                            "was found, where, what would be accepted and what to do next.",
                            nb::borrow(PyExc_ValueError));
  classes.memory = add_class(m, "MemoryError", "More memory is needed than the process, or the session, may take.",
                             nb::make_tuple(nb::borrow(classes.error), nb::borrow(PyExc_MemoryError)));
  classes.format = add_class(m, "FormatError",
                             "A text is no number format. `code` is one of docs/FORMATS.md, section 1; `position` is "
                             "that of the character at fault.",
                             nb::borrow(classes.error));
  classes.cancelled = add_class(m, "Cancelled",
                                "Work ended since somebody asked for that: `Context.cancel()`, `Session.close()`, the "
                                "end of the interpreter. The same call works later.",
                                nb::borrow(PyExc_RuntimeError));
  classes.internal = add_class(m, "InternalError", "hone is at fault: please report the text and the call.",
                               nb::borrow(PyExc_RuntimeError));
  nb::register_exception_translator(translate);
}

}  // namespace hone::python
