#include "arrays.h"

#include <array>
#include <memory>

#include "bind.h"
#include "buffer.h"
#include "exchange.h"

namespace hone::python {
namespace {

// Elements of a list of lists, in order, with the sizes of the lists.
struct Numbers {
  std::vector<int64_t> shape;
  std::vector<nb::handle> elements;
};

void collect(nb::handle list, size_t depth, Numbers& all, const std::string& what) {
  if (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())) {
    if (depth != all.shape.size()) throw Error(what + ": lists of different depths; a number was found beside a list");
    all.elements.push_back(list);
    return;
  }
  const auto size = static_cast<int64_t>(nb::len(list));
  if (depth == all.shape.size() && all.elements.empty()) all.shape.push_back(size);
  else if (depth >= all.shape.size() || all.shape[depth] != size)
    throw Error(what + ": lists of different lengths, where " + std::to_string(size) + " elements were found");
  for (const nb::handle part : nb::borrow<nb::sequence>(list)) collect(part, depth + 1, all, what);
}

template <class T>
Tensor of_elements(const Numbers& all) {
  std::vector<T> values;
  for (const nb::handle element : all.elements) values.push_back(nb::cast<T>(element));
  return Tensor::of<T>(all.shape, values);
}

Tensor of_flags(const Numbers& all) {
  const auto flags = std::make_unique<bool[]>(all.elements.size());
  for (size_t i = 0; i < all.elements.size(); ++i) flags[i] = all.elements[i].is(Py_True);
  return Tensor::of<bool>(all.shape, {flags.get(), all.elements.size()});
}

Tensor of_texts(const Numbers& all) {
  std::vector<std::string> texts;
  for (const nb::handle element : all.elements) texts.push_back(nb::cast<std::string>(element));
  return Tensor::of_strings(all.shape, std::move(texts));
}

Tensor of_numbers(nb::handle list, const std::string& what) {
  Numbers all;
  collect(list, 0, all, what);
  bool flags = true, integers = true, texts = !all.elements.empty();
  for (const nb::handle element : all.elements) {
    flags = flags && PyBool_Check(element.ptr());
    integers = integers && PyLong_Check(element.ptr());
    texts = texts && PyUnicode_Check(element.ptr());
    if (!texts && !PyFloat_Check(element.ptr()) && !PyLong_Check(element.ptr()))
      throw Error(what + ": expected an array or numbers, found " + std::string(nb::inst_name(element).c_str()));
  }
  if (texts) return of_texts(all);
  if (all.elements.empty()) return Tensor(DType::f32, all.shape);
  if (flags) return of_flags(all);
  return integers ? of_elements<int64_t>(all) : of_elements<float>(all);
}

// The functions of a type that has them. Looked up once a type: there are few.
const ExchangeApi* exchange_of(nb::handle array) {
  static PyTypeObject* known_type = nullptr;
  static const ExchangeApi* known = nullptr;
  PyTypeObject* type = Py_TYPE(array.ptr());
  if (type == known_type) return known;
  const nb::object capsule =
      nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)), "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_CheckExact(capsule.ptr())) return nullptr;
  auto* header = static_cast<ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (!header) PyErr_Clear();
  while (header && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  if (!header) return nullptr;
  known_type = type, known = reinterpret_cast<const ExchangeApi*>(header);
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return known;
}

bool is_torch(nb::handle array) { return nb::hasattr(array, "is_neg"); }

bool is_true(const nb::object& flag) { return flag.is(Py_True); }

// What torch hides behind a tensor that looks like any other.
void check_torch(nb::handle array, const std::string& what) {
  if (is_true(array.attr("is_meta"))) throw Error(what + ": a tensor on torch's meta device has no elements");
  if (is_true(array.attr("is_neg")()) || is_true(array.attr("is_conj")()))
    throw Error(what + ": a lazily negated or conjugated tensor of torch; give x.resolve_neg() or x.resolve_conj()");
}

