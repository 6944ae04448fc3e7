// hone.Format: number formats, with what packing and rounding by them gives.
#include <hone/formats.h>

#include <memory>

#include <memory>

#include "arrays.h"
#include "bind.h"
#include "calls.h"

namespace hone::python {
namespace {

// Elements that are read where they lie; f32 of numbers in lists.
Tensor values_of(nb::handle array) {
  Tensor tensor = tensor_of(array, "x");
  const bool is_list = PyList_Check(array.ptr()) || PyTuple_Check(array.ptr()) || PyLong_Check(array.ptr());
  return is_list && tensor.dtype() != DType::f32 ? tensor.converted(DType::f32) : tensor;
}

// The bytes of an array, of any element type, where they lie in order; an absent one has none.
Tensor plane_of(nb::handle array, const std::string& what) {
  if (array.is_none()) return Tensor(DType::u8, {0});
  const auto owner = std::make_shared<const Tensor>(tensor_of(array, what).contiguous());
  return Tensor::of_read_only_memory(DType::u8, {owner->bytes()}, owner->data(), owner);
}

Tensor packed_of_arrays(const std::string& format, std::vector<int64_t> shape, ArrayLike codes, ArrayLike scales,
                        ArrayLike zero_points, ArrayLike global) {
  const PackedPlanes planes{plane_of(codes.array, "codes"), plane_of(scales.array, "scales"),
                            plane_of(zero_points.array, "zero_points"), plane_of(global.array, "global_")};
  const Call call;
  return packed_of_planes(format, std::move(shape), planes);
}

}  // namespace

void bind_formats(nb::module_& m) {
  m.def("list_formats", &list_formats, "All families of number formats, in the order of their names.");
  m.def("expand_formats", &expand_formats, nb::arg("patterns"),
        "Every format of patterns such as \"int{4..8}.f4,mxint4\", each once.");
  m.def("parse_format", &parse_format, nb::arg("text"), "A format by its text. FormatError where the text is none.");
  m.def(
      "_pack",
      [](ArrayLike x, const std::string& format) {
        const Tensor tensor = values_of(x.array);
        const Call call;
        return pack(tensor, format);
      },
      nb::arg("x"), nb::arg("format"));
  m.def(
      "_unpack",
      [](const Tensor& packed) {
        const Call call;
        return unpack(packed);
      },
      nb::arg("packed"));
  m.def(
      "_round",
      [](ArrayLike x, const std::string& format) {
        const Tensor tensor = values_of(x.array);
        const ArrayKind kind = kind_of(x.array);
        Tensor rounded;
        {
          const Call call;
          rounded = round_to(tensor, format);
        }
        return array_of(std::move(rounded), kind);
      },
      nb::arg("x"), nb::arg("format"), nb::sig("def _round(x: hone.typing.ArrayLike, format: str) -> Any"));
  m.def(
      "_array_like", [](const Tensor& tensor, nb::handle like) { return array_of(tensor, kind_of(like)); },
      nb::arg("tensor"), nb::arg("like").none(), nb::sig("def _array_like(tensor: Tensor, like: object) -> Any"));
  m.def(
      "_planes",
      [](const Tensor& packed) {
        const PackedPlanes all = planes(packed);
        nb::dict named;
        named["codes"] = all.codes, named["scales"] = all.scales;
        named["zero_points"] = all.zero_points, named["global"] = all.global;
        return named;
      },
      nb::arg("packed"), nb::sig("def _planes(packed: Tensor) -> dict[str, Tensor]"));
  m.def("_packed_of_planes", packed_of_arrays, nb::arg("format"), nb::arg("shape"), nb::arg("codes"),
        nb::arg("scales").none(), nb::arg("zero_points").none(), nb::arg("global_").none());
}

}  // namespace hone::python
