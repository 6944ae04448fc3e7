// Structs of include/hone as classes whose attributes nobody sets. hone/_result.py gives them their texts and tables.
#pragma once

#include <hone/graph.h>

#include "bind.h"

namespace nanobind::detail {

// Enumerations are texts in Python.
template <class Enumeration>
struct text_caster {
  NB_TYPE_CASTER(Enumeration, const_name("str"))
  static handle from_cpp(Enumeration value, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromString(text(value));
  }
  static const char* text(hone::DType dtype) { return hone::to_string(dtype).data(); }
  static const char* text(hone::OperandCount count) {
    constexpr const char* kTexts[] = {"one", "optional", "several", "any_number"};
    return kTexts[static_cast<size_t>(count)];
  }
};
template <>
struct type_caster<hone::DType> : text_caster<hone::DType> {};
template <>
struct type_caster<hone::OperandCount> : text_caster<hone::OperandCount> {};

}  // namespace nanobind::detail

namespace hone::python {

// Texts and tables of all of them, by hone/_result.py.
nb::str text_of(nb::handle result);
nb::str html_of(nb::handle result);
nb::typed<nb::dict, nb::str, nb::any> dict_of(nb::handle result);

template <class Struct>
nb::class_<Struct> add_struct(nb::module_& m, const char* name, const char* doc,
                              std::initializer_list<const char*> members) {
  nb::class_<Struct> made(m, name, doc);
  nb::list names;
  for (const char* member : members) names.append(member);
  made.attr("__match_args__") = nb::tuple(names);
  made.def("__repr__", text_of);
  made.def("_repr_html_", html_of, "What notebooks show: a table.");
  made.def("to_dict", dict_of, "The attributes by name; those that are results are dicts, too. Models stay models.");
  return made;
}

}  // namespace hone::python