Tensor of_capsule(nb::handle array, const std::string& what) {
  nb::object capsule;
  try {
    capsule = array.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = array.attr("__dlpack__")();  // of before DLPack 1
  }
  const auto adopt = [&]<class Array>(const char* name, const char* used, Array*) {
    auto* given = static_cast<Array*>(PyCapsule_GetPointer(capsule.ptr(), name));
    Tensor tensor = Tensor::from_dlpack(given);
    PyCapsule_SetName(capsule.ptr(), used);
    return tensor;
  };
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    return adopt("dltensor_versioned", "used_dltensor_versioned", static_cast<DLManagedTensorVersioned*>(nullptr));
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    return adopt("dltensor", "used_dltensor", static_cast<DLManagedTensor*>(nullptr));
  throw Error(what + ": its __dlpack__() gave no capsule of DLPack");
}

Tensor of_exchange(const ExchangeApi& api, nb::handle array, const std::string& what) {
  DLManagedTensorVersioned* given = nullptr;
  if (api.managed_from_object(array.ptr(), &given) != 0) {
    const nb::python_error refused;
    throw Error(what + ": its library gives no array of it: " + refused.what());
  }
  try {
    return Tensor::from_dlpack(given);
  } catch (const Error& error) {
    given->deleter(given);
    throw Error(what + ": " + error.what());
  }
}

Tensor tensor_as_it_is(nb::handle array, const std::string& what) {
  if (nb::isinstance<Tensor>(array)) return nb::cast<const Tensor&>(array);
  if (PyObject_CheckBuffer(array.ptr())) return tensor_of_buffer(array, what);
  if (const ExchangeApi* api = exchange_of(array)) {
    if (is_torch(array)) check_torch(array, what);
    return of_exchange(*api, array, what);
  }
  if (nb::hasattr(array, "__dlpack__")) return of_capsule(array, what);
  if (nb::hasattr(array, "__array__")) return tensor_of_buffer(array.attr("__array__")(), what);
  return of_numbers(array, what);
}

}  // namespace

nb::object capsule_of(const Tensor& tensor) {
  DLManagedTensorVersioned* given = tensor.to_dlpack();
  PyObject* capsule = PyCapsule_New(given, "dltensor_versioned", [](PyObject* unused) {
    if (!PyCapsule_IsValid(unused, "dltensor_versioned")) return;
    auto* array = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(unused, "dltensor_versioned"));
    array->deleter(array);
  });
  if (!capsule) given->deleter(given), nb::raise_python_error();
  return nb::steal(capsule);
}

namespace {

const ExchangeApi* torch_exchange() {
  static const ExchangeApi* known = exchange_of(nb::module_::import_("torch").attr("empty")(0));
  return known;
}

nb::object torch_array_of(Tensor tensor) {
  const ExchangeApi* api = torch_exchange();
  if (!api) return nb::module_::import_("torch").attr("from_dlpack")(capsule_of(tensor));
  DLManagedTensorVersioned* given = tensor.to_dlpack();
  tensor = Tensor();
  void* object = nullptr;
  if (api->object_from_managed(given, &object) != 0) nb::raise_python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace

ArrayKind kind_of(nb::handle array) {
  if (nb::isinstance<Tensor>(array)) return ArrayKind::hone;
  if (PyObject_CheckBuffer(array.ptr())) return ArrayKind::numpy;
  return is_torch(array) ? ArrayKind::torch : ArrayKind::numpy;
}

Tensor tensor_of(nb::handle array, const std::string& what, std::optional<DType> dtype) {
  Tensor tensor = tensor_as_it_is(array, what);
  return dtype && *dtype != tensor.dtype() ? tensor.converted(*dtype) : tensor;
}

nb::dict named(nb::handle mapping) {
  if (PyDict_Check(mapping.ptr())) return nb::borrow<nb::dict>(mapping);
  return nb::borrow<nb::dict>(nb::handle(reinterpret_cast<PyObject*>(&PyDict_Type))(mapping));
}

nb::object array_of(Tensor tensor, ArrayKind kind) {
  if (kind == ArrayKind::hone || tensor.is_packed()) return nb::cast(std::move(tensor));
  if (kind == ArrayKind::torch && tensor.dtype() != DType::string) return torch_array_of(std::move(tensor));
  return numpy_array_of(std::move(tensor));
}

DType dtype_named(const std::string& name) {
  if (const std::optional<DType> known = parse_dtype(name)) return *known;
  std::string all;
  for (int i = 0; i <= static_cast<int>(DType::f6e3m2); ++i)
    all += (i ? ", " : "") + std::string(to_string(static_cast<DType>(i)));
  throw Error("dtype \"" + name + "\" is none; there are " + all);
}

}  // namespace hone::python
