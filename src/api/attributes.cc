#include "api/graphs.h"
#include "api/values.h"
#include "ir/node_rules.h"

namespace hone::api {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

[[noreturn]] void refuse(const OpDef& op, const AttributeSpec& spec) {
  fail("attribute {} of {}: expected a value of kind {}", spec.name, op.name, hone::to_string(spec.kind));
}

hone::Attribute from_text(const OpDef& op, const AttributeSpec& spec, const std::string& text) {
  switch (spec.kind) {
    case AttributeKind::string:
      return text;
    case AttributeKind::dim:
      return Dim::parse(text);
    case AttributeKind::shape:
      return parse_type("f32" + text).shape;
    case AttributeKind::format:
      return parse_format(text);
    case AttributeKind::dtype:
      if (const auto dtype = hone::parse_dtype(text)) return *dtype;
      fail("attribute {} of {}: \"{}\" is no element type", spec.name, op.name, text);
    default:
      refuse(op, spec);
  }
}

Attribute wrapped_dim(const Dim& dim) {
  if (dim.is_constant()) return dim.constant();
  return dim.to_string();
}

Attribute wrapped_shape(const Shape& shape) {
  if (is_constant(shape)) return constant_shape(shape);
  return hone::to_string(shape);
}

}  // namespace

hone::Attribute attribute_of(const OpDef& op, const std::string& name, const Attribute& value) {
  const AttributeSpec& spec = attribute_spec(op, name);
  return std::visit(Overloaded{
                        [&](const std::string& text) { return from_text(op, spec, text); },
                        [](const Tensor& tensor) -> hone::Attribute { return engine(tensor); },
                        [](const auto& plain) -> hone::Attribute { return plain; },
                    },
                    value);
}

hone::Attributes attributes_of(const OpDef& op, const Attributes& attributes) {
  hone::Attributes all;
  for (const auto& [name, value] : attributes) all.set(name, attribute_of(op, name, value));
  all = normalised(op, std::move(all));
  check_attributes(op, all);
  return all;
}

Attributes wrapped(const hone::Attributes& attributes) {
  Attributes all;
  for (const auto& [name, value] : attributes.items())
    all.emplace(name, std::visit(Overloaded{
                                     [](const Dim& dim) { return wrapped_dim(dim); },
                                     [](const Shape& shape) { return wrapped_shape(shape); },
                                     [](hone::DType dtype) -> Attribute { return std::string(hone::to_string(dtype)); },
                                     [](const Format& format) -> Attribute { return hone::to_string(format); },
                                     [](const hone::Tensor& tensor) -> Attribute { return wrapped(tensor); },
                                     [](const auto& plain) -> Attribute { return plain; },
                                 },
                                 value));
  return all;
}

}  // namespace hone::api
