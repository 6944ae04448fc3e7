// hone.Tensor: elements of any type or number format, in memory of hone's or of another library's.
#include <hone/tensor.h>

#include "arrays.h"
#include "bind.h"
#include "buffer.h"

namespace hone::python {
namespace {

std::string repr(const Tensor& tensor) {
  std::string text = "hone.Tensor(" + tensor.type();
  if (tensor.elements() > 16 || tensor.is_packed()) return text + ")";
  text += ": ";
  const nb::object elements =
      tensor.dtype() == DType::string ? nb::cast(tensor.strings()) : nb::cast(tensor.to_doubles());
  return text + nb::cast<std::string>(nb::repr(elements)) + ")";
}

// Elements that nobody else has; those of packed tensors, which nobody writes, are shared.
Tensor copied(const Tensor& tensor) {
  Tensor own = tensor;
  if (!own.is_packed() && own.dtype() != DType::string) static_cast<void>(own.mutable_data());
  return own;
}

using Version = std::optional<std::pair<int, int>>;

nb::object to_dlpack(const Tensor& tensor, const nb::object&, Version version, Version device,
                     std::optional<bool> copy) {
  if (device && *device != std::pair(1, 0))
    throw nb::buffer_error("a hone.Tensor is in the host's memory: device (1, 0)");
  if (!version || version->first < 1) throw nb::buffer_error("a reader of DLPack 1 is needed: max_version=(1, 0)");
  return capsule_of(copy.value_or(false) ? copied(tensor) : tensor);
}

// Numbers as lists within lists.
nb::object listed(const nb::list& flat, const std::vector<int64_t>& shape, size_t depth, size_t& next) {
  if (depth == shape.size()) return flat[next++];
  nb::list list;
  for (int64_t i = 0; i < shape[depth]; ++i) list.append(listed(flat, shape, depth + 1, next));
  return list;
}

nb::object to_list(const Tensor& tensor) {
  nb::list flat;
  const DType dtype = tensor.dtype();
  if (dtype == DType::string) flat = nb::cast<nb::list>(nb::cast(tensor.strings()));
  else if (dtype == DType::boolean)
    for (const int64_t element : tensor.to_integers()) flat.append(element != 0);
  else if (dtype <= DType::u64 || dtype == DType::i4 || dtype == DType::u4 || dtype == DType::i2 || dtype == DType::u2)
    flat = nb::cast<nb::list>(nb::cast(tensor.to_integers()));
  else flat = nb::cast<nb::list>(nb::cast(tensor.to_doubles()));
  size_t next = 0;
  return listed(flat, tensor.shape(), 0, next);
}

nb::bytes to_bytes(const Tensor& tensor) {
  const Tensor rows = tensor.contiguous();
  return nb::bytes(rows.data(), static_cast<size_t>(rows.bytes()));
}

Tensor of_bytes(const std::string& dtype, std::vector<int64_t> shape, const nb::bytes& elements) {
  return Tensor::copy_of(dtype_named(dtype), std::move(shape),
                         {static_cast<const std::byte*>(elements.data()), elements.size()});
}

}  // namespace

void bind_tensor(nb::module_& m) {
  bind_buffer(m);
  m.def("_tensor_of_bytes", of_bytes, nb::arg("dtype"), nb::arg("shape"), nb::arg("elements"));
  nb::class_<Tensor>(m, "Tensor", nb::type_slots(tensor_slots),
                     "Elements of one type or number format. Made of an array, it reads that array's memory where it "
                     "lies. NumPy and torch read it likewise, by the buffer protocol and by DLPack.")
      .def(
          "__init__",
          [](Tensor* self, ArrayLike array, std::optional<std::string> dtype) {
            std::optional<DType> to;
            if (dtype) to = dtype_named(*dtype);
            new (self) Tensor(tensor_of(array.array, "array", to));
          },
          nb::arg("array"), nb::arg("dtype") = nb::none(),
          "Of an array, without a copy unless `dtype` is another type; or of numbers or texts in lists.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return std::string(to_string(t.dtype())); },
          "\"f32\"; what reading an element gives.")
      .def_prop_ro(
          "shape", [](const Tensor& t) { return nb::tuple(nb::cast(t.shape())); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes, in elements.")
      .def_prop_ro(
          "strides", [](const Tensor& t) { return nb::tuple(nb::cast(t.strides())); },
          nb::sig("def strides(self) -> tuple[int, ...]"), "In elements.")
      .def_prop_ro("type", &Tensor::type, "\"f32[2,384]\", \"mxint8[30522,384]\".")
      .def_prop_ro("format", &Tensor::format, "The number format of packed elements; else empty.")
      .def_prop_ro("is_packed", &Tensor::is_packed, "In a number format, such as mxint8.")
      .def_prop_ro("is_read_only", &Tensor::is_read_only, "In memory that nobody may write.")
      .def_prop_ro("size", &Tensor::elements, "How many elements there are.")
      .def_prop_ro("nbytes", &Tensor::bytes, "Of the elements, or of all planes of a packed tensor.")
      .def(
          "to", [](const Tensor& t, const std::string& dtype) { return t.converted(dtype_named(dtype)); },
          nb::arg("dtype"), nb::call_guard<nb::gil_scoped_release>(),
          "Each element rounded to the nearest of that type.")
      .def("reshape", &Tensor::reshaped, nb::arg("shape"), "The same elements in another shape.")
      .def("contiguous", &Tensor::contiguous, "Itself, or a copy in row-major order.")
      .def("tobytes", to_bytes, "Elements in row-major order.")
      .def("tolist", to_list, "Elements as numbers or texts, in lists.")
      .def(
          "numpy",
          [](const Tensor& t) { return array_of(t.is_packed() ? t.converted(DType::f32) : t, ArrayKind::numpy); },
          "An array of NumPy of the same memory where nobody else has it. Types that NumPy lacks need ml_dtypes.")
      .def("__dlpack__", to_dlpack, nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           "The tensor for another library, without a copy.")
      .def("__dlpack_device__", [](const Tensor&) { return std::pair(1, 0); })
      .def("__len__",
           [](const Tensor& t) {
             if (t.shape().empty()) throw nb::type_error("a scalar has no length");
             return t.shape()[0];
           })
      .def("__repr__", repr)
      .def("__copy__", [](const Tensor& t) { return t; })
      .def(
          "__deepcopy__", [](const Tensor& t, nb::handle) { return copied(t); }, nb::arg("memo"));
}

}  // namespace hone::python
