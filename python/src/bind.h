// The parts of the module hone._hone. Each function adds the classes and functions of one header of include/hone.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace hone::python {

void bind_structs(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_formats(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_model(nb::module_& m);
void bind_session(nb::module_& m);
void bind_tasks(nb::module_& m);
void bind_process(nb::module_& m);

}  // namespace hone::python
