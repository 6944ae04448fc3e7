// Samples of an op that no list names, from what its definition says: operands of one type and shape, attributes by
// their kinds. What its rules refuse is no sample.
#pragma once

#include "base/error.h"
#include "ops/evaluate.h"
#include "tests/support/op_case.h"

namespace hone {

inline std::vector<Attribute> attribute_samples(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return {int64_t{0}, int64_t{1}, int64_t{-1}};
    case AttributeKind::number:
      return {0.5, 2.0};
    case AttributeKind::integers:
      return {std::vector<int64_t>{0}, std::vector<int64_t>{-1}, std::vector<int64_t>{0, 1}};
    case AttributeKind::numbers:
      return {std::vector<double>{0.5}};
    case AttributeKind::dim:
      return {Dim(3)};
    case AttributeKind::shape:
      return {Shape{3}, Shape{2, 3}};
    case AttributeKind::dtype:
      return {DType::f32, DType::i64};
    case AttributeKind::format:
      return {parse_format("mxint8")};
    case AttributeKind::tensor:
      return {Tensor::scalar<float>(0.5f)};
    case AttributeKind::string:
    case AttributeKind::strings:
      return {};  // what they may say is known to the op only
  }
  return {};
}

// No attributes, and each way to set all of them.
inline std::vector<Attributes> attributes_samples(const OpDef& op) {
  constexpr size_t kMost = 32;
  std::vector<Attributes> all{{}};
  for (const AttributeSpec& spec : op.attributes) {
    std::vector<Attributes> more;
    for (const Attributes& some : all)
      for (const Attribute& value : attribute_samples(spec.kind)) {
        more.push_back(some);
        more.back().set(spec.name, value);
      }
    if (!more.empty() && more.size() <= kMost) all = std::move(more);
  }
  all.emplace_back();
  return all;
}

inline OpCases any_cases(const OpDef& op, Philox& rng) {
  OpCases cases;
  const auto add = [&](DType dtype, const Sizes64& shape, const Attributes& attributes) {
    for (int count = op.operands.least(); count <= std::max(op.operands.least(), op.operands.most()); ++count) {
      OpCase one{{}, attributes};
      for (int i = 0; i < count; ++i)
        one.operands.emplace_back(is_float(dtype)
                                      ? random_floats(rng, shape, dtype)
                                      : random_integers(rng, shape, dtype, 0, dtype == DType::boolean ? 1 : 9));
      try {
        evaluate_node(op, one.pointers(), attributes);
        cases.push_back(std::move(one));
      } catch (const Error&) {
      }
    }
  };
  const std::vector<Attributes> attributes = attributes_samples(op);
  for (const Sizes64& shape : {Sizes64{1}, Sizes64{3, 7}, Sizes64{2, 35, 3}, Sizes64{2, 3, 70}})
    for (const Attributes& each : attributes) add(DType::f32, shape, each);
  for (DType dtype : {DType::bf16, DType::f16, DType::f64, DType::i8, DType::u8, DType::i32, DType::u32, DType::i64,
                      DType::u64, DType::boolean})
    for (const Attributes& each : {attributes.front(), attributes.back()}) add(dtype, {5, 19}, each);
  return cases;
}

}  // namespace hone
