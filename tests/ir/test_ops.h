// A handful of ops to build graphs from: the real ones live in a layer above.
#pragma once

#include "ir/graph.h"
#include "ir/text.h"
#include "tests/support/error_of.h"

namespace hone::test {

inline constexpr AttributeSpec kEveryKind[] = {
    {"i", AttributeKind::integer},     {"n", AttributeKind::number},    {"s", AttributeKind::string},
    {"is", AttributeKind::integers},   {"ns", AttributeKind::numbers},  {"ss", AttributeKind::strings},
    {"dim", AttributeKind::dim},       {"shape", AttributeKind::shape}, {"dtype", AttributeKind::dtype},
    {"format", AttributeKind::format}, {"t", AttributeKind::tensor}};
inline constexpr AttributeSpec kShape[] = {{"shape", AttributeKind::shape, true}};
inline constexpr AttributeSpec kDtype[] = {{"dtype", AttributeKind::dtype, true}};

inline std::vector<TensorType> same_type(const InferArgs& a) { return {a[0]}; }

inline const OpDef add_def{
    .name = "add", .doc = "", .operands = {"a", "b"}, .pointwise = [](Args a) { return a[0] + a[1]; }};
inline const OpDef mul_def{
    .name = "mul", .doc = "", .operands = {"a", "b"}, .pointwise = [](Args a) { return a[0] * a[1]; }};
inline const OpDef less_def{
    .name = "less", .doc = "", .operands = {"a", "b"}, .pointwise = [](Args a) { return a[0] < a[1]; }};
inline const OpDef clip_def{
    .name = "clip", .doc = "", .operands = {"x", optional("low"), optional("high")}, .pointwise = [](Args a) {
      Expr x = a[0];
      if (a.operands.size() > 1 && a[1]) x = max(x, a[1]);
      if (a.operands.size() > 2 && a[2]) x = min(x, a[2]);
      return x;
    }};
inline const OpDef cast_def{.name = "cast", .doc = "", .attributes = kDtype, .pointwise = [](Args a) {
                              return cast(compute_scalar(a.attributes.get<DType>("dtype")), a[0]);
                            }};
inline const OpDef every_def{
    .name = "every", .doc = "", .operands = {any_number("x")}, .attributes = kEveryKind, .infer = [](const InferArgs&) {
      return std::vector<TensorType>{{DType::f32, {}, {}}};
    }};
inline const OpDef split_def{.name = "split", .doc = "", .results = 2, .infer = [](const InferArgs& a) {
                               return std::vector<TensorType>{a[0], {DType::i64, a[0].shape, {}}};
                             }};
inline const OpDef reshape_def{.name = "reshape", .doc = "", .attributes = kShape, .infer = [](const InferArgs& a) {
                                 const Shape& shape = a.attributes.get<Shape>("shape");
                                 if (element_count(shape) != element_count(a[0].shape)) fail("sizes differ");
                                 return std::vector<TensorType>{{a[0].dtype, shape, {}}};
                               }};

inline const std::vector<const OpDef*>& ops() {
  static const std::vector<const OpDef*> table = {&add_def,  &mul_def,   &less_def,  &clip_def,
                                                  &cast_def, &every_def, &split_def, &reshape_def};
  return table;
}

inline ParseContext context() {
  ParseContext context;
  context.find_op = [](std::string_view name) -> const OpDef* {
    for (const OpDef* op : ops())
      if (name == op->name) return op;
    return nullptr;
  };
  context.op_names = [] {
    std::vector<std::string> names;
    for (const OpDef* op : ops()) names.emplace_back(op->name);
    return names;
  };
  return context;
}

inline Graph parse(std::string_view text) { return parse_graph(text, context(), "t"); }

}  // namespace hone::test
