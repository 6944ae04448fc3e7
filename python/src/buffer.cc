#include "buffer.h"

#include <algorithm>
#include <array>
#include <memory>

#include "bind.h"

namespace hone::python {
namespace {

// Elements in buffers and in NumPy. The name is that of NumPy, or of the package ml_dtypes, whose types buffers lack.
struct ElementType {
  DType dtype;
  char code;  // of the buffer protocol; 0: none
  const char* name;
};
constexpr std::array kElementTypes{ElementType{DType::boolean, '?', "bool"},
                                   ElementType{DType::i8, 'b', "int8"},
                                   ElementType{DType::i16, 'h', "int16"},
                                   ElementType{DType::i32, 'i', "int32"},
                                   ElementType{DType::i64, 'q', "int64"},
                                   ElementType{DType::u8, 'B', "uint8"},
                                   ElementType{DType::u16, 'H', "uint16"},
                                   ElementType{DType::u32, 'I', "uint32"},
                                   ElementType{DType::u64, 'Q', "uint64"},
                                   ElementType{DType::f16, 'e', "float16"},
                                   ElementType{DType::f32, 'f', "float32"},
                                   ElementType{DType::f64, 'd', "float64"},
                                   ElementType{DType::bf16, 0, "bfloat16"},
                                   ElementType{DType::f8e4m3fn, 0, "float8_e4m3fn"},
                                   ElementType{DType::f8e4m3fnuz, 0, "float8_e4m3fnuz"},
                                   ElementType{DType::f8e5m2, 0, "float8_e5m2"},
                                   ElementType{DType::f8e5m2fnuz, 0, "float8_e5m2fnuz"},
                                   ElementType{DType::f8e8m0, 0, "float8_e8m0fnu"},
                                   ElementType{DType::f4e2m1, 0, "float4_e2m1fn"},
                                   ElementType{DType::f6e2m3, 0, "float6_e2m3fn"},
                                   ElementType{DType::f6e3m2, 0, "float6_e3m2fn"},
                                   ElementType{DType::i4, 0, "int4"},
                                   ElementType{DType::u4, 0, "uint4"},
                                   ElementType{DType::i2, 0, "int2"},
                                   ElementType{DType::u2, 0, "uint2"}};

const ElementType* element_type(DType dtype) {
  const auto* found = std::ranges::find(kElementTypes, dtype, &ElementType::dtype);
  return found == kElementTypes.end() ? nullptr : found;
}

// By the code of an integer's kind and its size: 'l' is of 8 bytes here, and of 4 elsewhere.
DType dtype_of(const Py_buffer& view, const std::string& what) {
  std::string format = view.format ? view.format : "B";
  const bool swapped = format[0] == '>' || format[0] == '!';
  if (format.size() == 2 && std::string_view("@=<").find(format[0]) != std::string_view::npos) format.erase(0, 1);
  char code = format.size() == 1 ? format[0] : 0;
  if (code == 'l' || code == 'n') code = view.itemsize == 8 ? 'q' : 'i';
  if (code == 'L' || code == 'N') code = view.itemsize == 8 ? 'Q' : 'I';
  for (const ElementType& type : kElementTypes)
    if (type.code && type.code == code && size_bytes(type.dtype) == view.itemsize) return type.dtype;
  throw Error(what + ": elements of \"" + view.format + "\", which hone does not have" +
              (swapped ? "; bytes are in the other order: give x.astype(x.dtype.newbyteorder('='))"
                       : "; it has bool, int8 to int64, uint8 to uint64, float16, float32 and float64"));
}

// A view of an object, which is given back by whoever drops the last tensor of it.
struct View {
  Py_buffer buffer{};
  explicit View(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_RECORDS_RO) != 0) nb::raise_python_error();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (!nb::is_alive()) return;  // the interpreter has ended, and the object with it
    const nb::gil_scoped_acquire gil;
    PyBuffer_Release(&buffer);
  }
};

