// Arrays of Python as tensors of hone and back, without copies: NumPy's and other buffers by the buffer protocol,
// torch's by DLPack's C functions, others by DLPack's methods.
#pragma once

#include <hone/tensor.h>
#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

namespace hone::python {

// An argument that may be any array, or numbers in lists.
struct ArrayLike {
  nb::handle array;
};

// Which library's arrays a caller works with: results are of the same.
enum class ArrayKind : uint8_t { hone, numpy, torch };
ArrayKind kind_of(nb::handle array);

// A tensor of the array's memory, with its strides; who may write it stays who may. Numbers in lists are copied: as
// bool, i64 or f32, or as `dtype` where that is given. `what` begins the texts of errors: "input ids".
Tensor tensor_of(nb::handle array, const std::string& what, std::optional<DType> dtype = {});

// A mapping of names to arrays, which may be of any class, as a dict.
nb::dict named(nb::handle mapping);

// The tensor as an array of that library. Types that NumPy does not have need the package ml_dtypes; where that is not
// installed they, and packed tensors, stay hone's.
nb::object array_of(Tensor tensor, ArrayKind kind);

// The tensor as a capsule of DLPack 1, for methods that Python's libraries call.
nb::object capsule_of(const Tensor& tensor);

// The type of that name. Throws Error for another text.
DType dtype_named(const std::string& name);

}  // namespace hone::python

namespace nanobind::detail {

template <>
struct type_caster<hone::python::ArrayLike> {
  NB_TYPE_CASTER(hone::python::ArrayLike, const_name("hone.typing.ArrayLike"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.array = source;
    return true;
  }
  static handle from_cpp(const hone::python::ArrayLike& like, rv_policy, cleanup_list*) noexcept {
    return like.array.inc_ref();
  }
};

}  // namespace nanobind::detail
