// Python's buffer protocol, by which NumPy's arrays are read and made.
#pragma once

#include <hone/tensor.h>
#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

namespace hone::python {

// A tensor of the memory of an object with the buffer protocol; of NumPy's also those whose elements that protocol does
// not know: texts, and the types of ml_dtypes.
Tensor tensor_of_buffer(nb::handle array, const std::string& what);

// An array of NumPy; the tensor itself where NumPy has no such elements.
nb::object numpy_array_of(Tensor tensor);

// The slots by which NumPy reads a tensor, which nobody may write by them.
extern PyType_Slot tensor_slots[];

// Adds the class of memory that an array of NumPy owns alone.
void bind_buffer(nb::module_& m);

}  // namespace hone::python
