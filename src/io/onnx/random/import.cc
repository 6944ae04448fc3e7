// Operators that draw random numbers.
#include <bit>

#include "io/onnx/random/random_numbers.h"
#include "ops/calls/comparison.h"
#include "ops/calls/random.h"
#include "ops/calls/shape_of.h"

namespace hone {

int64_t seed_of(const OnnxNode& n) {
  if (!n.has_attribute("seed")) return static_cast<int64_t>(n.graph().node_capacity());
  // An integer for Dropout, a float elsewhere; every seed its own key.
  const double seed = n.op_type() == "Dropout" ? static_cast<double>(n.integer("seed")) : n.number("seed");
  return std::bit_cast<uint32_t>(static_cast<float>(seed));
}

ValueId random_like(const OnnxNode& n, ValueId x, const OpDef& op, Attributes attributes) {
  if (!n.type(x).ranked) return n.emit({&op, {ops::shape_of(n, {x})}, std::move(attributes)});
  attributes.set("shape", n.type(x).shape);
  return n.emit({&op, {}, std::move(attributes)});
}

namespace {

Attributes uniform_attributes(const OnnxNode& n, DType dtype) {
  return {{"seed", seed_of(n)}, {"dtype", dtype}, {"low", n.number("low", 0)}, {"high", n.number("high", 1)}};
}

Attributes normal_attributes(const OnnxNode& n, DType dtype) {
  return {{"seed", seed_of(n)}, {"dtype", dtype}, {"mean", n.number("mean", 0)}, {"scale", n.number("scale", 1)}};
}

ValueId shaped_by_attribute(const OnnxNode& n, const OpDef& op, Attributes attributes) {
  attributes.set("shape", n.sizes("shape"));
  return n.emit({&op, {}, std::move(attributes)});
}

DType dtype_like(const OnnxNode& n) { return n.dtype("dtype", n.type(n.in(0)).dtype); }

std::vector<ValueId> import_uniform(OnnxNode& n) {
  return {shaped_by_attribute(n, random_uniform_def, uniform_attributes(n, n.dtype("dtype", DType::f32)))};
}

std::vector<ValueId> import_normal(OnnxNode& n) {
  return {shaped_by_attribute(n, random_normal_def, normal_attributes(n, n.dtype("dtype", DType::f32)))};
}

std::vector<ValueId> import_uniform_like(OnnxNode& n) {
  return {random_like(n, n.in(0), random_uniform_def, uniform_attributes(n, dtype_like(n)))};
}

std::vector<ValueId> import_normal_like(OnnxNode& n) {
  return {random_like(n, n.in(0), random_normal_def, normal_attributes(n, dtype_like(n)))};
}

// 1 where a number of [0, 1) is below the probability; in f64, where no rounding reaches 1.
std::vector<ValueId> import_bernoulli(OnnxNode& n) {
  const ValueId drawn = random_like(n, n.in(0), random_uniform_def, {{"seed", seed_of(n)}, {"dtype", DType::f64}});
  return {n.cast(ops::less(n, {drawn, n.cast(n.in(0), DType::f64)}), dtype_like(n))};
}

std::vector<ValueId> import_multinomial(OnnxNode& n) {
  return {ops::multinomial(n, {.x = n.in(0),
                               .samples = n.integer("sample_size", 1),
                               .seed = seed_of(n),
                               .dtype = n.dtype("dtype", DType::i32)})};
}

constexpr OnnxOperator kOperators[] = {
    {"RandomUniform", 1, import_uniform},          {"RandomNormal", 1, import_normal},
    {"RandomUniformLike", 1, import_uniform_like}, {"RandomNormalLike", 1, import_normal_like},
    {"Bernoulli", 15, import_bernoulli},           {"Multinomial", 7, import_multinomial},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_random_def{.name = "random", .operators = kOperators};

}  // namespace hone