Tensor of_view(const std::shared_ptr<View>& view, DType dtype, const std::string& what) {
  const Py_buffer& buffer = view->buffer;
  const std::vector<int64_t> shape(buffer.shape, buffer.shape + buffer.ndim);
  std::vector<int64_t> strides;
  const bool is_empty = buffer.len == 0;
  for (int i = 0; i < buffer.ndim && !is_empty; ++i) {
    if (buffer.strides[i] % buffer.itemsize != 0)
      throw Error(what + ": strides of " + std::to_string(buffer.strides[i]) +
                  " bytes, which is no number of elements; give a copy");
    strides.push_back(buffer.strides[i] / buffer.itemsize);
  }
  return buffer.readonly ? Tensor::of_read_only_memory(dtype, shape, buffer.buf, view, std::move(strides))
                         : Tensor::of_memory(dtype, shape, buffer.buf, view, std::move(strides));
}

// The name of an array's element type; empty: it has none.
std::string dtype_name(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  return dtype.is_none() ? "" : nb::cast<std::string>(nb::str(nb::getattr(dtype, "name", nb::str(""))));
}

bool holds_texts(const std::string& name) {
  return name.starts_with("str") || name.starts_with("object") || name.starts_with("StringDType");
}

Tensor of_texts(nb::handle array, const std::string& what) {
  std::vector<std::string> texts;
  for (const nb::handle element : nb::borrow<nb::list>(array.attr("ravel")().attr("tolist")())) {
    if (!PyUnicode_Check(element.ptr()))
      throw Error(what + ": an array of objects, of which one is no text but " +
                  nb::cast<std::string>(nb::inst_name(element)));
    texts.push_back(nb::cast<std::string>(element));
  }
  return Tensor::of_strings(nb::cast<std::vector<int64_t>>(array.attr("shape")), std::move(texts));
}

// The memory of an output, which the array that is made of it owns alone and may write.
struct OwnMemory {
  Tensor tensor;
};

// What a view points to, in bytes.
struct Sizes {
  std::vector<Py_ssize_t> shape, strides;
  char format[2];
};

int fill(PyObject* object, Py_buffer* view, Tensor& tensor, void* first, bool read_only) {
  const ElementType* type = element_type(tensor.dtype());
  auto sizes = std::make_unique<Sizes>();
  const auto bytes = static_cast<Py_ssize_t>(size_bytes(tensor.dtype()));
  sizes->shape.assign(tensor.shape().begin(), tensor.shape().end());
  for (const int64_t stride : tensor.strides()) sizes->strides.push_back(stride * bytes);
  sizes->format[0] = type->code ? type->code : bytes == 2 ? 'H' : 'B', sizes->format[1] = 0;
  *view = {};
  view->buf = first, view->obj = Py_NewRef(object);
  view->len = tensor.elements() * bytes, view->itemsize = bytes;
  view->readonly = read_only, view->ndim = static_cast<int>(sizes->shape.size());
  view->format = sizes->format, view->shape = sizes->shape.data(), view->strides = sizes->strides.data();
  view->internal = sizes.release();
  return 0;
}

void release(PyObject*, Py_buffer* view) { delete static_cast<Sizes*>(view->internal); }

int refuse(Py_buffer* view, const char* why) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

template <class Get>
int get(PyObject* object, Py_buffer* view, int flags, Tensor& tensor, bool read_only, Get first) {
  if (tensor.is_packed() || tensor.dtype() == DType::string)
    return refuse(view, ("elements of " + tensor.type() + " are no plain memory").c_str());
  if (read_only && (flags & PyBUF_WRITABLE)) return refuse(view, "the elements of a hone.Tensor are read-only here");
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !tensor.is_row_major())
    return refuse(view, "elements lie apart; a reader with strides is needed, or contiguous()");
  return fill(object, view, tensor, first(), read_only);
}

