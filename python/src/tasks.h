// Tasks of include/hone, all of one form: values and options in, a result out.
#pragma once

#include "bind.h"
#include "calls.h"
#include "options.h"

namespace hone::python {

// function(value, options, progress, warning)
template <class Result, class Value, class Options>
void add_task(nb::module_& m, const char* name, Result (*function)(const Value&, const Options&, const Task&)) {
  m.def(
      name,
      [function](const Value& value, const OptionDict& options, const nb::object& progress, const nb::object& warning) {
        const auto given = options_of<Options>(options);
        const Task task = task_of(progress, warning);
        const Call call;
        return function(value, given, task);
      },
      nb::arg("value"), nb::arg("options"), nb::arg("progress").none(), nb::arg("warning").none());
}

}  // namespace hone::python
