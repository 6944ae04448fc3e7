// Operators that read or write where indices say, or find indices: Gather*, Scatter*, NonZero, Compress, Unique, TopK.
#include "io/onnx/shape_arguments.h"
#include "ops/calls/gather.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_nd.h"
#include "ops/calls/non_zero.h"
#include "ops/calls/reshape.h"
#include "ops/calls/tensor_scatter.h"
#include "ops/calls/top_k.h"
#include "ops/calls/unique.h"

namespace hone {
namespace {

std::vector<ValueId> import_gather(OnnxNode& n) {
  return {ops::gather(n, {.table = n.in(0), .indices = n.in(1), .axis = n.integer("axis", 0)})};
}

std::vector<ValueId> import_gather_elements(OnnxNode& n) {
  return {ops::gather_elements(n, {.x = n.in(0), .indices = n.in(1), .axis = n.integer("axis", 0)})};
}

std::vector<ValueId> import_gather_nd(OnnxNode& n) {
  return {ops::gather_nd(n, {.x = n.in(0), .indices = n.in(1), .batch_dims = n.integer("batch_dims", 0)})};
}

std::vector<ValueId> import_scatter_elements(OnnxNode& n) {
  return {ops::scatter_elements(n, {.x = n.in(0),
                                    .indices = n.in(1),
                                    .updates = n.in(2),
                                    .axis = n.integer("axis", 0),
                                    .reduction = n.text("reduction", "none")})};
}

std::vector<ValueId> import_scatter_nd(OnnxNode& n) {
  return {ops::scatter_nd(
      n, {.x = n.in(0), .indices = n.in(1), .updates = n.in(2), .reduction = n.text("reduction", "none")})};
}

std::vector<ValueId> import_tensor_scatter(OnnxNode& n) {
  const std::string mode = n.text("mode", "linear");
  if (mode != "linear" && mode != "circular") fail("mode is \"{}\"; accepted: linear, circular", mode);
  return {ops::tensor_scatter(n, {.cache = n.in(0),
                                  .update = n.in(1),
                                  .indices = n.in_or_none(2),
                                  .axis = n.integer("axis", -2),
                                  .circular = mode == "circular"})};
}

std::vector<ValueId> import_non_zero(OnnxNode& n) { return {ops::non_zero(n, {n.in(0)})}; }

// The elements, or slices along the axis, where the condition holds; those past its end are left out.
std::vector<ValueId> import_compress(OnnxNode& n) {
  const bool by_axis = n.has_attribute("axis");
  const ValueId x = by_axis ? n.in(0) : n.reshape(n.in(0), {-1});
  const ValueId kept = ops::squeeze(n, {.x = ops::non_zero(n, {n.in(1)}), .axes = std::vector<int64_t>{0}});
  return {ops::gather(n, {.table = x, .indices = kept, .axis = by_axis ? n.integer("axis") : 0})};
}

std::vector<ValueId> import_unique(OnnxNode& n) {
  Attributes attributes = {{"sorted", n.is_one("sorted", true)}};
  if (n.has_attribute("axis")) attributes.set("axis", n.integer("axis"));
  return n.emit_all({&unique_def, {n.in(0)}, std::move(attributes)});
}

// In order of appearance; where each is first found is no output.
std::vector<ValueId> import_microsoft_unique(OnnxNode& n) {
  const std::vector<ValueId> results = ops::unique(n, {.x = n.in(0), .sorted = 0});
  return {results[0], results[2], results[3]};
}

// Results are always sorted, as `sorted` = 0 leaves the order open.
std::vector<ValueId> import_top_k(OnnxNode& n) {
  std::vector<ValueId> operands = {n.in(0)};
  Attributes attributes = {{"axis", n.integer("axis", -1)}, {"largest", n.is_one("largest", true)}};
  if (n.has_attribute("k")) attributes.set("k", Shape{n.integer("k")});
  else add_dims(n, "k", 1, operands, attributes);
  return n.emit_all({&top_k_def, std::move(operands), std::move(attributes)});
}

constexpr OnnxOperator kOperators[] = {
    {"Gather", 1, import_gather},
    {"GatherElements", 11, import_gather_elements},
    {"GatherND", 11, import_gather_nd},
    {"Scatter", 9, import_scatter_elements},
    {"ScatterElements", 11, import_scatter_elements},
    {"ScatterND", 11, import_scatter_nd},
    {"TensorScatter", 24, import_tensor_scatter},
    {"NonZero", 9, import_non_zero},
    {"Compress", 9, import_compress},
    {"Unique", 11, import_unique},
    {"Unique", 1, import_microsoft_unique, "com.microsoft"},
    {"TopK", 1, import_top_k},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_indexing_def{.name = "indexing", .operators = kOperators};

}  // namespace hone