int get_tensor(PyObject* object, Py_buffer* view, int flags) {
  auto& tensor = *nb::inst_ptr<Tensor>(object);
  return get(object, view, flags, tensor, true, [&] { return const_cast<void*>(tensor.data()); });
}

int get_own(PyObject* object, Py_buffer* view, int flags) {
  Tensor& tensor = nb::inst_ptr<OwnMemory>(object)->tensor;
  const bool read_only = tensor.is_read_only();
  return get(object, view, flags, tensor, read_only,
             [&] { return read_only ? const_cast<void*>(tensor.data()) : tensor.mutable_data(); });
}

PyType_Slot own_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_own)},
                           {Py_bf_releasebuffer, reinterpret_cast<void*>(release)},
                           {0, nullptr}};

// A module, imported when it is first needed; null where there is none.
PyObject* module_of(const char* name) {
  PyObject* module = PyImport_ImportModule(name);
  if (!module) PyErr_Clear();
  return module;
}

// NumPy's element type, or that of ml_dtypes; null: there is none.
nb::object numpy_dtype(DType dtype) {
  static std::array<PyObject*, kElementTypes.size()> known{};  // looked up once each
  const ElementType* type = element_type(dtype);
  PyObject*& place = known[static_cast<size_t>(type - kElementTypes.data())];
  if (!place) {
    static PyObject* const more_types = module_of("ml_dtypes");
    nb::object name = nb::str(type->name);
    if (!type->code) name = more_types ? nb::getattr(more_types, type->name, nb::none()) : nb::none();
    if (name.is_none()) return {};
    place = nb::module_::import_("numpy").attr("dtype")(name).release().ptr();
  }
  return nb::borrow(place);
}

nb::tuple tuple_of(const std::vector<int64_t>& sizes) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(sizes.size()));
  if (!tuple) nb::raise_python_error();
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return nb::steal<nb::tuple>(tuple);
}

nb::object texts_array(const Tensor& tensor) {
  nb::list texts;
  for (const std::string& text : tensor.strings()) texts.append(nb::str(text.c_str(), text.size()));
  const nb::object array = nb::module_::import_("numpy").attr("array")(texts, nb::arg("dtype") = "object");
  return array.attr("reshape")(nb::tuple(nb::cast(tensor.shape())));
}

}  // namespace

Tensor tensor_of_buffer(nb::handle array, const std::string& what) {
  const std::string name = dtype_name(array);
  if (holds_texts(name)) return of_texts(array, what);
  for (const ElementType& type : kElementTypes) {
    if (type.code || type.name != name) continue;
    const nb::object bytes = array.attr("view")(size_bytes(type.dtype) == 2 ? "uint16" : "uint8");
    return of_view(std::make_shared<View>(bytes), type.dtype, what);
  }
  const auto view = std::make_shared<View>(array);
  return of_view(view, dtype_of(view->buffer, what), what);
}

nb::object numpy_array_of(Tensor tensor) {
  if (tensor.dtype() == DType::string) return texts_array(tensor);
  const nb::object element_class = numpy_dtype(tensor.dtype());
  if (!element_class.is_valid()) return nb::cast(std::move(tensor));
  static PyObject* const array_class = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  static PyObject* const asarray = nb::object(nb::module_::import_("numpy").attr("asarray")).release().ptr();
  const nb::tuple shape = tuple_of(tensor.shape());
  const bool is_row_major = tensor.is_row_major();
  const nb::object memory = nb::cast(OwnMemory{std::move(tensor)});
  if (is_row_major) return nb::handle(array_class)(shape, element_class, memory);
  return nb::handle(asarray)(memory).attr("view")(element_class);
}

PyType_Slot tensor_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_tensor)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release)},
                              {0, nullptr}};

void bind_buffer(nb::module_& m) {
  nb::class_<OwnMemory>(m, "_OwnMemory", nb::type_slots(own_slots), "The memory of an array that a run made.");
}

}  // namespace hone::python
